"""World: the true robot, repeatable motion, a state that another process can draw, and no client left behind."""

from dataclasses import replace

import numpy as np
import pybullet
import pytest

from tendon.core.errors import InvalidDataError, MismatchError
from tendon.core.types import Command, Trajectory
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile, load_profile
from tendon.sim.backend import SimBackend
from tendon.sim.tabletop.expert.pilot import ExpertPilot
from tendon.sim.tabletop.layout import FAMILIES
from tendon.sim.tabletop.scene import Scene, sample_scene
from tendon.sim.tabletop.suite import TABLETOP
from tendon.sim.tabletop.world import World
from tendon.sim.world_state import WorldState

STEP_NS = 100_000_000


def drive(world: World, scene: Scene, steps: int) -> list[WorldState]:
    """Returns the states that the expert leads through, each step's joint row reached at once by the servos."""
    pilot = ExpertPilot(world.profile)
    world.reset(scene)
    last = world.joint_state()[0]
    states = []
    for _ in range(steps):
        last = pilot.row(world, last)
        world.set_target(last, np.zeros(len(last)))
        for _ in range(30):
            world.step()
        states.append(world.state())
    return states


def connected_clients() -> int:
    return sum(pybullet.isConnected(physicsClientId=client) for client in range(64))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_seed_and_expert_give_the_same_trace_bit_for_bit(world: World, family: str) -> None:
    scene = sample_scene(100_007, family)
    first = drive(world, scene, 25)
    assert drive(world, scene, 25) == first, "in the same world"
    other = World(sample_scene(100_008, family), world.profile)
    try:
        assert drive(other, scene, 25) == first, "in another world"
    finally:
        other.close()
    assert first[0].poses != first[-1].poses or first[0].openings != first[-1].openings, "nothing has moved"


def test_what_a_camera_sees_does_not_change_how_things_move(world: World) -> None:
    scene = sample_scene(100_001)
    assert drive(world, scene, 20) == drive(world, replace(scene, look=sample_scene(100_002).look), 20)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_second_world_that_got_the_state_draws_the_identical_pictures(world: World, family: str) -> None:
    scene = sample_scene(100_009, family)
    other = World(scene, world.profile)
    try:
        before = other.render("scene")
        state = drive(world, scene, 18)[-1]
        other.set_state(state)
        for camera in ("scene", "wrist"):
            assert np.array_equal(world.render(camera), other.render(camera)), camera
        assert not np.array_equal(other.render("scene"), before)
        # PyBullet normalises the quaternions it is given.
        assert np.array(other.state().poses) == pytest.approx(np.array(state.poses), abs=1e-15)
        assert other.state().joint_position == state.joint_position and other.state().openings == state.openings
    finally:
        other.close()


@pytest.mark.parametrize("part", ["joint_position", "poses", "openings"])
def test_a_state_of_another_world_is_named_and_changes_nothing(world: World, part: str) -> None:
    before = world.state()
    given = getattr(before, part)
    for other in (given[:-1], (*given, given[-1] if given else 0.0)):
        if other != given:
            with pytest.raises(InvalidDataError, match="is of another world than this of"):
                world.set_state(replace(before, **{part: other}))
    assert world.state() == before


def test_the_tool_starts_where_the_scene_says(world: World, profile: RobotProfile) -> None:
    scene = sample_scene(100_010)
    world.reset(scene)
    tool, rotation = Kinematics(profile).tool_pose(world.joint_state()[0])
    assert tool == pytest.approx(scene.tool_start, abs=2e-4)
    assert rotation == pytest.approx(np.diag([1, -1, -1]), abs=1e-3)
    assert world.time_ns == 0


@pytest.mark.parametrize("family", FAMILIES)
def test_a_scene_is_at_rest_until_the_robot_acts(world: World, family: str) -> None:
    scene = sample_scene(100_011, family)
    world.reset(scene)
    for _ in range(300):
        world.step()
    assert world.time_ns == 1_000_000_000
    for i, item in enumerate(scene.items):
        if item.kind != "drawer":
            assert world.item_position(i) == pytest.approx(item.position, abs=1e-3), item.name
    assert world.opening() == pytest.approx(max(item.opening for item in scene.items), abs=1e-3)
    assert world.held() is None and not scene.task.success(world)


def test_a_robot_that_the_suite_is_not_for_is_a_mismatch_and_opens_no_client(profile: RobotProfile) -> None:
    before = connected_clients()
    with pytest.raises(MismatchError, match="needs a gripper, and profile ur5e names none; the suite reach needs none"):
        TABLETOP.world(load_profile("ur5e"))
    near = replace(profile, workspace=replace(profile.workspace, upper=(0.3, 0.5, 0.8)))
    short = replace(
        near, joints=tuple(replace(j, lower=-0.1, upper=0.1, home=0.0) for j in near.joints[:7]) + near.joints[7:]
    )
    with pytest.raises(
        MismatchError, match="panda does not reach all of the tabletop with its tool down: no joint pos"
    ):
        TABLETOP.world(short)
    assert connected_clients() == before


def test_clients_do_not_leak(profile: RobotProfile) -> None:
    before = connected_clients()
    for seed in range(20):
        world = World(sample_scene(seed), profile)
        world.close()
        world.close()
    assert connected_clients() == before


def test_the_backend_plays_a_command_to_its_end_and_holds(world: World) -> None:
    backend = SimBackend(world)
    backend.reset(sample_scene(100_012))
    backend.advance(STEP_NS)
    start = backend.observe_joints()[0]
    goal = start + 0.1
    goal[-1] = 0.02
    zero = np.zeros((1, len(goal)))
    trajectory = Trajectory(position=goal[None], velocity=zero, acceleration=zero, time_from_start_ns=(500_000_000,))
    command = Command(stamp_ns=STEP_NS, trajectory=trajectory)
    assert backend.apply(command) is command
    backend.advance(1_000_000_000)
    position, velocity = backend.observe_joints()
    assert position == pytest.approx(goal, abs=2e-3) and velocity == pytest.approx(0 * goal, abs=1e-2)
    backend.advance(1_500_000_000)
    assert backend.observe_joints()[0] == pytest.approx(goal, abs=2e-3)
    with pytest.raises(InvalidDataError, match=r"ended 900\.0 ms in the past"):
        backend.apply(command)


def test_the_backend_observes_all_cameras_at_one_instant(world: World) -> None:
    backend = SimBackend(world)
    backend.reset(sample_scene(100_013))
    backend.advance(STEP_NS)
    observation = backend.observe("open the drawer")
    assert observation.stamp_ns == STEP_NS and observation.instruction == "open the drawer"
    assert {name: (image.stamp_ns, image.pixels.shape) for name, image in observation.images.items()} == {
        "scene": (STEP_NS, (128, 128, 3)),
        "wrist": (STEP_NS, (96, 96, 3)),
    }

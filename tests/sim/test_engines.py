"""What every simulator must do, the same test for each: `tendon.sim.engine.Engine`, tried with a Panda and blocks."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from tendon.core.errors import ConfigError, MissingDependencyError
from tendon.core.types import Array
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import load_profile
from tendon.robots.tool import TOOL_DOWN
from tendon.sim.bodies import Body, Part, Slide, Surface
from tendon.sim.engine import PERIOD_NS, PHYSICS_HZ, Engine, Light, View
from tendon.sim.robot_body import robot_body
from tendon.sim.simulators import SIMULATORS, open_engine
from tests import ROOT

PROFILE = load_profile("panda")
ROBOT = robot_body(PROFILE)
HAND = "panda_hand"
HOME = PROFILE.vector("home")
KINEMATICS = Kinematics(PROFILE)
OPEN, CLOSED = 0.04, 0.0
FLOOR = Body(
    parts=(Part(kind="box", half=(0.6, 0.6, 0.02)),),
    rgb=(0.8, 0.8, 0.8),
    position=(0.5, 0.0, -0.02),
    surface=Surface(friction=0.7),
)
LIGHT = Light(direction=(0.3, 0.2, 2.0), rgb=(1.0, 1.0, 1.0), ambient=0.6)
ABOVE = View(eye=(0.5, 0.0, 0.9), at=(0.5, 0.0, 0.0), up=(1.0, 0.0, 0.0), height_rad=math.radians(60))


def cube(x: float = 0.5, y: float = 0.0, z: float = 0.02, rgb: tuple[float, float, float] = (0.9, 0.1, 0.1)) -> Body:
    surface = Surface(friction=0.8, spinning=0.005, damping=(0.05, 0.3))
    part = Part(kind="box", half=(0.02, 0.02, 0.02))
    return Body(parts=(part,), rgb=rgb, position=(x, y, z), mass=0.1, surface=surface)


def drawer(opening: float = 0.0) -> Body:
    shell = Part(kind="box", half=(0.08, 0.1, 0.005), centre=(0.08, 0.0, 0.085))
    slide = Slide(
        parts=(Part(kind="box", half=(0.008, 0.008, 0.036), centre=(-0.05, 0.0, 0.048)),),
        rgb=(0.3, 0.3, 0.3),
        axis=(-1.0, 0.0, 0.0),
        travel=0.11,
        opening=opening,
        mass=0.3,
        centre_of_mass=(0.0, 0.0, 0.04),
        resistance=1.5,
        friction=1.0,
    )
    return Body(parts=(shell,), rgb=(0.5, 0.5, 0.5), position=(0.6, 0.0, 0.0), slide=slide)


@pytest.fixture(scope="module", params=SIMULATORS)
def simulator(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def engine(simulator: str) -> Iterator[Engine]:
    opened = open_engine(ROBOT, simulator)
    yield opened
    opened.close()


@pytest.fixture
def drawing(engine: Engine) -> Engine:
    """A simulator that can draw here: MuJoCo needs EGL, which a bare machine has not."""
    load(engine)
    try:
        engine.render(ABOVE, LIGHT, 8, 8)
    except MissingDependencyError as error:
        pytest.skip(str(error))
    return engine


def load(engine: Engine, *things: Body, joints: Array = HOME) -> None:
    engine.load([FLOOR], things)
    engine.reset_joints(joints)


def at(tool: tuple[float, float, float], finger: float) -> Array:
    joints = KINEMATICS.inverse(np.array(tool), TOOL_DOWN, HOME)
    joints[-1] = finger
    return joints


def lead(engine: Engine, end: Array, seconds: float = 1.0) -> None:
    """Leads the robot along a straight line in joint space, as a trajectory controller does."""
    start, steps = engine.joint_state()[0].copy(), round(seconds * PHYSICS_HZ)
    velocity = (end - start) / seconds
    for k in range(1, steps + 1):
        engine.set_target(start + (end - start) * k / steps, velocity if k < steps else np.zeros(len(end)))
        engine.step()


def test_time_goes_in_whole_periods_and_begins_anew(engine: Engine) -> None:
    load(engine)
    assert engine.time_ns == 0
    for _ in range(PHYSICS_HZ):
        engine.step()
    assert engine.time_ns == 1_000_000_000
    engine.step()
    assert engine.time_ns == 1_000_000_000 + PERIOD_NS
    load(engine)
    assert engine.time_ns == 0


def test_the_robot_stands_where_it_is_put_and_holds_itself_up(engine: Engine) -> None:
    load(engine)
    position, velocity = engine.joint_state()
    np.testing.assert_allclose(position, HOME, atol=1e-9)
    assert not velocity.any()
    for _ in range(PHYSICS_HZ):
        engine.step()
    np.testing.assert_allclose(engine.joint_state()[0], HOME, atol=2e-3)


def test_servos_follow_a_smooth_motion_within_a_hundredth_of_a_radian(engine: Engine) -> None:
    """From rest to rest in a second, at up to 1.1 rad/s."""
    load(engine)
    way = np.array([0.5, 0.3, -0.4, 0.3, 0.5, -0.3, 0.6, -0.02])
    off, too_fast = [], []
    for k in range(1, PHYSICS_HZ + 1):
        s = k / PHYSICS_HZ
        velocity = 30 * s**2 * (1 - s) ** 2 * way
        engine.set_target(HOME + s**3 * (10 - 15 * s + 6 * s**2) * way, velocity)
        engine.step()
        measured, rate = engine.joint_state()
        off.append(np.abs(measured - HOME - s**3 * (10 - 15 * s + 6 * s**2) * way).max())
        too_fast.append(np.abs(rate - velocity).max())
    assert max(off) < 0.01
    assert max(too_fast) < 0.1


@pytest.mark.parametrize("joint", PROFILE.group_indices("arm"))
def test_a_servo_that_was_held_off_catches_up_and_is_no_faster_than_its_joint(joint: int, engine: Engine) -> None:
    """As when a hand slips off the edge that it pressed on: a stop for tracking allows no more than this error."""
    load(engine)
    target, fastest = HOME.copy(), 0.0
    target[joint] -= np.sign(HOME[joint]) * PROFILE.tracking_tolerance[joint]
    for _ in range(PHYSICS_HZ // 2):
        engine.set_target(target, np.zeros(len(target)))
        engine.step()
        fastest = max(fastest, abs(engine.joint_state()[1][joint]))
    assert fastest <= 1.06 * PROFILE.vector("velocity")[joint]
    np.testing.assert_allclose(engine.joint_state()[0], target, atol=3e-3)


def test_a_servo_exerts_no_more_than_it_can(engine: Engine) -> None:
    """The tool presses on the floor."""
    load(engine)
    lead(engine, at((0.5, 0.0, 0.05), CLOSED))
    lead(engine, at((0.5, 0.0, -0.1), CLOSED), 0.5)
    effort = np.abs(engine.joint_effort())
    assert (effort <= np.array([servo.force for servo in ROBOT.servos[: ROBOT.count]]) * 1.001).all()
    assert effort.max() > 5.0


def test_the_hand_is_where_kinematics_has_it(engine: Engine) -> None:
    load(engine)
    tool, rotation = KINEMATICS.tool_pose(HOME)
    origin, turn = engine.link_pose(HAND)
    np.testing.assert_allclose(turn, rotation, atol=1e-6)
    np.testing.assert_allclose(origin + turn @ [0.0, 0.0, 0.1034], tool, atol=1e-5)


def test_a_cube_falls_rests_on_the_floor_and_on_another(engine: Engine) -> None:
    load(engine, cube(z=0.02), cube(z=0.1, rgb=(0.1, 0.1, 0.9)))
    for _ in range(2 * PHYSICS_HZ):
        engine.step()
    assert engine.pose(0)[2] == pytest.approx(0.02, abs=1e-3)
    assert engine.pose(1)[2] == pytest.approx(0.06, abs=2e-3)


@pytest.mark.parametrize("centre", [(0.0, 0.0, 0.0), (0.01, 0.0, 0.0)])
def test_what_is_not_solid_holds_nothing_up(engine: Engine, centre: tuple[float, float, float]) -> None:
    """In PyBullet a part beside its body's origin did: the board of `tendon calibrate demo` held the arm off."""
    part = Part(kind="box", half=(0.1, 0.1, 0.01), centre=centre)
    load(engine, cube(z=0.2), Body(parts=(part,), rgb=(0.5, 0.5, 0.5), position=(0.5, 0.0, 0.1), solid=False))
    for _ in range(2 * PHYSICS_HZ):
        engine.step()
    assert engine.pose(0)[2] == pytest.approx(0.02, abs=2e-3)


def test_a_cube_is_gripped_lifted_kept_and_let_go(engine: Engine) -> None:
    load(engine, cube(), joints=at((0.5, 0.0, 0.15), OPEN))
    assert not engine.gripped(0)
    lead(engine, at((0.5, 0.0, 0.02), OPEN))
    lead(engine, at((0.5, 0.0, 0.02), CLOSED), 0.5)
    assert engine.gripped(0)
    lead(engine, at((0.5, 0.0, 0.2), CLOSED))
    high = engine.pose(0)[2]
    for _ in range(5 * PHYSICS_HZ):
        engine.step()
    assert engine.gripped(0) and engine.pose(0)[2] == pytest.approx(high, abs=3e-3) and high > 0.18
    left, right = engine.driven()[-2:]
    assert left == pytest.approx(right, abs=3e-3), "fingers mirror each other"
    lead(engine, at((0.5, 0.0, 0.2), OPEN), 0.5)
    lead(engine, at((0.5, 0.0, 0.2), OPEN), 1.0)
    assert not engine.gripped(0) and engine.pose(0)[2] < 0.05


def test_a_weak_gripper_presses_less_until_the_next_load(engine: Engine) -> None:
    pressed = []
    for share in (1.0, 0.2, 1.0):
        load(engine, cube(), joints=at((0.5, 0.0, 0.02), OPEN))
        if share < 1.0:
            engine.weaken_grippers(share)
        lead(engine, at((0.5, 0.0, 0.02), CLOSED), 1.0)
        pressed.append(abs(float(engine.joint_effort()[-1])))
    assert pressed[0] == pytest.approx(pressed[2], rel=1e-6) and pressed[1] < 0.3 * pressed[0]


def test_a_drawer_stays_is_pulled_open_and_ends_at_its_travel(engine: Engine) -> None:
    load(engine, drawer(), joints=at((0.55, 0.0, 0.2), OPEN))
    lead(engine, at((0.55, 0.0, 0.055), OPEN))
    assert engine.opening(0) == pytest.approx(0.0, abs=2e-3)
    lead(engine, at((0.55, 0.0, 0.055), CLOSED), 0.5)
    assert engine.gripped(0)
    lead(engine, at((0.48, 0.0, 0.055), CLOSED))
    assert engine.opening(0) == pytest.approx(0.07, abs=0.01)
    engine.set_opening(0, 0.05)
    assert engine.opening(0) == pytest.approx(0.05)


def test_things_are_put_where_they_are_said_to_be(engine: Engine) -> None:
    load(engine, cube(), drawer(0.04))
    half = math.sqrt(0.5)
    for thing in (0, 1):
        engine.move(thing, (0.4, 0.2, 0.3, 0.0, 0.0, half, half))
        np.testing.assert_allclose(engine.pose(thing), (0.4, 0.2, 0.3, 0.0, 0.0, half, half), atol=1e-9)
    assert engine.opening(1) == pytest.approx(0.04)


def test_a_camera_sees_a_cube_where_it_is_and_in_its_colour(drawing: Engine) -> None:
    """From above, x is up in the picture and y to its left."""
    engine = drawing
    load(engine, cube(x=0.6, y=0.2), joints=at((0.35, -0.3, 0.3), OPEN))
    picture = engine.render(ABOVE, LIGHT, 160, 120).astype(int)
    assert picture.shape == (120, 160, 3)
    red = (picture[..., 0] > 120) & (picture[..., 1] < 90) & (picture[..., 2] < 90)
    rows, columns = np.nonzero(red)
    focal = 60 / math.tan(math.radians(30))
    distance = 0.9 - 0.04
    assert rows.mean() == pytest.approx(59.5 - focal * 0.1 / distance, abs=1.5)
    assert columns.mean() == pytest.approx(79.5 - focal * 0.2 / distance, abs=1.5)
    assert len(rows) == pytest.approx((focal * 0.04 / distance) ** 2, rel=0.35)
    before = engine.render(ABOVE, LIGHT, 160, 120)
    background = engine.background(ABOVE, 160, 120)
    assert background.shape == (120, 160) and background.dtype == np.bool_
    assert not background[red].any(), "a thing"
    assert 0.3 < background.mean() < 1.0 - red.mean(), "the floor is, the robot is not"
    floor = picture[background].reshape(-1, 3)
    assert (np.ptp(floor, axis=1) < 40).mean() > 0.99, "grey, as floor and sky are"
    assert np.array_equal(engine.render(ABOVE, LIGHT, 160, 120), before), "pictures stay as they were"


def test_another_world_that_gets_the_state_draws_the_same(drawing: Engine, simulator: str) -> None:
    engine = drawing
    load(engine, cube())
    lead(engine, at((0.45, 0.1, 0.2), 0.02), 0.3)
    other = open_engine(ROBOT, simulator)
    try:
        load(other, cube(x=0.3))
        other.set_driven(engine.driven())
        other.move(0, engine.pose(0))
        for width, height in ((96, 96), (160, 120)):
            assert np.array_equal(engine.render(ABOVE, LIGHT, width, height), other.render(ABOVE, LIGHT, width, height))
    finally:
        other.close()


def test_worlds_in_one_process_do_not_meet_and_repeat_bit_by_bit(engine: Engine, simulator: str) -> None:
    def trace(*worlds: Engine) -> list[tuple[object, ...]]:
        for world in worlds:
            load(world, cube(), joints=at((0.5, 0.0, 0.15), OPEN))
        seen: list[tuple[object, ...]] = []
        for target in (at((0.5, 0.0, 0.02), OPEN), at((0.5, 0.0, 0.02), CLOSED), at((0.5, 0.1, 0.2), CLOSED)):
            for world in worlds:
                lead(world, target, 0.5)
            seen.append((worlds[0].driven(), worlds[0].pose(0)))
        return seen

    alone = trace(engine)
    other = open_engine(ROBOT, simulator)
    try:
        assert trace(engine, other) == alone
        assert trace(other) == alone
    finally:
        other.close()
        other.close()


def test_a_simulator_that_does_not_exist_is_named_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="simulator is 'mujocu'; did you mean mujoco"):
        open_engine(ROBOT, "mujocu")


def test_without_a_graphics_library_mujoco_simulates_and_says_what_drawing_needs() -> None:
    code = (
        "from tests.sim.test_engines import *; e = open_engine(ROBOT, 'mujoco'); load(e, cube()); e.step(); "
        "print(e.time_ns); e.render(ABOVE, LIGHT, 8, 8)"
    )
    environment = {**os.environ, "MUJOCO_GL": "disabled", "PYTHONPATH": str(ROOT)}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment)
    assert result.stdout == f"{PERIOD_NS}\n", result.stderr
    assert "MuJoCo draws by EGL, which is not installed here: apt install libegl1" in result.stderr

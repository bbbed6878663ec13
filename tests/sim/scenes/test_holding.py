"""Hands hold what they gripped as they gripped it, and let go of it before they leave."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from tendon.core.types import Array, Observation
from tendon.evaluation.episode import Setting, Timing
from tendon.evaluation.pool import Tools
from tendon.evaluation.suites import load_suite
from tendon.policies.bundle.places import EXPERT
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import load_profile
from tendon.sim.assembly.script import script
from tendon.sim.assembly.tasks import seat
from tendon.sim.engine import PHYSICS_HZ
from tendon.sim.scenes.hands import HandsExpert
from tendon.sim.scenes.scene import DescribedScene
from tendon.sim.scenes.world import DescribedWorld
from tendon.sim.simulators import SIMULATORS
from tendon.sim.world_state import WorldState

GEAR = 100_001
AGAIN = Setting(timing=Timing.OVERWRITE)
USUAL = {(robot, "pybullet") for robot in ("so101", "ur5e_2f85", "xarm7")} | {("so101", "mujoco"), ("ur10e", "mujoco")}
"""Each robot, and both simulators with the hand that let the gear creep; `make test-laws` tries them all."""


def turn(world: DescribedWorld) -> Array:
    """The rotation of what is to be moved, (3, 3)."""
    x, y, z, w = world.engine.pose(0)[3:]
    return np.asarray(pin.Quaternion(w, x, y, z).toRotationMatrix())


@pytest.mark.parametrize(
    ("robot", "simulator"),
    [
        (robot, simulator) if (robot, simulator) in USUAL else pytest.param(robot, simulator, marks=pytest.mark.laws)
        for robot in ("so101", "ur10e", "ur5e_2f85", "xarm7")
        for simulator in SIMULATORS
    ],
)
def test_a_gear_in_a_hand_that_stands_still_does_not_creep(robot: str, simulator: str) -> None:
    """It turned by a degree a second between a flat pad and a slanted one, and fell beside its pin."""
    tools = Tools(load_suite("assembly"), EXPERT, robot, Timing.OVERWRITE, simulator)
    try:
        episode, world = tools.begin(GEAR, AGAIN), tools.world
        assert isinstance(world, DescribedWorld)
        while not world.holders(0) or world.place(0)[2] < 0.05:
            assert not episode.over, "it was never lifted"
            episode.tick()
        held = world.joint_state()[0].copy()
        column = world.profile.joint_names.index(world.profile.grippers[0].joint)
        held[column] = world.profile.grippers[0].closed
        world.set_target(held, np.zeros(len(held)))
        for _ in range(PHYSICS_HZ // 2):
            world.step()
        before = turn(world)
        for _ in range(2 * PHYSICS_HZ):
            world.step()
        assert world.holders(0)
        assert np.linalg.norm(pin.log3(before.T @ turn(world))) < np.radians(0.8)
    finally:
        tools.close()


@pytest.mark.parametrize("robot", ["panda", "so101", "ur10e", "xarm7"])
def test_a_hand_stays_until_its_fingers_can_have_come_back(robot: str) -> None:
    """They are sent together while they hold: it rose as if they began where they are, and tore the gear along."""
    profile = load_profile(robot)
    scene = load_suite("assembly").scene(profile, GEAR)
    assert isinstance(scene, DescribedScene)
    gripper = profile.grippers[0]
    arm = Kinematics(profile, gripper.frame, gripper.group)
    column = profile.joint_names.index(gripper.joint)
    x, y, z = seat(scene)
    joints = np.array(arm.inverse_down(np.array([x, y, z + 0.02]), profile.vector("home")))
    joints[column] = gripper.position(scene.items[0].grips[0].half)
    state = WorldState(
        time_ns=0,
        joint_position=tuple(joints),
        poses=((x, y, z, 0.0, 0.0, 0.0, 1.0), (x, y, 0.0, 0.0, 0.0, 0.0, 1.0)),
        held=(0,),
    )
    seen = Observation(
        stamp_ns=0, joint_position=joints, joint_velocity=np.zeros(len(joints)), images={}, instruction=""
    )
    plan = HandsExpert(profile, script).plan(scene, state, seen, 16, 0.1)
    heights = np.array([arm.tool_pose(row)[0][2] for row in plan])
    way = abs(gripper.closed - joints[column]) / profile.vector("velocity")[column]
    soonest = int(way / 0.1)
    assert np.ptp(heights[:soonest]) < 0.002, "it stays while they come back"
    assert heights[-1] > heights[0] + 0.03, "it leaves after that"

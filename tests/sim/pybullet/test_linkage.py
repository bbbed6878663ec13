"""A linkage in PyBullet: what holds the leader off holds off all that follow it, and pads stay parallel."""

from __future__ import annotations

import numpy as np
import pytest

from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import load_profile
from tendon.sim.bodies import Body, Part, Surface
from tendon.sim.engine import PHYSICS_HZ
from tendon.sim.robot_body import robot_body

pybullet = pytest.importorskip("pybullet")

HALF_M = 0.028


@pytest.mark.parametrize("robot", ["ur5e_2f85", "xarm7"])
def test_a_wide_thing_between_the_fingers_of_a_linkage_stays_straight(robot: str) -> None:
    from tendon.sim.pybullet.engine import BulletEngine

    profile = load_profile(robot)
    gripper, body = profile.grippers[0], robot_body(profile)
    place = np.array([0.45, 0.0, 0.3])
    joints = np.array(Kinematics(profile, gripper.frame).inverse_down(place, profile.vector("home")))
    column = profile.joint_names.index(gripper.joint)
    joints[column] = gripper.open
    part = Part(kind="box", half=(0.016, HALF_M, 0.012))
    surface = Surface(friction=0.8, spinning=0.005)
    thing = Body(parts=(part,), rgb=(1, 0, 0), position=(0.45, 0.0, 0.3), mass=0.08, surface=surface)
    shelf = Body(parts=(Part(kind="box", half=(0.01, 0.02, 0.01)),), rgb=(1, 1, 1), position=(0.45, 0.0, 0.278))
    engine = BulletEngine(body)
    try:
        engine.load([shelf], [thing])
        engine.reset_joints(joints)
        joints[column] = gripper.closed
        engine.set_target(joints, np.zeros(len(joints)))
        for _ in range(2 * PHYSICS_HZ):
            engine.step()
        driven = engine.driven()
        leader = driven[column]
        assert abs(leader - gripper.closed) > 0.2, "the thing holds the leader off"
        for (_, servo), position in zip(body.couplings, driven[body.count :], strict=True):
            assert position == pytest.approx(servo.multiplier * leader + servo.offset, abs=0.02)
        assert engine.gripped(0)
        x, y, _, w = engine.pose(0)[3:]
        assert 2 * np.hypot(x, y) < 0.1 and abs(w) > 0.9
    finally:
        engine.close()


def test_only_a_joint_that_several_follow_has_a_linkage() -> None:
    assert not robot_body(load_profile("panda_pair")).linkages
    assert len(robot_body(load_profile("ur5e_2f85")).linkages) == 5

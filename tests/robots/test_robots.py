"""The shipped robots: each profile loads, its kinematics are the published ones, its limits are those of its source."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from tendon.robots.collision.model import load_collisions
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import load_profile

ROBOTS = ("panda", "fr3", "ur5e", "so101", "g1_arms")
UR5E_DH = ((0.0, 0.1625, 1), (-0.425, 0.0, 0), (-0.3922, 0.0, 0), (0.0, 0.1333, 1), (0.0, 0.0997, -1), (0.0, 0.0996, 0))
"""a [m], d [m] and the sign of alpha = pi/2: Universal Robots, "DH Parameters for calculations of kinematics"."""


def package_urdf(name: str) -> Path:
    """Returns a URDF of example-robot-data, and skips the test where that is not installed."""
    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("example-robot-data is not installed (extra dev)")
    return next(Path(str(file.locate())) for file in files if str(file).endswith(f"/robots/{name}"))


@pytest.mark.parametrize("robot", ROBOTS)
class TestEveryRobot:
    def test_loads_and_has_what_the_graph_needs(self, robot: str) -> None:
        profile = load_profile(robot)
        assert profile.name == robot and profile.cameras and profile.groups["arm"]
        assert (profile.urdf.parent, profile.control_hz) == (profile.urdf.parents[1] / robot, 100.0)

    def test_has_the_limits_of_its_urdf(self, robot: str) -> None:
        profile = load_profile(robot)
        model = pin.buildModelFromUrdf(str(profile.urdf))
        for joint in profile.joints:
            column = model.joints[model.getJointId(joint.name)].idx_q
            assert joint.lower == pytest.approx(model.lowerPositionLimit[column], abs=1e-4)
            assert joint.upper == pytest.approx(model.upperPositionLimit[column], abs=1e-4)
            assert joint.velocity <= model.velocityLimit[column] + 1e-9

    def test_stands_with_its_tool_in_the_workspace_at_home(self, robot: str) -> None:
        profile = load_profile(robot)
        tool, _ = Kinematics(profile).tool_pose(profile.vector("home"))
        assert (tool >= profile.workspace.lower).all() and (tool <= profile.workspace.upper).all()

    def test_has_a_collision_model_of_every_moving_link_with_a_surface(self, robot: str) -> None:
        profile = load_profile(robot)
        assert profile.collisions is not None
        assert len(load_collisions(profile.collisions).bodies) >= len(profile.groups["arm"]) + 1


@pytest.mark.parametrize(
    ("robot", "urdf", "ours", "theirs", "prefix"),
    [
        ("panda", "panda_description/urdf/panda.urdf", "panda_hand_tcp", "panda_hand_tcp", "panda"),
        ("fr3", "panda_description/urdf/panda.urdf", "fr3_hand_tcp", "panda_hand_tcp", "panda"),
        ("so101", "so_arm_description/urdf/so101.urdf", "gripper_frame_link", "gripper_frame_link", ""),
        ("g1_arms", "g1_description/urdf/g1_29dof_rev_1_0.urdf", "right_rubber_hand", "right_rubber_hand", ""),
        ("g1_arms", "g1_description/urdf/g1_29dof_rev_1_0.urdf", "left_rubber_hand", "left_rubber_hand", ""),
    ],
)
def test_kinematics_are_those_of_the_data_package(robot: str, urdf: str, ours: str, theirs: str, prefix: str) -> None:
    profile = load_profile(robot)
    own, other = pin.buildModelFromUrdf(str(profile.urdf)), pin.buildModelFromUrdf(str(package_urdf(urdf)))
    if not other.existFrame(theirs):  # without a tool frame: its hand will do
        ours, theirs = ours.replace("hand_tcp", "hand"), theirs.replace("hand_tcp", "hand")
    rng = np.random.default_rng(0)
    for _ in range(20):
        poses = []
        values = rng.uniform(profile.vector("lower"), profile.vector("upper"))
        for model, frame in ((own, ours), (other, theirs)):
            q = pin.neutral(model)
            for name, value in zip(profile.joint_names, values, strict=True):
                known = name if model is own or not prefix else name.replace(robot, prefix, 1)
                q[model.joints[model.getJointId(known)].idx_q] = value
            data = model.createData()
            pin.framesForwardKinematics(model, data, q)
            poses.append(data.oMf[model.getFrameId(frame)].homogeneous)
        np.testing.assert_allclose(poses[0], poses[1], atol=1e-5)


def test_kinematics_of_the_ur5e_are_its_published_parameters() -> None:
    """The robot's base frame is turned by half a turn from that of the parameters."""
    profile = load_profile("ur5e")
    kinematics, rng = Kinematics(profile), np.random.default_rng(0)
    for _ in range(20):
        q = rng.uniform(profile.vector("lower"), profile.vector("upper"))
        pose = np.diag([-1.0, -1.0, 1.0, 1.0])
        for (a, d, sign), angle in zip(UR5E_DH, q, strict=True):
            c, s, ca, sa = np.cos(angle), np.sin(angle), float(not sign), float(sign)
            pose = pose @ [[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d], [0, 0, 0, 1]]
        position, rotation = kinematics.tool_pose(q)
        np.testing.assert_allclose(position, pose[:3, 3], atol=1e-9)
        np.testing.assert_allclose(rotation, pose[:3, :3], atol=1e-9)

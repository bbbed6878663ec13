"""The shipped robots: each profile loads, its kinematics are the published ones, its limits are those of its source."""

from __future__ import annotations

import importlib.metadata
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from tendon.core.paths import share_folder
from tendon.robots.collision.model import load_collisions
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import load_profile

ROBOTS = sorted(path.parent.name for path in (share_folder() / "robots").glob("*/profile.yaml"))
TALOS = "talos_data/robots/talos_full_v2.urdf"
UR_DH = {
    "ur5e": ((0, 0.1625, 1), (-0.425, 0, 0), (-0.3922, 0, 0), (0, 0.1333, 1), (0, 0.0997, -1), (0, 0.0996, 0)),
    "ur10e": ((0, 0.1807, 1), (-0.6127, 0, 0), (-0.57155, 0, 0), (0, 0.17415, 1), (0, 0.11985, -1), (0, 0.11655, 0)),
}
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
        ("xarm7", "xarm_description/urdf/xarm7.urdf", "link_eef", "link_eef", ""),
        ("g1_arms", "g1_description/urdf/g1_29dof_rev_1_0.urdf", "right_rubber_hand", "right_rubber_hand", ""),
        ("g1_arms", "g1_description/urdf/g1_29dof_rev_1_0.urdf", "left_rubber_hand", "left_rubber_hand", ""),
        ("talos_upper", TALOS, "gripper_right_base_link", "gripper_right_base_link", ""),
        ("talos_upper", TALOS, "gripper_left_base_link", "gripper_left_base_link", ""),
        ("talos_upper", TALOS, "rgbd_rgb_optical_frame", "rgbd_rgb_optical_frame", ""),
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
                if model.existJointName(known):  # theirs may lack a gripper
                    q[model.joints[model.getJointId(known)].idx_q] = value
            data = model.createData()
            pin.framesForwardKinematics(model, data, q)
            poses.append(data.oMf[model.getFrameId(frame)].homogeneous)
        np.testing.assert_allclose(poses[0], poses[1], atol=1e-5)


@pytest.mark.parametrize("robot", ["ur5e", "ur5e_2f85", "ur10e"])
def test_kinematics_of_a_ur_are_its_published_parameters(robot: str) -> None:
    """The robot's base frame is turned by half a turn from that of the parameters."""
    profile = replace(load_profile(robot), tool_frame="tool0")
    kinematics, rng = Kinematics(profile), np.random.default_rng(0)
    for _ in range(20):
        q = rng.uniform(profile.vector("lower"), profile.vector("upper"))
        pose = np.diag([-1.0, -1.0, 1.0, 1.0])
        for (a, d, sign), angle in zip(UR_DH[robot.split("_")[0]], q[profile.group_indices("arm")], strict=True):
            c, s, ca, sa = np.cos(angle), np.sin(angle), float(not sign), float(sign)
            pose = pose @ [[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d], [0, 0, 0, 1]]
        position, rotation = kinematics.tool_pose(q)
        np.testing.assert_allclose(position, pose[:3, 3], atol=1e-9)
        np.testing.assert_allclose(rotation, pose[:3, :3], atol=1e-9)


@pytest.mark.parametrize(("pair", "single"), [("panda_pair", "panda"), ("so101_pair", "so101")])
def test_each_arm_of_a_pair_is_the_single_one_moved_aside(pair: str, single: str) -> None:
    both, one = load_profile(pair), load_profile(single)
    alone = Kinematics(one)
    values = np.random.default_rng(2).uniform(both.vector("lower"), both.vector("upper"))
    half = len(one.joints)
    for side, part, sign in (("left", values[:half], 1), ("right", values[half:], -1)):
        tool, turned = Kinematics(both, f"{side}_{one.tool_frame}", f"{side}_arm").tool_pose(values)
        place, rotation = alone.tool_pose(part)
        np.testing.assert_allclose(turned, rotation, atol=1e-12)
        np.testing.assert_allclose((tool - place)[[0, 2]], 0.0, atol=1e-12)
        assert sign * (tool - place)[1] == pytest.approx({"panda": 0.3, "so101": 0.13}[single])
    limits = ("lower", "upper", "velocity", "acceleration", "jerk", "home")
    assert all((both.vector(name) == np.tile(one.vector(name), 2)).all() for name in limits)

"""Any URDF: kinematics, collision model and base frame agree with forward kinematics written from the specification."""

from __future__ import annotations

import importlib.metadata
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from tendon.control.clearance.model import Clearance
from tendon.core.errors import ConfigError, KinematicsError
from tendon.core.types import Array
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import Box, ControllerSpec, Joint, RobotProfile
from tendon.robots.urdf import read_urdf
from tests.laws import law_settings
from tests.robots.urdf_kinematics import link_poses

WIDE = Box(lower=(-50.0, -50.0, -50.0), upper=(50.0, 50.0, 50.0))
SLOW = law_settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def profile_of(path: Path, joints: list[str], base: str, tool: str, **more: Any) -> RobotProfile:
    """A profile of some joints of a URDF, each with limits of two turns, or half a metre."""
    kinds = {joint.name: joint.kind for joint in read_urdf(path).joints.values()}
    parts = []
    for name in joints:
        far = 0.5 if kinds.get(name) == "prismatic" else 2 * math.tau
        parts.append(Joint(name=name, lower=-far, upper=far, velocity=1.0, acceleration=5.0, jerk=500.0, home=0.0))
    return RobotProfile(
        name=path.stem,
        urdf=path,
        base_frame=base,
        tool_frame=tool,
        joints=tuple(parts),
        groups={"arm": tuple(joints)},
        controllers=(ControllerSpec(name="all", type="joint_trajectory", joints=tuple(joints)),),
        cameras=(),
        workspace=WIDE,
        **more,
    )


def expected_tool(profile: RobotProfile, values: Array) -> Array:
    """The tool's (4, 4) pose in the base frame."""
    poses = link_poses(profile.urdf.read_text(), dict(zip(profile.joint_names, values, strict=True)))
    return np.asarray(np.linalg.inv(poses[profile.base_frame]) @ poses[profile.tool_frame])


def assert_kinematics(profile: RobotProfile, values: Array) -> None:
    """Pose, and the velocity as its central difference."""
    kinematics, expected = Kinematics(profile), expected_tool(profile, values)
    position, rotation = kinematics.tool_pose(values)
    np.testing.assert_allclose(position, expected[:3, 3], atol=1e-9)
    np.testing.assert_allclose(rotation, expected[:3, :3], atol=1e-9)
    rates, step = np.linspace(-1.0, 1.0, len(values)) + 0.1, 1e-6
    ahead, behind = (expected_tool(profile, values + s * step * rates)[:3, 3] for s in (1, -1))
    np.testing.assert_allclose(kinematics.tool_velocity(values, rates), (ahead - behind) / (2 * step), atol=1e-5)


# --- random robots -------------------------------------------------------------------------------------------------

NUMBERS = st.floats(-1.0, 1.0).map(lambda value: round(value, 3))
POINT = st.tuples(NUMBERS, NUMBERS, NUMBERS)
KINDS = st.sampled_from(["revolute", "continuous", "prismatic", "fixed", "mimic"])
LINKS = st.lists(st.tuples(KINDS, POINT, POINT, POINT, st.integers(0, 3), NUMBERS, NUMBERS), min_size=2, max_size=8)


def write_robot(folder: Path, rows: list[Any]) -> tuple[Path, list[str], list[str]]:
    """Writes a random tree; returns the file, its driven joints and its links, the last a leaf."""
    lines, driven, kinds = ["<robot name='random'>", "<link name='l0'/>"], list[str](), dict[str, str]()
    links = ["l0"]
    for i, (kind, xyz, rpy, axis, back, multiplier, offset) in enumerate(rows):
        length = math.hypot(*axis)
        axis = (0.0, 0.0, 1.0) if length < 0.1 else tuple(value / length for value in axis)
        name, link, parent = f"j{i}", f"l{i + 1}", links[max(0, len(links) - 1 - back)]
        extra, type_ = "", kind
        if kind == "mimic":
            if not kinds:
                type_ = "continuous"
            else:
                leader = list(kinds)[back % len(kinds)]
                type_ = "revolute" if kinds[leader] == "prismatic" else kinds[leader]
                extra = f"<mimic joint='{leader}' multiplier='{multiplier}' offset='{offset}'/>"
        if type_ != "fixed":
            kinds[name] = type_
            if not extra:
                driven.append(name)
        limit = "" if type_ in ("continuous", "fixed") else "<limit lower='-9' upper='9' effort='1' velocity='1'/>"
        lines += [
            f"<link name='{link}'/>",
            f"<joint name='{name}' type='{type_}'><parent link='{parent}'/><child link='{link}'/>",
            f"<origin xyz='{' '.join(map(str, xyz))}' rpy='{' '.join(map(str, rpy))}'/>",
            f"<axis xyz='{' '.join(map(repr, axis))}'/>{limit}{extra}</joint>",
        ]
        links.append(link)
    path = folder / "random.urdf"
    path.write_text("\n".join([*lines, "</robot>"]))
    return path, driven, links


@SLOW
@given(rows=LINKS, values=st.lists(st.floats(-0.5, 0.5), min_size=8, max_size=8), named=st.integers(1, 255))
def test_kinematics_of_any_tree_are_those_of_the_specification(
    tmp_path: Path, rows: list[Any], values: list[float], named: int
) -> None:
    """Revolute, continuous, prismatic, fixed and mimic joints; some of them not in the profile, which stay at zero."""
    path, driven, links = write_robot(tmp_path, rows)
    joints = [name for i, name in enumerate(driven) if named >> i & 1]
    assume(joints)
    assert_kinematics(profile_of(path, joints, "l0", links[-1]), np.array(values[: len(joints)]) * 4.0)


@SLOW
@given(rows=LINKS, values=st.lists(st.floats(-0.5, 0.5), min_size=8, max_size=8), base=st.integers(1, 8))
def test_any_link_that_stands_still_may_be_the_base_and_no_other(
    tmp_path: Path, rows: list[Any], values: list[float], base: int
) -> None:
    path, driven, links = write_robot(tmp_path, rows)
    assume(driven and base < len(links))
    joints = driven[len(driven) // 2 :]
    followers = {mimic.joint: mimic.leader for mimic in read_urdf(path).mimics}
    moved = any(followers.get(name, name) in joints for name in read_urdf(path).above(links[base]))
    if moved:
        with pytest.raises(ConfigError, match=r"base_frame is l\d, which joint j\d moves.*such as l0"):
            profile_of(path, joints, links[base], links[-1])
        return
    assert_kinematics(profile_of(path, joints, links[base], links[-1]), np.array(values[: len(joints)]) * 4.0)


@SLOW
@given(rows=LINKS, start=st.lists(st.floats(-0.4, 0.4), min_size=8, max_size=8))
def test_inverse_kinematics_is_right_or_an_error(tmp_path: Path, rows: list[Any], start: list[float]) -> None:
    """Mimics move along with their leaders while it solves."""
    path, driven, links = write_robot(tmp_path, rows)
    assume(driven)
    profile = profile_of(path, driven, "l0", links[-1])
    seed = np.array(start[: len(driven)])
    goal = expected_tool(profile, seed * 1.2 + 0.02)
    try:
        answer = Kinematics(profile).inverse(goal[:3, 3], goal[:3, :3], seed)
    except KinematicsError:
        return
    np.testing.assert_allclose(expected_tool(profile, answer)[:3], goal[:3], atol=3e-4)


# --- real robots ----------------------------------------------------------------------------------------------------


def package_urdf(name: str) -> Path:
    """A URDF of example-robot-data."""
    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("example-robot-data is not installed (extra dev)")
    return next(Path(str(file.locate())) for file in files if str(file).endswith(f"/robots/{name}"))


KINOVA = [f"j2s6s200_joint_{i}" for i in range(1, 7)]


@pytest.fixture(scope="module")
def kinova() -> RobotProfile:
    """Joints 1, 4, 5 and 6 are continuous; its URDF's root is a mounting block."""
    path = package_urdf("kinova_description/robots/kinova.urdf")
    return profile_of(path, KINOVA, "base", "j2s6s200_end_effector")


@pytest.mark.parametrize(
    ("urdf", "tool"),
    [
        ("kinova_description/robots/kinova.urdf", "j2s6s200_end_effector"),
        ("double_pendulum_description/urdf/double_pendulum_continuous.urdf", ""),
        ("tiago_description/robots/tiago.urdf", "wrist_ft_tool_link"),
        ("baxter_description/urdf/baxter.urdf", "left_gripper"),
        ("z1_description/urdf/z1.urdf", "gripperMover"),
        ("panda_description/urdf/panda.urdf", "panda_rightfinger"),
        ("ur_description/urdf/ur5_gripper.urdf", ""),
        ("pr2_description/urdf/pr2.urdf", "r_gripper_tool_frame"),
    ],
)
def test_a_published_robot_is_where_its_urdf_says(urdf: str, tool: str) -> None:
    """All joints that follow nobody, far beyond a turn, with wheels, grippers and fingers that mimic."""
    description = read_urdf(package_urdf(urdf))
    followers = {mimic.joint for mimic in description.mimics}
    joints = [joint.name for joint in description.joints.values() if joint.kind != "fixed"]
    joints = [name for name in joints if name not in followers][:64]
    tool = tool or max(description.links, key=lambda link: len(description.above(link)))
    profile, rng = profile_of(description.path, joints, description.root, tool), np.random.default_rng(0)
    for _ in range(5):
        assert_kinematics(profile, rng.uniform(profile.vector("lower"), profile.vector("upper")))


def test_the_kinova_is_where_pybullet_has_it(kinova: RobotProfile, tmp_path: Path) -> None:
    """A third opinion; PyBullet gets the URDF without meshes, which lie elsewhere."""
    import re

    pybullet = pytest.importorskip("pybullet")
    bare = re.sub(r"<(visual|collision)\b.*?</\1>", "", kinova.urdf.read_text(), flags=re.DOTALL)
    (tmp_path / "bare.urdf").write_text(bare)
    client = pybullet.connect(pybullet.DIRECT)
    try:
        body = pybullet.loadURDF(str(tmp_path / "bare.urdf"), useFixedBase=True, physicsClientId=client)
        info = [pybullet.getJointInfo(body, i, client) for i in range(pybullet.getNumJoints(body, client))]
        rng, kinematics = np.random.default_rng(1), Kinematics(kinova)
        tool = next(row[0] for row in info if row[12].decode() == kinova.tool_frame)
        for _ in range(10):
            q = rng.uniform(-6, 6, 6)
            for row in info:
                if row[1].decode() in KINOVA:
                    pybullet.resetJointState(body, row[0], q[KINOVA.index(row[1].decode())], physicsClientId=client)
            state = pybullet.getLinkState(body, tool, computeForwardKinematics=True, physicsClientId=client)
            position, rotation = kinematics.tool_pose(q)
            np.testing.assert_allclose(position, state[4], atol=1e-5)
            np.testing.assert_allclose(rotation.ravel(), pybullet.getMatrixFromQuaternion(state[5]), atol=1e-5)
    finally:
        pybullet.disconnect(client)


def test_the_kinova_finds_its_way_with_continuous_joints_inside_the_profiles_limits(kinova: RobotProfile) -> None:
    """Nearby poses: 95 of 100, and a turn of a continuous joint counts as a turn."""
    rng, kinematics, found = np.random.default_rng(0), Kinematics(kinova), 0
    for _ in range(100):
        seed = rng.uniform(-5, 5, 6)
        goal = expected_tool(kinova, seed + rng.uniform(-0.2, 0.2, 6))
        try:
            answer = kinematics.inverse(goal[:3, 3], goal[:3, :3], seed)
        except KinematicsError:
            continue
        np.testing.assert_allclose(expected_tool(kinova, answer)[:3], goal[:3], atol=3e-4)
        assert (np.abs(answer) <= 2 * math.tau).all()
        found += bool(np.abs(answer - seed).max() < 1.5)
    assert found >= 95


COLLISIONS = """
bodies:
  j2s6s200_link_2: [{a: [0, 0, 0], b: [0, -0.4, 0], radius: 0.05}]
  j2s6s200_link_base: [{centre: [0, 0, 0.05], radius: 0.08}]
  j2s6s200_link_5: [{centre: [0, 0, 0], radius: 0.05}]
"""


def test_the_collision_model_of_the_kinova_moves_with_it(kinova: RobotProfile, tmp_path: Path) -> None:
    """Distances are those of bodies placed by the specification, and change no faster than `reach` says."""
    (tmp_path / "collisions.yaml").write_text(COLLISIONS)
    profile = replace(kinova, collisions=tmp_path / "collisions.yaml")
    clearance, rng = Clearance(profile), np.random.default_rng(0)
    row = clearance.names.index("j2s6s200_link_base - j2s6s200_link_5")
    for _ in range(20):
        q, step = rng.uniform(-6, 6, 6), rng.uniform(-0.3, 0.3, 6)
        poses = link_poses(profile.urdf.read_text(), dict(zip(KINOVA, q, strict=True)))
        centre = (poses["j2s6s200_link_base"] @ [0, 0, 0.05, 1])[:3]
        gap = float(np.linalg.norm(poses["j2s6s200_link_5"][:3, 3] - centre)) - 0.13
        before, after = clearance.distances(q), clearance.distances(q + step)
        assert before[row] == pytest.approx(gap, abs=1e-6)
        assert (np.abs(after - before) <= clearance.reach @ np.abs(step) + 1e-6).all()
        gradient = clearance.gradients(q, [row])[0]
        slope = (clearance.distances(q + 1e-6 * step)[row] - clearance.distances(q - 1e-6 * step)[row]) / 2e-6
        assert gradient @ step == pytest.approx(slope, abs=1e-5)


def test_the_workspace_and_the_links_are_seen_from_the_base_frame(kinova: RobotProfile, tmp_path: Path) -> None:
    """The same robot from a mounting block and from the arm's base above it, and askew."""
    (tmp_path / "collisions.yaml").write_text(COLLISIONS)
    text = kinova.urdf.read_text()
    start = text.index('<joint name="jaco_mounting_block_to_j2s6s200_link_base"')
    old = '<origin rpy="0 0 1.57079632679" xyz="0.000 0.000 0.000"/>'
    assert old in text[start : start + 400], "the mounting block's joint is another"
    lifted = text[:start] + text[start:].replace(old, '<origin rpy="0.1 -0.2 0.3" xyz="0.4 0.5 0.6"/>', 1)
    (tmp_path / "lifted.urdf").write_text(lifted)
    low = replace(kinova, urdf=tmp_path / "lifted.urdf", collisions=tmp_path / "collisions.yaml")
    high = replace(low, base_frame="j2s6s200_link_base")
    q = np.array([0.3, 2.0, 1.0, -0.7, 2.0, 4.0])
    shift = link_poses(low.urdf.read_text(), {})["j2s6s200_link_base"]
    assert np.linalg.norm(shift[:3, 3]) > 0.01, "the two frames are one: this test would hold nothing"
    there = (np.linalg.inv(shift) @ [*Kinematics(low).tool_pose(q)[0], 1.0])[:3]
    np.testing.assert_allclose(Kinematics(high).tool_pose(q)[0], there, atol=1e-9)
    for link, (position, _) in Clearance(high).link_poses(q).items():
        low_place = [*Clearance(low).link_poses(q)[link][0], 1.0]
        np.testing.assert_allclose(position, (np.linalg.inv(shift) @ low_place)[:3], atol=1e-9)
    walls = Clearance(high).distances(q)[-6:]
    np.testing.assert_allclose(walls, [*(there + 50.0), *(50.0 - there)], atol=1e-9)


# --- what is refused ------------------------------------------------------------------------------------------------

ARM = """<robot name='r'><link name='a'/><link name='b'/><link name='c'/>
<joint name='one' type='{kind}'><parent link='a'/><child link='b'/>{extra}<limit lower='-1' upper='1' effort='1'
 velocity='1'/></joint>
<joint name='two' type='revolute'><parent link='b'/><child link='c'/><limit lower='-1' upper='1' effort='1'
 velocity='1'/>{mimic}</joint></robot>"""


TWO = ARM.format(kind="revolute", extra="", mimic="")


@pytest.mark.parametrize(
    ("text", "joints", "says"),
    [
        ("no xml", ["one"], "is not XML"),
        ("<sdf/>", ["one"], "outermost element is <sdf>, not <robot>"),
        ("<robot xmlns:xacro='x'><xacro:arm/></robot>", ["one"], r"is xacro: expand it first"),
        (ARM.format(kind="floating", extra="", mimic=""), ["two"], "joint one is of type floating; known: fixed, rev"),
        (ARM.format(kind="planar", extra="", mimic=""), ["two"], "joint one is of type planar"),
        (ARM.format(kind="fixed", extra="", mimic=""), ["one"], "joint one is fixed in URDF .*leave it out"),
        (TWO, ["ona"], r"has no joint ona; did you mean one\?"),
        (
            ARM.format(kind="revolute", extra="", mimic="<mimic joint='one'/>"),
            ["one", "two"],
            "joint two mimics one in URDF .*: leave two out",
        ),
        (
            ARM.format(kind="revolute", extra="", mimic="<mimic joint='three'/>"),
            ["one"],
            "joint two mimics joint 'three', which it does not have",
        ),
        (
            ARM.format(kind="revolute", extra="<mimic joint='two'/>", mimic="<mimic joint='one'/>"),
            ["one"],
            "mimics joint '(one|two)', which follows it in turn",
        ),
        (
            ARM.format(kind="revolute", extra="", mimic="<mimic joint='one' multiplier='x'/>"),
            ["one"],
            "mimic multiplier of joint two is 'x', must be a finite number",
        ),
        (TWO.replace("child link='c'", "child link='d'"), ["one"], "'d'"),
        (TWO.replace("'two'", "'one'"), ["one"], "two joints called one"),
        (TWO.replace("<child", "<axis xyz='0 0 0'/><child"), ["one"], "axis of joint one is '0 0 0', must be three"),
        (
            ARM.format(kind="revolute", extra="", mimic="").replace("parent link='b'", "parent link='c'"),
            ["one"],
            "tree",
        ),
    ],
)
def test_a_urdf_that_cannot_be_right_is_one_line(tmp_path: Path, text: str, joints: list[str], says: str) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(text)
    with pytest.raises(ConfigError, match=says):
        replace(profile_of(written(tmp_path), ["one"], "a", "c"), urdf=path, **renamed(joints))


def test_a_urdf_may_quote_xacro_in_a_comment(tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(f"<!-- <xacro:arm/>, and\n <xacro:hand/> -->{TWO}")
    assert set(read_urdf(path).joints) == {"one", "two"}


def written(folder: Path) -> Path:
    """A URDF that is right."""
    path = folder / "good.urdf"
    path.write_text(TWO)
    return path


def renamed(joints: list[str]) -> dict[str, Any]:
    """What a profile says of these joints."""
    limits = {"lower": -1.0, "upper": 1.0, "velocity": 1.0, "acceleration": 1.0, "jerk": 1.0, "home": 0.0}
    return {
        "joints": tuple(Joint(name=name, **limits) for name in joints),
        "groups": {"arm": tuple(joints)},
        "controllers": (ControllerSpec(name="all", type="joint_trajectory", joints=tuple(joints)),),
    }


@pytest.mark.parametrize("key", ["base_frame", "tool_frame"])
@pytest.mark.parametrize(("value", "says"), [("nonsense", "known: a, b, c"), ("one", "no such"), (5, "non-empty")])
def test_a_frame_that_is_no_link_is_an_error(tmp_path: Path, key: str, value: object, says: str) -> None:
    """A joint's name is none either."""
    profile = profile_of(written(tmp_path), ["one", "two"], "a", "c")
    with pytest.raises(ConfigError, match=f"{key} is .*{says}"):
        replace(profile, **{key: value})

"""The robot of every profile in every simulator: it loads, stands at home, and its tool is where kinematics has it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tendon.core.errors import ConfigError
from tendon.core.paths import share_folder
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import load_profile
from tendon.robots.urdf import parse_xml
from tendon.sim.engine import PHYSICS_HZ
from tendon.sim.robot_body import robot_body
from tendon.sim.robot_urdf import missing_meshes
from tendon.sim.simulators import SIMULATORS, open_engine

ROBOTS = sorted(path.parent.name for path in (share_folder() / "robots").glob("*/profile.yaml"))


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("robot", ROBOTS)
def test_it_stands_at_home_where_kinematics_has_its_tool(robot: str, simulator: str) -> None:
    profile = load_profile(robot)
    home = profile.vector("home")
    engine = open_engine(robot_body(profile), simulator)
    try:
        engine.load([], [])
        engine.reset_joints(home)
        place, turn = engine.link_pose(profile.tool_frame)
        tool, rotation = Kinematics(profile).tool_pose(home)
        np.testing.assert_allclose(place, tool, atol=1e-5)
        np.testing.assert_allclose(turn, rotation, atol=1e-5)
        for _ in range(PHYSICS_HZ // 2):
            engine.step()
        np.testing.assert_allclose(engine.joint_state()[0], home, atol=5e-3)
    finally:
        engine.close()


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("robot", [name for name in ROBOTS if load_profile(name).grippers])
def test_its_fingers_are_as_far_apart_as_the_profile_says(robot: str, simulator: str) -> None:
    """What follows the driven joint goes with it, and nothing else moves."""
    profile = load_profile(robot)
    gripper = profile.grippers[0]
    body = robot_body(profile)
    closed = profile.vector("home").copy()
    column = profile.joint_names.index(gripper.joint)
    closed[column] = gripper.closed
    engine = open_engine(body, simulator)
    try:
        engine.load([], [])
        engine.reset_joints(closed)
        driven = np.array(engine.driven())
        expected = [servo.multiplier * closed[servo.column] + servo.offset for servo in body.servos]
        np.testing.assert_allclose(driven, expected, atol=1e-9)
    finally:
        engine.close()
    assert gripper.position(0.0) == pytest.approx(gripper.closed)
    assert gripper.position(gripper.width / 2) == pytest.approx(gripper.open)
    assert gripper.half_width(gripper.position(0.013)) == pytest.approx(0.013)


def test_only_joints_of_the_profile_and_their_followers_move() -> None:
    profile = load_profile("g1_arms")
    movable = [
        joint for joint in parse_xml(Path(robot_body(profile).urdf)).findall("joint") if joint.get("type") != "fixed"
    ]
    assert {joint.get("name") for joint in movable} == set(profile.joint_names)


def test_meshes_of_one_name_are_told_apart() -> None:
    """Talos has two base_link.STL, and MuJoCo took the first for both."""
    root = parse_xml(Path(robot_body(load_profile("talos_upper")).urdf))
    files = {Path(mesh.get("filename", "")) for mesh in root.iter("mesh")}
    assert len({file.stem for file in files}) == len({file.resolve() for file in files}) == len(files)


def changed(
    tmp_path: Path, robot: str, change: Callable[[dict[str, Any]], object], urdf: tuple[str, str] = ("", "")
) -> Path:
    folder = share_folder() / "robots" / robot
    values = yaml.safe_load((folder / "profile.yaml").read_text(encoding="utf-8"))
    text = (folder / values["urdf"]).read_text(encoding="utf-8")
    assert urdf[0] in text
    (tmp_path / "robot.urdf").write_text(text.replace(*urdf) if urdf[0] else text, encoding="utf-8")
    values |= {"urdf": "robot.urdf", "collisions": str(folder / "collisions.yaml")}
    change(values)
    (tmp_path / "profile.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    return tmp_path / "profile.yaml"


def nothing(values: dict[str, Any]) -> None:
    """Leaves a profile as it is."""


@pytest.mark.parametrize(
    ("urdf", "says"),
    [
        (('effort="150"', 'effort="0"'), "does not say how strong joint shoulder_pan_joint is: give it a"),
        (
            ('<link name="forearm_link"/>', '<link name="forearm_link"><inertial><mass value="-1"/></inertial></link>'),
            "link forearm_link has the mass '-1' kg: correct <inertial>",
        ),
        (
            (
                '<link name="forearm_link"/>',
                '<link name="forearm_link"><visual><geometry><mesh filename="arm.stl"/></geometry></visual></link>',
            ),
            "names arm.stl, which does not exist",
        ),
        (
            (
                '<link name="forearm_link"/>',
                '<link name="forearm_link"><visual><geometry><mesh filename="package://no_such/arm.stl"/></geometry>'
                "</visual></link>",
            ),
            "names package://no_such/arm.stl, and no package no_such here has that file: source the workspace",
        ),
    ],
    ids=["no effort", "negative mass", "missing mesh", "unknown package"],
)
def test_a_urdf_that_cannot_be_simulated_is_one_clear_error(tmp_path: Path, urdf: tuple[str, str], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        robot_body(load_profile(changed(tmp_path, "ur5e", nothing, urdf)))


def test_meshes_that_are_not_installed_are_said_and_shapes_take_their_place(tmp_path: Path) -> None:
    meshes = {"meshes": [{"urdf": ["package://no_such/robot.urdf"]}]}
    profile = load_profile(changed(tmp_path, "ur5e", lambda values: values.update(simulation=meshes)))
    assert missing_meshes(profile) == ["package://no_such/robot.urdf"]
    assert "capsule" in Path(robot_body(profile).urdf).read_text(encoding="utf-8")


def test_meshes_of_another_robot_are_an_error(tmp_path: Path) -> None:
    other = share_folder() / "robots" / "so101" / "so101.urdf"
    meshes = {"meshes": [{"urdf": [str(other)], "prefix": "left_"}]}
    profile = load_profile(changed(tmp_path, "ur5e", lambda values: values.update(simulation=meshes)))
    with pytest.raises(ConfigError, match="has no link of the robot after left_: correct its prefix"):
        robot_body(profile)


@pytest.mark.parametrize(
    ("gripper", "says"),
    [
        ({"joint": "finger_jont"}, "a gripper names joint finger_jont; did you mean finger_joint"),
        ({"fingers": ["left_fingr", "right_finger"]}, "pads names left_finger; did you mean left_fingr"),
        ({"frame": "tcp"}, "frame of gripper finger_joint is tcp: URDF .* has no such link"),
        ({"group": "hand"}, "has no joint group hand"),
        ({"closed": 0.0}, "open and closed are both 0.0"),
        ({"width": -0.1}, r"width \[m\] is -0.1"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_wrong_gripper_is_named(tmp_path: Path, gripper: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        load_profile(changed(tmp_path, "ur5e_2f85", lambda values: values["grippers"][0].update(gripper)))

"""A URDF that Tendon cannot drive is one clear error that says what to write."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tendon.core.errors import ConfigError
from tendon.robots.urdf import Limit, read_urdf
from tests.robots.small_robots import HAND, LIMIT, SMALL, joint, link, robot, write


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (LIMIT, "", "joint joint1 has no <limit>: write its lower, upper, velocity and effort from the data sheet"),
        (' velocity="1.5"', "", "<limit> of joint joint1 has no velocity: write it from the data sheet"),
        ('lower="-2"', 'lower="low"', "limit lower of joint joint1 is 'low', must be a finite number"),
        ('lower="-2"', 'lower="nan"', "limit lower of joint joint1 is 'nan', must be a finite number"),
        ('velocity="1.5"', 'velocity="-2"', "limit velocity of joint joint1 is -2, must be at least 0"),
        ('effort="50"', 'effort="-30"', "limit effort of joint joint1 is -30, must be at least 0"),
        ('lower="-2"', 'lower="3"', "limit lower of joint joint1 is 3, above its upper, 2.5: swap them"),
        (
            'name="joint1" type="revolute"',
            'name="joint1" type="floating"',
            "Fix a floating base, or take the arm's own",
        ),
        (
            'name="joint1" type="revolute"',
            'name="joint1" type="planar"',
            "joint joint1 is of type planar; known: fixed,",
        ),
        ("<robot", '<sdf version="1.7"', "is not XML"),
        (SMALL, "<sdf/>", "is no URDF: its outermost element is <sdf>, not <robot>"),
        (SMALL, "a picture", "is not XML"),
        (SMALL, '<?xml version="1.0" encoding="klingon"?><robot/>', "unknown encoding"),
        ("<robot", '<robot xmlns:xacro="x"><xacro:arm/', "is xacro: expand it first"),
    ],
)
def test_what_is_wrong_in_a_urdf_is_named(old: str, new: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        read_urdf(write(tmp_path, SMALL.replace(old, new)))
    assert said in str(raised.value)


@pytest.mark.parametrize("shape", ['cylinder radius="-0.1" length="1"', 'box size="1 -1 1"', 'sphere radius="thick"'])
def test_a_collision_shape_of_less_than_no_size_is_named(shape: str, tmp_path: Path) -> None:
    text = SMALL.replace(link("base"), link("base", f"<collision><geometry><{shape}/></geometry></collision>"))
    with pytest.raises(ConfigError, match=r"of link base is '.*', must be at least 0 m"):
        read_urdf(write(tmp_path, text))


def test_a_urdf_whose_comments_quote_xacro_is_read(tmp_path: Path) -> None:
    """What xacro writes keeps the comments of its source."""
    assert read_urdf(write(tmp_path, SMALL.replace("<robot", "<!-- <xacro:arm/>\n-->\n<robot"))).root == "base"


def test_limits_are_read_and_a_continuous_joint_has_none_of_position(tmp_path: Path) -> None:
    wheel = joint("wheel", "base", "rim", kind="continuous", more="")
    joints = read_urdf(write(tmp_path, SMALL.replace("</robot>", link("rim") + wheel + "</robot>"))).joints
    assert joints["joint1"].limit == Limit(lower=-2.0, upper=2.5, velocity=1.5, effort=50.0)
    assert joints["wheel"].limit == Limit() and joints["wheel"].limit.upper == math.inf


def test_commanded_joints_come_from_the_root_on_without_followers_and_fixed_ones(tmp_path: Path) -> None:
    urdf = read_urdf(write(tmp_path, SMALL))
    assert urdf.commanded == ["joint1", "joint2", "joint3", "left_finger_joint"]
    assert urdf.moved_by("right_finger") == ["joint1", "joint2", "joint3", "left_finger_joint"]
    assert urdf.moved_by("base") == []


def test_a_hand_alone_is_no_tree_without_its_arm(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="joint tcp_joint names link 'wrist', which it does not have"):
        read_urdf(write(tmp_path, robot(HAND)))

"""An SRDF is read in the words of its URDF, and one of another robot is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tendon.core.errors import ConfigError
from tendon.robots.srdf import EndEffector, Srdf, read_srdf
from tendon.robots.urdf import read_urdf
from tests.robots.small_robots import SMALL, SRDF, write


def read(folder: Path, text: str = SRDF) -> Srdf:
    return read_srdf(write(folder, text, "small.srdf"), read_urdf(write(folder, SMALL)))


def test_groups_are_joints_from_the_root_on_however_they_are_written(tmp_path: Path) -> None:
    assert read(tmp_path).groups == {
        "arm": ("joint1", "joint2", "joint3"),
        "hand": ("left_finger_joint",),
        "all": ("joint1", "joint2", "joint3", "left_finger_joint"),
        "forearm": ("joint3",),
    }


def test_states_tips_end_effectors_and_pairs_are_read(tmp_path: Path) -> None:
    srdf = read(tmp_path)
    assert srdf.states["ready"] == {"joint1": 0.5, "joint2": -0.5, "joint3": 1.0}
    assert srdf.tips == {"arm": "tcp"}
    assert srdf.end_effectors == (EndEffector(parent_link="wrist", group="hand", parent_group="arm"),)
    assert srdf.disabled == {
        frozenset(("base", "shoulder")): "adjacent",
        frozenset(("base", "elbow")): "always",
        frozenset(("base", "wrist")): "never",
    }


def test_a_passive_joint_is_in_no_group(tmp_path: Path) -> None:
    srdf = read(tmp_path, SRDF.replace("<virtual", '<passive_joint name="joint2"/><virtual'))
    assert srdf.passive == {"joint2"} and srdf.groups["arm"] == ("joint1", "joint3")


def test_where_a_floating_base_is_belongs_to_no_joint(tmp_path: Path) -> None:
    base = '<joint name="root_joint" value="0 0 0.3 0 0 0 1"/><joint name="world_joint" value="0"/>'
    assert read(tmp_path, SRDF.replace('name="up" group="arm">', f'name="up" group="arm">{base}')).states["up"] == {
        "joint1": 0.0
    }


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            '<joint name="left_finger_joint"/>',
            '<joint name="finger1"/>',
            "group hand names joint 'finger1', which URDF",
        ),
        ('link1="base"', 'link1="pelvis"', "disable_collisions names link 'pelvis', which URDF"),
        ('tip_link="tcp"', 'tip_link="hand"', "chain of group arm names link 'hand', which URDF"),
        ('<joint name="joint1" value="0"/>', '<joint name="j1" value="0"/>', "state up names joint 'j1', which URDF"),
        ('parent_link="wrist"', 'parent_link="flange"', "end_effector hand names link 'flange', which URDF"),
    ],
)
def test_the_srdf_of_another_robot_is_refused(old: str, new: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is it the SRDF of another robot") as raised:
        read(tmp_path, SRDF.replace(old, new))
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('<group name="hand"/></group>', '<group name="all"/></group>', "group 'all' contains itself"),
        ('<group name="hand"/></group>', '<group name="foot"/></group>', "group 'foot' is not in it"),
        ('value="0.5"', 'value="much"', "state ready puts joint joint1 at 'much', must be a finite number"),
        ('value="0.5"', 'value="nan"', "state ready puts joint joint1 at 'nan', must be a finite number"),
        ('parent_group="arm"', 'parent_group="am"', "parent_group of end_effector hand is am; did you mean arm?"),
    ],
)
def test_what_is_wrong_in_an_srdf_is_named(old: str, new: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        read(tmp_path, SRDF.replace(old, new))
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("text", "said"), [("import os", "^SRDF .* is not XML"), ("<sdf/>", "is no SRDF: its outermost element is <sdf>")]
)
def test_what_is_no_srdf_is_not_called_a_urdf(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=said):
        read(tmp_path, text)


def test_a_urdf_is_no_srdf(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a URDF, as it has links"):
        read(tmp_path, SMALL)

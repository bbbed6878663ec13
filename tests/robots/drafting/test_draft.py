"""What a URDF and an SRDF tell is in the draft, what they do not tell is listed as unknown, and the draft loads."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tendon.core.errors import ConfigError
from tendon.robots.drafting.draft import Draft, draft_profile
from tendon.robots.drafting.text import profile_text
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile, load_profile
from tests.robots.small_robots import ARM, HAND, LIMIT, MIMIC, SMALL, SRDF, joint, link, robot, write

ALWAYS = {"acceleration", "jerk", "tracking_tolerance", "workspace", "controllers", "cameras"}


def draft(folder: Path, urdf: str = SMALL, srdf: str = "") -> Draft:
    return draft_profile("small", write(folder, urdf), write(folder, srdf, "small.srdf") if srdf else None)


def profile_of(folder: Path, urdf: str = SMALL, srdf: str = "") -> RobotProfile:
    return draft(folder, urdf, srdf).profile


class TestOfTheUrdfAlone:
    def test_the_longest_chain_is_the_arm_and_what_is_called_a_finger_is_none_of_it(self, tmp_path: Path) -> None:
        profile = profile_of(tmp_path)
        assert profile.groups == {"arm": ("joint1", "joint2", "joint3"), "gripper": ("left_finger_joint",)}
        assert (profile.base_frame, profile.tool_frame) == ("base", "tcp")

    def test_limits_are_the_urdfs_and_a_finger_is_not_watched(self, tmp_path: Path) -> None:
        first, *_, finger = profile_of(tmp_path).joints
        assert (first.lower, first.upper, first.velocity) == (-2.0, 2.5, 1.5)
        assert first.tracking_tolerance is not None and finger.tracking_tolerance is None

    def test_a_gripper_on_rails_is_told_whole(self, tmp_path: Path) -> None:
        (gripper,) = profile_of(tmp_path).grippers
        assert (gripper.joint, gripper.fingers) == ("left_finger_joint", ("left_finger", "right_finger"))
        assert (gripper.open, gripper.closed, gripper.width, gripper.effort) == (0.03, 0.0, 0.06, 20.0)
        assert gripper.frame == "tcp"

    def test_fingers_that_close_across_the_tool_frame_are_not(self, tmp_path: Path) -> None:
        turned = 'name="tcp_joint" type="fixed"><origin rpy="0 0 1" xyz'
        profile = profile_of(tmp_path, SMALL.replace(turned.replace('rpy="0 0 1" ', ""), turned))
        assert not profile.grippers and "grippers" in profile.unknown

    def test_two_fingers_without_a_mimic_are_two_joints_and_no_gripper(self, tmp_path: Path) -> None:
        profile = profile_of(tmp_path, SMALL.replace(MIMIC, ""))
        assert profile.groups["gripper"] == ("left_finger_joint", "right_finger_joint")
        assert not profile.grippers and "grippers" in profile.unknown

    def test_what_no_urdf_says_is_unknown(self, tmp_path: Path) -> None:
        assert set(profile_of(tmp_path).unknown) == ALWAYS | {"home"}

    def test_two_frames_at_the_end_make_the_tool_a_guess(self, tmp_path: Path) -> None:
        flange = link("flange", "") + joint("flange_joint", "wrist", "flange", kind="fixed", more="")
        profile = profile_of(tmp_path, robot(ARM, HAND, flange))
        assert profile.tool_frame == "tcp" and "tool_frame" in profile.unknown

    def test_a_continuous_joint_gets_a_turn_and_the_question_for_its_limits(self, tmp_path: Path) -> None:
        profile = profile_of(tmp_path, SMALL.replace('type="revolute"', 'type="continuous"'))
        assert profile.joints[0].lower == pytest.approx(-math.pi, abs=1e-5) and "position_limits" in profile.unknown

    def test_a_velocity_of_zero_is_nobodys(self, tmp_path: Path) -> None:
        profile = profile_of(tmp_path, SMALL.replace('velocity="1.5"', 'velocity="0"'))
        assert profile.joints[0].velocity == 0.5 and "velocity" in profile.unknown

    def test_a_joint_without_a_range_is_left_out_and_said(self, tmp_path: Path) -> None:
        stuck = joint("stuck", "base", "lamp", more=LIMIT.replace("-2", "0").replace("2.5", "0"))
        made = draft(tmp_path, robot(ARM, HAND, link("lamp"), stuck))
        assert "stuck" not in made.profile.joint_names and made.remarks[0].startswith("joint stuck is left out")

    def test_joints_beside_the_arm_are_asked_about(self, tmp_path: Path) -> None:
        profile = profile_of(tmp_path, robot(ARM, HAND, link("wheel"), joint("wheel_joint", "base", "wheel")))
        assert profile.unknown[0] == "joints"
        assert [c.joints for c in profile.controllers][-1] == ("wheel_joint",)

    def test_a_second_arm_is_said(self, tmp_path: Path) -> None:
        other = link("other_elbow") + link("other_wrist")
        bends = joint("other_1", "base", "other_elbow") + joint("other_2", "other_elbow", "other_wrist")
        (said,) = draft(tmp_path, robot(ARM, HAND, other, bends)).remarks
        assert said.startswith("other_1 to other_2 (2) are beside the arm") and "so101_pair" in said
        assert draft(tmp_path).remarks == ()

    def test_the_workspace_is_a_box_around_the_tool_at_home(self, tmp_path: Path) -> None:
        profile = profile_of(tmp_path)
        tool, _ = Kinematics(profile).tool_pose(profile.vector("home"))
        assert (tool > profile.workspace.lower).all() and (tool < profile.workspace.upper).all()

    def test_a_urdf_in_which_nothing_moves_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="has no joint that can move"):
            draft(tmp_path, robot(link("base")))


class TestWithAnSrdf:
    def test_home_and_arm_are_its_own(self, tmp_path: Path) -> None:
        made = draft(tmp_path, srdf=SRDF)
        assert made.profile.vector("home")[:3].tolist() == [0.5, -0.5, 1.0]
        assert "home" not in made.profile.unknown and made.remarks == ("home is the state ready of the SRDF",)

    def test_a_state_outside_the_limits_is_no_home(self, tmp_path: Path) -> None:
        made = draft(tmp_path, srdf=SRDF.replace('value="1"', 'value="3"'))
        assert "home" in made.profile.unknown
        assert "it puts joint3 at 3, and the URDF's limits are -2 and 2.5" in made.remarks[0]

    def test_its_groups_are_kept_but_those_that_mix_fingers_and_arm(self, tmp_path: Path) -> None:
        assert set(profile_of(tmp_path, srdf=SRDF).groups) == {"arm", "gripper", "forearm"}


def test_the_text_of_a_draft_loads_as_the_same_profile(tmp_path: Path) -> None:
    made = draft(tmp_path, srdf=SRDF)
    text = profile_text(made, "small.urdf", "small.urdf", "../profile.schema.json")
    loaded = load_profile(write(tmp_path, text, "profile.yaml"))
    assert text.startswith("# yaml-language-server: $schema=../profile.schema.json\n")
    for name in ("joints", "groups", "controllers", "workspace", "grippers", "unknown", "tool_frame"):
        assert getattr(loaded, name) == getattr(made.profile, name)


def test_a_name_that_yaml_reads_as_something_else_is_quoted(tmp_path: Path) -> None:
    text = profile_text(draft(tmp_path, SMALL.replace('"tcp"', '"no"')), "small.urdf", "small.urdf", "schema")
    assert load_profile(write(tmp_path, text, "profile.yaml")).tool_frame == "no"


@pytest.mark.parametrize("named", [False, True])
def test_the_hand_of_another_arm_is_a_gripper_too_so_that_the_draft_loads(named: bool, tmp_path: Path) -> None:
    """Its fingers have no tracking tolerance, which only joints of grippers may lack."""
    other = link("other_elbow") + joint("other_1", "base", "other_elbow")
    hand = link("other_tip") + joint("other_finger_joint", "other_elbow", "other_tip")
    group = '<group name="other_hand"><joint name="other_finger_joint"/></group>'
    srdf = SRDF.replace("</robot>", f"{group}</robot>") if named else ""
    made = draft(tmp_path, robot(ARM, HAND, other, hand), srdf)
    assert made.profile.groups["other_hand_gripper" if named else "other_gripper"] == ("other_finger_joint",)
    text = profile_text(made, "small.urdf", "small.urdf", "schema")
    assert load_profile(write(tmp_path, text, "profile.yaml")).groups == made.profile.groups

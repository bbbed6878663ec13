"""Where the joints go: no jump at any press, no joint faster than it may be, nothing beyond limits and reach."""

from __future__ import annotations

from functools import cache

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.core.errors import ConfigError
from tendon.core.types import Array
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile, load_profile
from tendon.teleop.axis_map import Intent
from tendon.teleop.motion import SPEED_SHARE, ArmMotion, ToolMotion
from tests.laws import law_settings

ARMS = (("panda", "arm"), ("so101", "arm"), ("panda_pair", "left_arm"), ("ur5e", "arm"))
TWISTS = st.lists(st.floats(-1.0, 1.0), min_size=6, max_size=6).map(lambda each: np.array(each) * [0.3] * 6)


@cache
def profile_of(robot: str) -> RobotProfile:
    return load_profile(robot)


@cache
def motion_of(robot: str, group: str) -> ToolMotion:
    return ToolMotion(profile_of(robot), group)


def wants(twist: Array, gripper: float = 0.0, in_tool: bool = False) -> Intent:
    return Intent(held=True, twist=np.asarray(twist, dtype=np.float64), gripper=gripper, in_tool=in_tool)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["move", "move", "move", "engage", "elsewhere"]),
        st.lists(st.floats(-1.0, 1.0), min_size=6, max_size=6),
        st.floats(-2.0, 2.0),
        st.floats(0.001, 0.08),
        st.booleans(),
    ),
    max_size=30,
)


@pytest.mark.parametrize(("robot", "group"), ARMS)
@given(steps=STEPS)
@law_settings(40)
def test_the_target_is_continuous_under_any_sequence_of_presses_twists_and_rates(
    robot: str, group: str, steps: list[tuple[str, list[float], float, float, bool]]
) -> None:
    """Each step stays within the speed of every joint, a press changes nothing, and limits hold."""
    profile, motion = profile_of(robot), motion_of(robot, group)
    fastest, lower, upper = (profile.vector(each) for each in ("velocity", "lower", "upper"))
    gripper = [motion.fingers.column] if motion.fingers.column is not None else []
    arm = [column for column in motion.columns if column not in gripper]
    here = np.array(profile.vector("home"))
    motion.engage(here, wants(np.zeros(6)))
    for what, twist, grip, step_s, in_tool in steps:
        if what == "elsewhere":  # the robot rests somewhere else: it was held back, or moved on
            here = np.clip(here + 0.05 * np.array([*twist, *twist, *twist])[: len(here)], lower, upper)
        if what != "move":
            motion.engage(here, wants(np.zeros(6)))
            assert (motion.step(wants(np.zeros(6)), step_s) == here).all(), "a press moves nothing"
        target = motion.step(wants(np.array(twist), grip, in_tool), step_s)
        change = np.abs(target - here)
        assert (change[arm] <= SPEED_SHARE * fastest[arm] * step_s + 1e-9).all()
        assert (change[gripper] <= fastest[gripper] * step_s + 1e-9).all()
        assert (target >= lower - 1e-9).all() and (target <= upper + 1e-9).all()
        others = np.delete(np.arange(len(here)), motion.columns)
        assert (target[others] == here[others]).all()
        here = target


@pytest.mark.parametrize("axis", range(6))
def test_a_tool_that_is_led_along_an_axis_keeps_to_it(axis: int) -> None:
    motion, home = motion_of("panda", "arm"), profile_of("panda").vector("home")
    twist = np.zeros(6)
    twist[axis] = 0.2
    motion.engage(home, wants(twist))
    (before, turned), target = motion.pose(home), home
    for _ in range(40):
        target = motion.step(wants(twist), 0.02)
    after, now = motion.pose(target)
    moved = np.concatenate([after - before, pin.log3(now @ turned.T)])
    assert moved[axis] == pytest.approx(0.2 * 0.8, rel=0.15), "less what it takes to come to speed"
    assert np.abs(np.delete(moved, axis)).max() < 2e-3


@pytest.mark.parametrize(("robot", "lost"), [("panda", ()), ("ur5e", ()), ("so101", ("x",))])
def test_an_arm_of_five_joints_says_which_turn_it_lacks(robot: str, lost: tuple[str, ...]) -> None:
    motion = motion_of(robot, "arm")
    assert motion.lost_axes(profile_of(robot).vector("home")) == lost


def test_an_arm_of_five_joints_goes_to_the_place_and_turns_as_it_must() -> None:
    motion, home = motion_of("so101", "arm"), profile_of("so101").vector("home")
    for axis in range(3):
        twist = np.zeros(6)
        twist[axis] = 0.1
        motion.engage(home, wants(twist))
        (before, _), target = motion.pose(home), home
        for _ in range(25):
            target = motion.step(wants(twist), 0.02)
        moved = motion.pose(target)[0] - before
        assert moved[axis] == pytest.approx(0.046, abs=0.003) and np.abs(np.delete(moved, axis)).max() < 1e-3


def test_beyond_its_reach_the_tool_waits_there_and_comes_back_at_once() -> None:
    motion, home = motion_of("panda", "arm"), profile_of("panda").vector("home")
    motion.engage(home, wants(np.zeros(6)))
    target, notes = home, set()
    for _ in range(500):
        target = motion.step(wants(np.array([0.3, 0, 0.3, 0, 0, 0])), 0.02)
        notes.add(motion.note)
    far = motion.pose(target)[0]
    assert far[0] <= profile_of("panda").workspace.upper[0] + 1e-6
    for _ in range(40):
        target = motion.step(wants(np.array([-0.3, 0, -0.3, 0, 0, 0])), 0.02)
    assert motion.pose(target)[0][0] < far[0] - 0.01, "nothing was wound up"


def test_a_tool_that_has_to_stay_goes_on_from_there_and_from_rest() -> None:
    motion, home = motion_of("panda", "arm"), profile_of("panda").vector("home")
    motion.engage(home, wants(np.zeros(6)))
    for _ in range(40):
        before = motion.step(wants(np.array([0, 0.3, 0, 0, 0, 0])), 0.02)
    motion.stay(home)
    after = motion.step(wants(np.array([0, 0.3, 0, 0, 0, 0])), 0.02)
    assert np.abs(after - home).max() < 0.01 < np.abs(before - home).max()


def test_each_hand_of_a_pair_leads_its_own_tool() -> None:
    profile = profile_of("panda_pair")
    left, right = motion_of("panda_pair", "left_arm"), motion_of("panda_pair", "right_arm")
    assert not set(left.columns) & set(right.columns) and len(left.columns) == len(right.columns) == 8
    home = profile.vector("home")
    tool = Kinematics(profile, "left_panda_hand_tcp", "left_arm").tool_pose(home)[0]
    assert np.allclose(left.pose(home)[0], tool) and np.allclose(right.pose(home)[0], tool * [1, -1, 1], atol=1e-6)


@given(
    moves=st.lists(
        st.tuples(
            st.sampled_from(["move", "engage"]), st.lists(st.floats(-7, 7), min_size=5, max_size=5), st.floats(0, 9)
        ),
        max_size=20,
    )
)
@law_settings(40)
def test_a_followed_arm_never_jumps_whatever_its_leader_does(moves: list[tuple[str, list[float], float]]) -> None:
    profile = profile_of("so101")
    motion = ArmMotion(profile, "arm", {}, {"gripper": (-0.17453, 1.0)})
    names = profile.joint_names[:5]
    here, gripper = np.array(profile.vector("home")), profile.joint_names.index("gripper")
    fastest = profile.vector("velocity")
    motion.engage(here, Intent(held=True, twist=np.zeros(6), joints=dict.fromkeys([*names, "gripper"], 0.5)))
    for what, joints, opening in moves:
        intent = Intent(
            held=True, twist=np.zeros(6), joints={**dict(zip(names, joints, strict=True)), "gripper": opening}
        )
        if what == "engage":
            motion.engage(here, intent)
        target = motion.step(intent, 0.02)
        change = np.abs(target - here)
        if what == "engage":
            assert not np.delete(change, gripper).any(), "a press moves no joint of the arm"
        assert (change <= fastest * 0.02 + 1e-9).all()
        assert (target >= profile.vector("lower") - 1e-9).all() and (target <= profile.vector("upper") + 1e-9).all()
        here = target


def test_joints_of_a_leader_are_found_by_name_by_order_and_by_map() -> None:
    profile, home = profile_of("so101"), profile_of("so101").vector("home")

    def follow(given: dict[str, float], joints: dict[str, str]) -> Array:
        motion = ArmMotion(profile, "arm", joints)
        motion.engage(home, Intent(held=True, twist=np.zeros(6), joints=given))
        moved = {name: value + 0.01 for name, value in given.items()}
        return motion.step(Intent(held=True, twist=np.zeros(6), joints=moved), 0.02) - home

    names = profile.joint_names[:5]
    assert np.allclose(follow(dict.fromkeys(names, 0.0), {})[:5], 0.01)
    assert np.allclose(follow(dict.fromkeys("abcde", 0.0), {})[:5], 0.01)
    assert np.allclose(follow(dict.fromkeys("abcde", 0.0), {"wrist_roll": "-e"})[:5], [0.01] * 4 + [-0.01])
    with pytest.raises(ConfigError, match="no joint for shoulder_pan, it has a, b: say which under `joints`"):
        follow(dict.fromkeys("ab", 0.0), {})

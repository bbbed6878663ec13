"""Statistics tell the unit: degrees taken for radians and their like are refused before anything moves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.core.errors import MismatchError
from tendon.core.types import Array
from tendon.policies.adapter.plausibility import check_statistics
from tendon.policies.spec.components import SHARE_UNITS, JointComponent
from tendon.policies.spec.spaces import ActionSpace, StateItem
from tendon.robots.profile import RobotProfile, load_profile
from tests.laws import law_settings
from tests.policies.conftest import build_manifest

SO101 = load_profile("so101")
PANDA = load_profile("panda")


def words(profile: RobotProfile, unit: str, gripper: str) -> tuple[JointComponent, ...]:
    names = profile.groups["gripper"]
    opened = dict.fromkeys(names, SHARE_UNITS[gripper][1] if gripper in SHARE_UNITS else None)
    return tuple(
        JointComponent(joint=name, unit=gripper, open=opened[name])
        if name in names
        else JointComponent(joint=name, unit=unit)
        for name in profile.joint_names
    )


def numbers(profile: RobotProfile, spoken: tuple[JointComponent, ...], seed: int, mode: str) -> tuple[Any, Any]:
    """Mean and std of a dataset of this robot in these units: motions that use a good part of each joint."""
    rng = np.random.default_rng(seed)
    lower, upper = profile.vector("lower"), profile.vector("upper")
    start, end = rng.uniform(lower, upper, (2, len(lower)))
    furthest = np.where(start > (lower + upper) / 2, lower, upper)
    end = np.where(np.abs(end - start) < 0.2 * (upper - lower), furthest, end)
    share = 0.5 - 0.5 * np.cos(np.linspace(0, 6 * np.pi, 200))[:, None]
    joints = start + share * (end - start)
    affine = np.array([word.affine(a, b) for word, a, b in zip(spoken, lower, upper, strict=True)])
    data = (joints - affine[:, 1]) / affine[:, 0]
    if mode == "mean_std":
        return data.mean(0), data.std(0) + 1e-6
    return (data.max(0) + data.min(0)) / 2, (data.max(0) - data.min(0)) / 2 + 1e-6


def check(profile: RobotProfile, said: tuple[JointComponent, ...], mean: Array, std: Array, **action: Any) -> None:
    """In the action and, when they are absolute, in the state."""
    values: dict[str, Any] = {"space": "joint_position", "relative_to": "nothing"} | action
    size = len(said)
    space = ActionSpace(rows=8, step_s=0.1, joints=said, mean=tuple(mean), std=tuple(std), **values)
    check_statistics(build_manifest(robot=profile.name, joint_names=profile.joint_names, action=space), profile)
    if values["space"] == "joint_position" and values["relative_to"] == "nothing":
        item = StateItem(name="joints", joints=said)
        relative = replace(space, mean=(0.0,) * size, std=(1.0,) * size)
        manifest = build_manifest(
            robot=profile.name, joint_names=profile.joint_names, action=relative,
            state=(item,), state_mean=tuple(mean), state_std=tuple(std),
        )  # fmt: skip
        check_statistics(manifest, profile)


@pytest.mark.parametrize("mode", ["mean_std", "min_max"])
@pytest.mark.parametrize(
    ("unit", "gripper"),
    [("rad", "fraction"), ("deg", "percent"), ("signed_percent", "percent"), ("signed_fraction", "rad")],
)
@law_settings(max_examples=20)
@given(seed=st.integers(0, 2**16))
def test_what_is_right_passes(unit: str, gripper: str, mode: str, seed: int) -> None:
    """Data of the robot in the unit that the manifest says, whatever the normalisation."""
    spoken = words(SO101, unit, gripper)
    check(SO101, spoken, *numbers(SO101, spoken, seed, mode))


@pytest.mark.parametrize("mode", ["mean_std", "min_max"])
@pytest.mark.parametrize("robot", [SO101, PANDA], ids=["so101", "panda"])
@pytest.mark.parametrize(
    ("spoken", "said"),
    [("deg", "rad"), ("rad", "deg"), ("signed_percent", "rad"), ("rad", "signed_percent"), ("signed_fraction", "deg")],
)
@law_settings(max_examples=20)
@given(seed=st.integers(0, 2**16))
def test_a_unit_taken_for_another_is_refused(spoken: str, said: str, robot: RobotProfile, mode: str, seed: int) -> None:
    """In state and action, whatever the normalisation."""
    mean, std = numbers(robot, words(robot, spoken, "fraction"), seed, mode)
    with pytest.raises(MismatchError, match=r"would fit|need a look"):
        check(robot, words(robot, said, "fraction"), mean, std)


@pytest.mark.parametrize(("spoken", "said"), [("fraction", "percent"), ("percent", "fraction")])
@law_settings(max_examples=20)
@given(seed=st.integers(0, 2**16))
def test_a_gripper_in_percent_or_fraction(spoken: str, said: str, seed: int) -> None:
    """The other of the two is named."""
    mean, std = numbers(SO101, words(SO101, "rad", spoken), seed, "mean_std")
    with pytest.raises(MismatchError, match=f"gripper.*(unit {spoken}|rad).* would fit"):
        check(SO101, words(SO101, "rad", said), mean, std)


def test_the_message_says_what_would_fit() -> None:
    """Name, numbers, unit, bound, fix."""
    mean, std = np.array([10.0, -60.0, 60.0, 50.0, 5.0, 40.0]), np.array([20.0, 25.0, 25.0, 15.0, 30.0, 20.0])
    check(SO101, words(SO101, "deg", "percent"), mean, std)
    with pytest.raises(MismatchError, match=r"shoulder_pan has mean 10 and std 20 rad, a mean of 10 rad.*unit deg"):
        check(SO101, words(SO101, "rad", "percent"), mean, std)
    with pytest.raises(MismatchError, match=r"shoulder_pan, .*: unit is deg, but mean \+ std is at most .* unit rad"):
        check(SO101, words(SO101, "deg", "percent"), np.deg2rad(mean), np.deg2rad(std))


def test_a_wrong_sign_is_found_where_the_limits_are_lopsided() -> None:
    """The Panda's fourth joint is never positive."""
    mean, std = numbers(PANDA, words(PANDA, "rad", "m"), 3, "mean_std")
    mean = np.where(np.arange(8) == 3, 1.5, mean)
    with pytest.raises(MismatchError, match=r"panda_joint4 has mean 1.5 .* sign -1 would fit"):
        check(PANDA, words(PANDA, "rad", "m"), mean, std)


def test_speeds_are_held_against_the_fastest() -> None:
    """Degrees a second, taken for radians."""
    said = tuple(JointComponent(joint=name, unit="rad/s") for name in PANDA.joint_names[:7])
    said = (*said, JointComponent(joint="panda_finger_joint1", unit="fraction", open=0))
    mean, std = np.array([0.0] * 7 + [0.4]), np.array([0.4] * 7 + [0.45])
    check(PANDA, said, mean, std, space="joint_velocity", relative_to="")
    with pytest.raises(MismatchError, match=r"joint1 .* the joint's limit is 2.17: unit deg/s would fit"):
        check(PANDA, said, mean, np.array([20.0] * 7 + [0.45]), space="joint_velocity", relative_to="")


def test_differences_may_be_as_small_as_they_like() -> None:
    """Degrees from row to row are below pi; the gripper beside them is absolute and is looked at."""
    said = words(SO101, "deg", "percent")
    said = (*said[:5], replace(said[5], absolute=True))
    mean, std = np.array([0.0] * 5 + [30.0]), np.array([0.5] * 5 + [20.0])
    check(SO101, said, mean, std, relative_to="previous")
    with pytest.raises(MismatchError, match="gripper: unit is percent"):
        check(SO101, said, np.array([0.0] * 5 + [0.5]), np.array([0.5] * 5 + [0.4]), relative_to="previous")


def test_a_gripper_that_never_moved_is_no_evidence() -> None:
    """Closed all the time: 0 percent is 0 as a fraction too."""
    said = words(SO101, "deg", "percent")
    mean, std = np.array([10.0, -60.0, 60.0, 50.0, 5.0, 0.6]), np.array([20.0, 25.0, 25.0, 15.0, 30.0, 0.02])
    check(SO101, said, mean, std)


def test_no_statistics_are_no_evidence() -> None:
    """Mean 0 and std 1 change nothing; the exporter says them where there are none."""
    check(SO101, words(SO101, "deg", "percent"), np.zeros(6), np.ones(6))


def test_a_pose_in_millimetres_is_outside_the_workspace() -> None:
    """As are those in another base frame."""
    joints = (JointComponent(joint="panda_finger_joint1", unit="m"),)
    mean = np.array([450.0, 10.0, 200.0, 3.1, 0.0, 0.0, 0.02])
    common: dict[str, Any] = {"space": "tool_pose", "rotation": "axis_angle"}
    std = np.array([90.0] * 3 + [0.3] * 3 + [0.01])
    check(PANDA, joints, mean, std, **common, position_scale=0.001)
    with pytest.raises(MismatchError, match=r"mean \[450.0, 10.0, 200.0\] m, outside the workspace .* position_scale"):
        check(PANDA, joints, mean, std, **common)

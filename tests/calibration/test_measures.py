"""Latency, planes, joints: known answers, and each input that does not tell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendon.calibration.joints import direction, gripper_range, zero_from_jig, zero_from_limits
from tendon.calibration.latency import find_delay
from tendon.calibration.surface import plane_of_board, plane_through, write_environment
from tendon.calibration.transforms import Pose, exp, from_quaternion, log
from tendon.calibration.words import survival_6
from tendon.core.errors import CalibrationError
from tendon.core.types import Array
from tendon.robots.environment import load_environment
from tendon.robots.profile import load_profile

PANDA = load_profile("panda")


def wave(at: Array) -> Array:
    return np.asarray(0.1 * np.sin(4.1 * at) + 0.05 * np.sin(6.7 * at + 1))


@settings(max_examples=15, deadline=None)
@given(delay=st.floats(-0.2, 0.2), scale=st.sampled_from([-300.0, 2.0]))
def test_a_delay_is_found_within_two_milliseconds(delay: float, scale: float) -> None:
    rng = np.random.default_rng(0)
    said, seen = np.arange(0, 8, 0.01), np.arange(0, 8, 0.05)
    pictures = scale * (wave(seen - delay) + rng.normal(0, 0.002, len(seen))) + 100
    found = find_delay(said, wave(said), seen, pictures)
    assert abs(found.seconds - delay) < 0.002 and abs(found.seconds - delay) < 5 * found.deviation_s + 1e-4


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (lambda at: np.zeros_like(at), "nothing moves"),
        (lambda at: np.random.default_rng(1).normal(size=len(at)), "record the same motion"),
    ],
)
def test_what_is_no_motion_is_refused(seen: object, words: str) -> None:
    at = np.arange(0, 6, 0.03)
    with pytest.raises(CalibrationError, match=words):
        find_delay(at, wave(at), at, seen(at))  # type: ignore[operator]


def test_times_that_go_back_are_refused() -> None:
    at = np.arange(0, 6, 0.03)
    with pytest.raises(CalibrationError, match="times must rise"):
        find_delay(at[::-1], wave(at), at, wave(at))


def test_a_table_is_found_beside_a_wrong_touch_and_read_back_by_the_filter(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    normal = exp(np.array([0.02, -0.03, 0.0])) @ np.array([0.0, 0.0, 1.0])
    flat = np.array([[x, y, 0.0] for x in (0.3, 0.5, 0.7) for y in (-0.3, 0.0, 0.3)])
    points = flat + ((0.01 - flat @ normal) / normal[2])[:, None] * [0, 0, 1] + rng.normal(0, 2e-4, (9, 3)) * [0, 0, 1]
    points[4, 2] += 0.05
    found = plane_through(points)
    assert not found.kept[4] and found.kept.sum() == 8
    assert np.degrees(np.arccos(found.normal @ normal)) < 0.15 and abs(found.offset - 0.01) < 1e-3
    file = tmp_path / "mine.yaml"
    assert write_environment(found, file) is None
    assert write_environment(found, file) == tmp_path / "mine.before.yaml"
    (shape,) = load_environment(file).bodies["table"]
    np.testing.assert_allclose(shape.normal, found.normal, atol=1e-5)  # type: ignore[union-attr]


def test_touches_that_tell_no_plane_are_refused() -> None:
    with pytest.raises(CalibrationError, match="3 touch points"):
        plane_through(np.eye(3))
    with pytest.raises(CalibrationError, match="line"):
        plane_through(np.outer(np.arange(6.0), [0.1, 0.0, 0.0]))
    with pytest.raises(CalibrationError, match="further apart"):
        plane_through(np.random.default_rng(0).uniform(0, 0.02, (6, 3)) * [1, 1, 0])


def test_a_board_on_the_table_is_the_table() -> None:
    flat = Pose(rotation=exp(np.array([np.pi, 0.0, 0.0])), translation=np.array([0.5, 0.1, 0.012]))
    found = plane_of_board(flat, np.diag([1.0, 1.0, 1e-6, 4e-6, 1e-6, 1.0]), 0.012)
    np.testing.assert_allclose(found.normal, [0, 0, 1], atol=1e-9)
    assert abs(found.offset) < 1e-9
    assert found.height_m == pytest.approx(1e-3) and found.tilt_deg == pytest.approx(np.degrees(2e-3))


def test_a_joint_at_its_stops_tells_zero_and_sign() -> None:
    joint = PANDA.joints[0]
    found = zero_from_limits(joint, joint.lower + 0.05, joint.upper + 0.05)
    assert found.sign == 1 and abs(found.zero - 0.05) < 1e-9
    assert zero_from_limits(joint, joint.upper, joint.lower).sign == -1
    with pytest.raises(CalibrationError, match="both stops"):
        zero_from_limits(joint, joint.lower, 0.0)
    assert zero_from_jig(joint, 0.12, 0.1).zero == pytest.approx(0.02)
    with pytest.raises(CalibrationError, match="its limits are"):
        zero_from_jig(joint, 0.0, 9.0)
    with pytest.raises(CalibrationError, match="must be a number"):
        zero_from_jig(joint, float("nan"), 0.0)
    with pytest.raises(CalibrationError, match="both stops"):
        zero_from_limits(joint, float("nan"), joint.upper)


def test_a_small_motion_tells_the_direction() -> None:
    joint = PANDA.joints[0]
    assert direction(joint, 0.1, -0.1) == -1 and direction(joint, 0.1, 0.095) == 1
    with pytest.raises(CalibrationError, match="move it further"):
        direction(joint, 0.1, 0.001)
    with pytest.raises(CalibrationError, match="gear ratio"):
        direction(joint, 0.1, 0.3)
    with pytest.raises(CalibrationError, match="all the way"):
        gripper_range(PANDA.grippers[0], 0.02, 0.02)


@given(st.lists(st.floats(-3.1, 3.1), min_size=3, max_size=3).map(np.array))
def test_rotations_come_back_from_vectors_and_quaternions(vector: Array) -> None:
    rotation = exp(vector)
    np.testing.assert_allclose(exp(log(rotation)), rotation, atol=1e-6)
    pose = Pose(rotation=rotation, translation=np.zeros(3))
    np.testing.assert_allclose(from_quaternion(*pose.quaternion), rotation, atol=1e-6)


def test_confidence_is_that_of_the_chi_squared_distribution() -> None:
    assert survival_6(12.5916) == pytest.approx(0.05, abs=1e-4) and survival_6(0.0) == 1.0


def touches(seed: int, count: int = 8, noise_m: float = 1e-3) -> Array:
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(0.3, 0.7, count), rng.uniform(-0.2, 0.2, count)
    return np.column_stack([x, y, rng.normal(0.1, noise_m, count)])


def test_what_is_said_of_a_table_holds_as_often_as_it_says() -> None:
    """Good points were thrown away, and the rest said 95 % of what held in 69."""
    high = tilted = 0
    for seed in range(400):
        points = touches(seed)
        found = plane_through(points)
        middle = points.mean(axis=0)
        high += abs((found.offset - found.normal[:2] @ middle[:2]) / found.normal[2] - 0.1) <= found.height_95_m
        tilted += np.degrees(np.arccos(min(1.0, found.normal[2]))) <= found.tilt_95_deg
    assert high >= 0.92 * 400 and tilted >= 0.92 * 400


def test_touches_in_other_units_or_of_several_things_are_no_table() -> None:
    """A table was written 0.6 m below the real one."""
    with pytest.raises(CalibrationError, match=r"m from the base, at most 5: write metres"):
        plane_through(1000 * touches(0))
    with pytest.raises(CalibrationError, match=r"only \d of 8 touch points lie within 10 mm of one plane"):
        plane_through(touches(0, noise_m=0.06))


@pytest.mark.parametrize("hz", [1.0, 1.25, 1.5, 2.0])
def test_a_motion_that_repeats_itself_tells_no_delay(hz: float) -> None:
    """It was half a period off, +-0.3 ms."""
    at, seen, rng = np.arange(0, 12, 0.01), np.arange(0.3, 11.7, 1 / 30), np.random.default_rng(1)
    with pytest.raises(CalibrationError, match="the motion repeats itself; wave slower, and not the same way"):
        find_delay(
            at,
            np.sin(2 * np.pi * hz * at) + rng.normal(0, 1e-3, at.size),
            seen,
            np.sin(2 * np.pi * hz * (seen - 0.06)) + rng.normal(0, 5e-3, seen.size),
        )

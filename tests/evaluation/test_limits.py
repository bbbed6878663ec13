"""Broken limits are counted by the profile's numbers, and a motion inside them has none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tendon.evaluation.limits import measured_beyond, worst_of
from tendon.evaluation.motion import Motion
from tendon.robots.profile import load_profile

PROFILE = load_profile("panda")
COUNT = len(PROFILE.joint_names)
HZ = 300


def swing(amplitude_rad: float = 0.2, frequency_hz: float = 0.5) -> Motion:
    """Returns two seconds in which the first joint swings, slowly enough for every limit."""
    t = np.arange(2 * HZ) / HZ
    position, velocity = np.tile(PROFILE.vector("home"), (len(t), 1)), np.zeros((len(t), COUNT))
    turn = 2 * np.pi * frequency_hz
    position[:, 0] += amplitude_rad * np.sin(turn * t)
    velocity[:, 0] = amplitude_rad * turn * np.cos(turn * t)
    return Motion(profile=PROFILE, time_ns=np.round(1e9 * t).astype(np.int64), position=position, velocity=velocity)


def test_a_slow_swing_breaks_nothing_and_says_how_near_it_came() -> None:
    worst = worst_of(swing())
    assert worst.broken == 0 and worst.position == 0.0
    assert worst.velocity == pytest.approx(0.2 * np.pi / PROFILE.vector("velocity")[0], rel=1e-3)
    assert worst.acceleration == pytest.approx(0.2 * np.pi**2 / PROFILE.vector("acceleration")[0], rel=1e-2)


@pytest.mark.parametrize(
    ("name", "motion"),
    [
        ("velocity", swing(amplitude_rad=0.9)),
        ("acceleration", swing(amplitude_rad=0.1, frequency_hz=3.0)),
        ("jerk", swing(amplitude_rad=0.04, frequency_hz=10.0)),
    ],
)
def test_each_law_is_counted(name: str, motion: Motion) -> None:
    worst = worst_of(motion)
    assert worst.broken > 0 and getattr(worst, name) > 1.0


def test_a_jump_between_two_samples_is_a_broken_jerk_though_each_sample_is_inside() -> None:
    motion = swing()
    position = motion.position.copy()
    position[HZ:, 0] += 0.001
    assert worst_of(replace(motion, position=position)).jerk > 1.0


def test_outside_a_position_limit_is_broken_but_not_for_who_begins_there() -> None:
    motion = swing(amplitude_rad=0.0)
    position = motion.position.copy()
    position[:, 3] = PROFILE.vector("upper")[3] + 0.1
    assert worst_of(replace(motion, position=position)).broken == 0
    position[0, 3] = PROFILE.vector("home")[3]
    assert worst_of(replace(motion, position=position)).position == pytest.approx(0.1)


def test_nothing_commanded_breaks_nothing() -> None:
    nothing = np.zeros((0, COUNT))
    none = Motion(profile=PROFILE, time_ns=np.zeros(0, np.int64), position=nothing, velocity=nothing)
    assert worst_of(none).broken == 0


def test_what_was_measured_beyond_is_named() -> None:
    position, velocity = np.tile(PROFILE.vector("home"), (5, 1)), np.zeros((5, COUNT))
    assert measured_beyond(PROFILE, position, velocity) == ""
    velocity[2, 1] = -3.0
    assert measured_beyond(PROFILE, position, velocity) == "panda_joint2 was measured at -3.000 a second, limit 2.175"
    position[4, 3] = 0.2
    assert "panda_joint4 was measured at 0.2000, allowed are -3.0718 to" in measured_beyond(PROFILE, position, velocity)


def test_a_finger_may_bounce() -> None:
    position, velocity = np.tile(PROFILE.vector("home"), (5, 1)), np.zeros((5, COUNT))
    velocity[:, PROFILE.joint_names.index("panda_finger_joint1")] = 5.0
    assert measured_beyond(PROFILE, position, velocity) == ""


def test_what_is_no_number_is_not_inside() -> None:
    motion = swing(amplitude_rad=0.0)
    velocity = motion.velocity.copy()
    velocity[HZ, 2] = np.nan
    assert worst_of(replace(motion, velocity=velocity)).broken > 0
    assert "panda_joint3 was measured at nan" in measured_beyond(PROFILE, motion.position, velocity)

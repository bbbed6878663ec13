"""Whether a robot stands, by where it was measured: coarse encoders, slow buses, drivers that say 0 of every speed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tendon.robots.profile import load_profile
from tendon.robots.rest import LOOK_BACK_NS, PositionRest

SECOND = 1_000_000_000
STEP = 2 * np.pi / 4096
SO101 = load_profile("so101")


def slow(limit: float) -> PositionRest:
    """Of a robot all of whose joints have this speed limit [rad/s]."""
    return PositionRest(replace(SO101, joints=tuple(replace(joint, velocity=limit) for joint in SO101.joints)))


def told(rest: PositionRest, hz: float, position: list[float]) -> list[bool]:
    """What is said of a first joint that is measured at these places, one after the other."""
    answers = []
    for k, place in enumerate(position):
        where = np.zeros(len(SO101.joints))
        where[0] = place
        answers.append(rest.stands(where, round(k * SECOND / hz)))
    return answers


def test_an_encoder_that_flickers_by_a_step_stands() -> None:
    flicker = [STEP * (k % 3 == 0) for k in range(200)]
    assert all(told(slow(0.5), 100.0, flicker))


@pytest.mark.parametrize("hz", [3.0, 12.0, 100.0, 500.0])
def test_motion_is_seen_at_each_rate_and_rest_again_after_it(hz: float) -> None:
    times_s = np.arange(0.0, 4.0, 1.0 / hz)
    limit = 2.0
    answers = told(slow(limit), hz, (0.2 * limit * np.clip(times_s - 1.0, 0.0, 1.0)).tolist())
    rests = LOOK_BACK_NS / SECOND + 1.0 / hz
    for time_s, stands in zip(times_s, answers, strict=True):
        if time_s <= 1.0 or time_s > 2.0 + rests:
            assert stands, time_s
        elif 1.0 + rests < time_s <= 2.0:
            assert not stands, time_s


def test_a_clock_that_goes_back_begins_anew() -> None:
    rest = slow(2.0)
    where = np.zeros(len(SO101.joints))
    assert rest.stands(where, SECOND)
    assert rest.stands(where + 1.0, SECOND // 2)

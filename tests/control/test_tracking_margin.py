"""A robot that is not where it was told to be keeps its margins where it is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.control.clearance.model import LEAST_M, Clearance
from tendon.control.controller import Controller
from tendon.control.filter import SafetyFilter
from tendon.core.types import Array, Observation
from tendon.robots.environment import load_environment
from tests.control.limits_checker import PROFILE, make_chunk
from tests.control.robot_side import Robot
from tests.laws import law_settings

CLEARANCE = Clearance(PROFILE, load_environment("tabletop"))
HOME, ARM = PROFILE.vector("home"), np.array([1.0] * 7 + [0.0])
TABLE = next(k for k, name in enumerate(CLEARANCE.names) if name.startswith("panda_hand - table"))
DOWN = HOME + np.array([0.0, 0.8, 0.0, -0.1, 0.0, 0.56, 0.0, 0.0])
"""Through the table."""
SAG = np.array([0.0, 0.03, 0.0, -0.01, 0.0, 0.02, 0.0, 0.0])
"""Of a robot under a load: 2 cm at the hand."""


def down(away: Array | None, told: bool) -> Array:
    """Returns (m,) the smallest room beyond the margins of a robot that stays (8,) away and is led into the table."""
    filter_ = SafetyFilter(PROFILE, CLEARANCE)
    filter_.reset(HOME)
    room = np.full(len(CLEARANCE.names), np.inf)
    for _ in range(300):
        filter_.away = away if told else None
        found = filter_.step(DOWN).position + (0.0 if away is None else away)
        room = np.minimum(room, CLEARANCE.distances(found) - CLEARANCE.margin)
    return room


def test_a_robot_that_hangs_below_its_reference_keeps_the_margin_of_the_table() -> None:
    assert down(SAG, told=False).min() < -0.009  # as it was: nearly the whole margin of a centimetre gone
    assert down(SAG, told=True).min() >= -1e-9
    assert down(None, told=True).min() >= -1e-9


def test_one_that_is_further_than_its_reference_goes_as_near_with_it_as_any_other() -> None:
    above = down(-SAG, told=True)
    assert above[TABLE] > 0.01 and (down(None, told=True) >= -1e-9).all()


@law_settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1))
def test_an_offset_that_does_not_matter_changes_no_distance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    q = rng.uniform(PROFILE.vector("lower"), PROFILE.vector("upper"))
    away = rng.uniform(-0.08, 0.08, 8) * ARM * rng.choice([0.001, 0.01, 1.0])
    changed = np.abs(CLEARANCE.distances(q + away) - CLEARANCE.distances(q)).max()
    assert CLEARANCE.matters(away) or changed <= LEAST_M
    assert not CLEARANCE.matters(None) and not CLEARANCE.matters(np.zeros(8))


def test_a_robot_inside_a_margin_does_not_let_its_reference_in() -> None:
    """Both counted as one, it was led 7.5 mm into the margin that it had kept: as deep as the robot was in already."""
    start = np.array([-0.5904845, 1.67970715, 2.44948062, -2.68596681, 1.97949592, 1.00991211, 1.43645897, 0.0298021])
    away = np.array([0.00789668, 0.06366698, 0.07335871, -0.07687418, -0.07940584, -0.10675212, -0.03583924, 0.0])
    target = np.array([-0.33298836, 1.7628, 1.88393163, -2.90279636, 1.20519212, 1.04058135, 1.04294767, 0.04])
    inside = CLEARANCE.distances(start + away) - CLEARANCE.margin
    filter_ = SafetyFilter(PROFILE, CLEARANCE)
    filter_.reset(start)
    for _ in range(120):
        filter_.away = away
        position = filter_.step(target).position
        assert (CLEARANCE.distances(position) >= CLEARANCE.margin - 1e-9).all()
        room = CLEARANCE.distances(position + away) - CLEARANCE.margin
        assert (room >= np.minimum(inside, 0.0) - 1e-8).all()


@law_settings(max_examples=12)
@given(seed=st.integers(0, 2**32 - 1))
def test_wherever_it_is_led_both_the_reference_and_the_robot_keep_clear(seed: int) -> None:
    rng = np.random.default_rng(seed)
    filter_, away = SafetyFilter(PROFILE, CLEARANCE), rng.uniform(-0.04, 0.04, 8) * ARM
    filter_.reset(_clear_from(rng, away))
    for k in range(150):
        if k % 30 == 0:
            target = rng.uniform(PROFILE.vector("lower"), PROFILE.vector("upper"))
        filter_.away = away
        verdict = filter_.step(target)
        for position in (verdict.position, verdict.stop.position[-1]):
            for found in (position, position + away):
                assert (CLEARANCE.distances(found) >= CLEARANCE.margin - 1e-9).all()


@pytest.mark.parametrize("joint", range(7))
def test_a_loaded_joint_is_seen_by_the_control_loop(joint: int) -> None:
    robot = Robot()
    robot.controller = Controller(PROFILE, clearance=CLEARANCE, held=HOME)
    robot.tick()
    robot.arm()
    robot.controller.submit(make_chunk(np.tile(HOME, (8, 1)), robot.now_ns), robot.now_ns)
    robot.offset[joint] = 0.03
    tick = robot.tick()
    (given_,) = tick.inputs
    assert given_.away is not None and given_.away[joint] == pytest.approx(0.03, abs=1e-4)
    assert np.abs(np.delete(given_.away, joint)).max() < 1e-4


def test_armed_anew_it_is_measured_anew() -> None:
    controller = Controller(PROFILE, clearance=CLEARANCE, held=HOME)
    still = np.zeros(8)
    controller.tick(10**9, Observation(stamp_ns=10**9, joint_position=HOME, joint_velocity=still))
    controller.arm()
    first = controller.tick(
        10**9 + 10**7, Observation(stamp_ns=10**9 + 10**7, joint_position=HOME, joint_velocity=still)
    )
    assert all(each.away is None or not each.away.any() for each in first.inputs)


def _clear_from(rng: np.random.Generator, away: Array) -> Array:
    while True:
        q = rng.uniform(PROFILE.vector("lower"), PROFILE.vector("upper"))
        if all((CLEARANCE.distances(each) > CLEARANCE.margin).all() for each in (q, q + away)):
            return q

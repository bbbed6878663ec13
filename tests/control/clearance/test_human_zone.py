"""People: the robot rests before they can reach it, and goes on when they have left."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tendon.control.clearance.model import Clearance
from tendon.control.clearance.people import HumanZone
from tendon.control.filter import SafetyFilter
from tendon.core.errors import ConfigError, InvalidDataError
from tendon.robots.profile import Human
from tests.control.limits_checker import PROFILE

HUMAN = Human(topic="people", radius=0.3, speed=1.6, separation=0.1, uncertainty=0.05)
HOME = PROFILE.vector("home")
FAR, NEAR = np.array([6.0, 0.0, 0.5]), np.array([1.1, 0.0, 0.5])
MS = 1_000_000
FRAME, LEAD_NS = PROFILE.base_frame, 40 * MS


def make() -> tuple[SafetyFilter, HumanZone]:
    clearance = Clearance(PROFILE)
    filter_, zone = SafetyFilter(PROFILE, clearance), HumanZone(clearance, HUMAN, FRAME, LEAD_NS, PROFILE.safety)
    filter_.guards = (zone,)
    filter_.reset(HOME)
    return filter_, zone


def speed(filter_: SafetyFilter, zone: HumanZone, begin_ns: int, ticks: int = 60) -> float:
    """Runs back and forth and returns the speed at the end."""
    fastest = 0.0
    for k in range(ticks):
        zone.pass_time(begin_ns + k * 10 * MS)
        target = HOME.copy()
        target[0] += 1.0 if (k // 40) % 2 == 0 else -1.0
        fastest = float(np.abs(filter_.step(target).velocity).max())
    return fastest


def test_it_moves_with_people_far_away_or_none_and_rests_when_one_is_near() -> None:
    filter_, zone = make()
    zone.see([FAR], 0, FRAME, 0)
    assert speed(filter_, zone, 0, 30) > 0.5
    zone.see([FAR, NEAR], 300 * MS, FRAME, 300 * MS)
    assert speed(filter_, zone, 300 * MS, 40) == 0.0
    zone.see([], 700 * MS, FRAME, 700 * MS)
    assert speed(filter_, zone, 700 * MS, 15) > 0.5


def test_people_are_as_old_as_the_exposure_that_they_were_seen_in() -> None:
    """By a camera that stamps 100 ms after it: they have come nearer meanwhile, and are too old sooner."""
    clearance = Clearance(PROFILE)
    moves = {}
    for late_ms in (0, 100):
        filter_ = SafetyFilter(PROFILE, clearance)
        zone = HumanZone(clearance, HUMAN, FRAME, LEAD_NS, PROFILE.safety, late_ms * MS)
        filter_.guards = (zone,)
        filter_.reset(HOME)
        zone.see([], 0, FRAME, 0)
        moves[late_ms] = speed(filter_, zone, 450 * MS, 4) > 0.0
        with pytest.raises(InvalidDataError, match="not newer than the last"):
            zone.see([], 0, FRAME, 450 * MS)
    assert moves == {0: True, 100: False}


def test_it_does_not_move_before_people_were_looked_for_nor_when_that_is_long_ago() -> None:
    filter_, zone = make()
    assert speed(filter_, zone, 0) == 0.0
    zone.see([], 0, FRAME, 0)
    assert speed(filter_, zone, 0, 40) > 0.5
    assert speed(filter_, zone, 600 * MS, 60) == 0.0
    assert "for 500 ms" in filter_.step(HOME + 0.1).reasons[-1]


@pytest.mark.parametrize("latency_ms", [0, 100, 300])
@pytest.mark.parametrize("error", [0.0, 0.05])
def test_it_has_come_to_rest_before_a_person_walking_up_arrives(latency_ms: int, error: float) -> None:
    """However late it hears of him, and when he is nearer than it hears by as much as the profile says."""
    filter_, zone = make()
    walked = []
    for k in range(300):
        now_ns = k * 10 * MS
        person = np.array([3.0 - HUMAN.speed * now_ns * 1e-9, 0.0, 0.5])
        walked.append(person)
        if (then := k - latency_ms // 10) >= 0:
            zone.see([walked[then] + [error, 0.0, 0.0]], then * 10 * MS, FRAME, now_ns)
        zone.pass_time(now_ns)
        target = HOME.copy()
        target[0] += 0.5 * np.sin(k * 0.1)
        verdict = filter_.step(target)
        # This step is made a lead later, and by then the person has walked on.
        then_there = person - [HUMAN.speed * LEAD_NS * 1e-9, 0.0, 0.0]
        gap = zone._clearance.distances_to(verdict.position, then_there, HUMAN.radius).min()
        if gap <= HUMAN.separation:
            assert not verdict.velocity.any(), "in motion where the person is"
            return
    raise AssertionError("the person never arrived")


@pytest.mark.parametrize(
    ("seen_ms", "frame", "words"),
    [
        (100, FRAME, "not newer than the last"),
        (90, FRAME, "not newer than the last"),
        (3_600_000, FRAME, "3599850 ms in the future"),
        (150, "camera_link", "frame_id is 'camera_link', must be 'panda_link0'"),
        (150, "", "frame_id is ''"),
    ],
)
def test_a_message_that_says_nothing_new_is_refused_and_does_not_keep_the_robot_moving(
    seen_ms: int, frame: str, words: str
) -> None:
    filter_, zone = make()
    zone.see([], 100 * MS, FRAME, 100 * MS)
    with pytest.raises(InvalidDataError, match=words):
        zone.see([], seen_ms * MS, frame, 150 * MS)
    assert speed(filter_, zone, 150 * MS, 30) > 0.3, "nobody was there a moment ago"
    assert speed(filter_, zone, 700 * MS, 60) == 0.0
    assert words.split(",")[0] in filter_.step(HOME + 0.1).reasons[-1]
    zone.see([], 1300 * MS, FRAME, 1300 * MS)
    assert speed(filter_, zone, 1300 * MS, 30) > 0.1, "the next good message is taken"


def test_a_position_that_is_no_number_is_an_error_and_changes_nothing() -> None:
    filter_, zone = make()
    zone.see([NEAR], 0, FRAME, 0)
    with pytest.raises(InvalidDataError, match="person"):
        zone.see([np.array([np.nan, 0, 0])], 10 * MS, FRAME, 10 * MS)
    assert speed(filter_, zone, 0, 20) == 0.0


def test_a_robot_without_a_collision_model_cannot_keep_away() -> None:
    with pytest.raises(ConfigError, match="collisions"):
        HumanZone(Clearance(replace(PROFILE, collisions=None)), HUMAN, FRAME, LEAD_NS, PROFILE.safety)


def test_who_is_nearer_to_a_robot_than_to_its_reference_is_kept_from_the_robot() -> None:
    """A robot that is 0.1 rad ahead of where it was told to be is 2.3 cm nearer to him."""
    clearance = Clearance(PROFILE)
    nearest = {}
    for told in (False, True):
        filter_, zone = make()
        nearest[told] = np.inf
        away = np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        target = HOME + 20 * away
        aside = np.array([0.15, 1.0, 0.5])
        zone.see([aside], 0, FRAME, 0)
        zone.pass_time(0)
        for _ in range(200):
            filter_.away = away if told else None
            found = filter_.step(target).position + away
            nearest[told] = min(nearest[told], clearance.distances_to(found, aside, HUMAN.radius).min())
    assert nearest[True] > nearest[False] + 0.02

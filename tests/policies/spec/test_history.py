"""What a policy is told of its past: the nearest there is, never what was before a pause or another clock."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tendon.core.types import Observation
from tendon.policies.spec.history import History

Observe = Callable[..., Observation]
STEP_NS = 100_000_000


def steps_seen(history: History, observation: Observation, steps: list[int]) -> list[float]:
    """Returns how many steps before the observation each of the seen ones is."""
    return [(each.stamp_ns - observation.stamp_ns) / STEP_NS for each in history.seen(observation, steps)]


def test_each_instant_is_the_nearest_there_is(observe: Observe) -> None:
    """At any rate of the camera; the present one is itself; at first the oldest stands in."""
    history = History(5, STEP_NS)
    for k in range(40):
        now = observe(stamp_ns=10**18 + k * STEP_NS * 3 // 10)
        history.add(now)
        seen = steps_seen(history, now, [-5, -2, 0])
        assert seen[2] == 0.0
        for found, wanted in zip(seen, (-5, -2), strict=False):
            assert abs(found - max(wanted, -0.3 * k)) <= 0.15 + 1e-6 or (k == 0 and found == 0.0)


@pytest.mark.parametrize("gap", [10**18, 13 * STEP_NS, -13 * STEP_NS])
def test_what_was_before_a_pause_or_a_clock_set_back_is_no_past(observe: Observe, gap: int) -> None:
    """Such as the black view of the warm-up, stamped 0."""
    history, start_ns = History(5, STEP_NS), 20 * STEP_NS
    history.add(observe(stamp_ns=start_ns))
    now = observe(stamp_ns=start_ns + gap)
    history.add(now)
    assert steps_seen(history, now, [-5, 0]) == [0.0, 0.0]


def test_a_policy_that_is_asked_every_other_step_keeps_its_past(observe: Observe) -> None:
    """As in an evaluation, where only what is inferred from is told."""
    history = History(1, STEP_NS)
    for k in range(4):
        now = observe(stamp_ns=10**18 + 2 * k * STEP_NS + k)
        history.add(now)
    assert steps_seen(history, now, [-1, 0])[0] == pytest.approx(-2.0)


def test_an_observation_that_is_not_newer_is_left_out(observe: Observe) -> None:
    """Told twice, or late."""
    history = History(2, STEP_NS)
    for steps in (0, 1, 2, 1, 2):
        history.add(observe(stamp_ns=10**18 + steps * STEP_NS))
    now = observe(stamp_ns=10**18 + 3 * STEP_NS)
    assert steps_seen(history, now, [-2, -1, 0]) == [-2.0, -1.0, 0.0]

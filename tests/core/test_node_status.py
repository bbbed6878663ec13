"""When a node says at once how it is, and when with its next report."""

from __future__ import annotations

import pytest

from tendon.core.node_status import Health, Level, is_news

MOVING = (Level.OK, "running; panda_joint2 acceleration limit")
SLOW = (Level.WARN, "armed, slow: observation to chunk takes 312 ms")


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (None, MOVING),
        (MOVING, SLOW),
        (SLOW, MOVING),
        (SLOW, (Level.WARN, "armed, slow: camera wrist is black")),
        (SLOW, (Level.ERROR, SLOW[1])),
    ],
)
def test_a_problem_that_comes_changes_or_goes_is_news(before: Health | None, now: Health) -> None:
    assert is_news(before, now)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (MOVING, MOVING),
        (MOVING, (Level.OK, "running; panda_joint4 velocity limit")),
        (SLOW, (Level.WARN, SLOW[1].replace("312", "355"))),
    ],
)
def test_other_limits_of_a_moving_robot_and_other_numbers_are_not(before: Health, now: Health) -> None:
    assert not is_news(before, now)

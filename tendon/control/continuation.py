"""Which rows of the running plan the next inference has to continue: its prefix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tendon.core.types import ActionChunk, Array, Observation
from tendon.robots.profile import RobotProfile

ON_PLAN_SHARE = 0.5
"""Part of the tracking tolerance within which a robot counts as being on its plan."""

PlanWindow = Callable[[int, int, int], ActionChunk | None]
"""`(start_ns, step_ns, rows)` to rows of the running plan, such as `Executor.window`."""


def on_plan_tolerance(profile: RobotProfile) -> Array:
    """Returns (n,) how far a joint may be from the plan that it is said to follow, rad or m."""
    return np.asarray(ON_PLAN_SHARE * profile.tracking_tolerance)


def continuation(
    window: PlanWindow, observation: Observation, step_ns: int, rows: int, tolerance: Array
) -> ActionChunk | None:
    """Returns the next `rows` rows of the plan on the grid of a chunk inferred from `observation`.

    A plan that the robot does not follow, because it was not armed yet or the filter held it back, must not
    be continued: each chunk would run further ahead of the robot. Then the policy starts from what it sees.

    Args:
        window: of the running plan.
        observation: where the robot is.
        step_ns: time between rows; row 0 is due one step after the observation.
        rows: how many at most.
        tolerance: (n,) see `on_plan_tolerance`.

    Returns:
        The rows, or `None` when there is no plan or the robot is not on it.
    """
    here = window(observation.stamp_ns, step_ns, 1) if rows else None
    if here is not None and (np.abs(here.actions[0] - observation.joint_position) > tolerance).any():
        return None
    return window(observation.stamp_ns + step_ns, step_ns, rows) if rows else None

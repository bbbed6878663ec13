"""The way home, as a chunk like any other: it goes through the executor and the filter."""

from __future__ import annotations

import numpy as np

from tendon.core.types import ActionChunk, Array
from tendon.robots.profile import RobotProfile

SPEED_SHARE = 0.2
"""Part of the velocity limits that it uses."""
STEP_NS = 50_000_000
REST_NS = 1_000_000_000
"""How long the chunk goes on at home, so that it does not end before the robot is there."""


def homing_chunk(profile: RobotProfile, position: Array, start_ns: int, now_ns: int) -> ActionChunk:
    """Returns a chunk from (n,) `position` at `start_ns` to the profile's home.

    All joints leave and arrive together, on a straight line in joint space with a cosine for its speed.
    """
    home = profile.vector("home")
    slowest_s = float((np.abs(home - position) / (SPEED_SHARE * profile.vector("velocity"))).max())
    duration_ns = 0.5 * np.pi * slowest_s * 1e9  # a cosine's mean speed is 2 / pi of its peak
    rows = int(np.ceil((duration_ns + REST_NS) / STEP_NS)) + 1
    share = np.clip(np.arange(rows) * STEP_NS / max(duration_ns, 1.0), 0.0, 1.0)
    way = 0.5 - 0.5 * np.cos(np.pi * share)
    return ActionChunk(
        actions=position + way[:, None] * (home - position),
        start_ns=start_ns,
        step_ns=STEP_NS,
        observation_stamp_ns=now_ns,
    )

"""When simulated cameras expose: each on a clock of its own, as free-running ones do."""

from __future__ import annotations

import math

from tendon.robots.profile import Camera

EARLY = 0.01
"""Share of a period by which a step may be early: steps of physics are whole nanoseconds."""


def exposes(camera: Camera, before_ns: int, now_ns: int) -> bool:
    """Returns whether a camera exposes after one time, up to another.

    It does so at every whole number of its periods, plus its mount's phase.
    """
    return _count(camera, before_ns) != _count(camera, now_ns)


def latency_ns(camera: Camera) -> int:
    """Returns how long after its exposure a picture is sent."""
    return 0 if camera.mount is None else round(camera.mount.latency_s * 1e9)


def _count(camera: Camera, time_ns: int) -> int:
    phase = 0.0 if camera.mount is None else camera.mount.phase
    return math.floor(time_ns * 1e-9 * camera.rate_hz - phase + EARLY)

"""How much later one sees a motion than it is measured: by cross-correlation, then to a part of a sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tendon.core.errors import CalibrationError
from tendon.core.types import Array, freeze

GRID_S = 0.002
"""Of the correlation: the refinement after it needs to begin within a sample."""
LEAST_SAMPLES = 20
LEAST_CORRELATION = 0.9
RIVAL_S, RIVAL_MISFIT, RIVAL_LEAST = 0.03, 4.0, 0.05
"""Another delay, so far off, is as good when it leaves less unexplained than so many times as much and this share."""


@dataclass(frozen=True, kw_only=True)
class Delay:
    """How much later a signal is.

    Attributes:
        seconds: positive: what was seen comes later, by its stamps.
        deviation_s: standard deviation of that.
        correlation: of the two signals with the delay taken out.
    """

    seconds: float
    deviation_s: float
    correlation: float


def find_delay(
    measured_s: Array, measured: Array, seen_s: Array, seen: Array, largest_s: float = 0.5, what: str = "motion"
) -> Delay:
    """Returns how much later `seen` is than `measured`, where one is a multiple of the other plus a constant.

    Args:
        measured_s: (k,) times of the reference, rising, such as of joint states or commands [s].
        measured: (k,) its values, such as a joint's position.
        seen_s: (j,) times of what comes later: stamps of pictures, or of joint states.
        seen: (j,) its values, such as the board's place along the motion.
        largest_s: that is looked for, either way.
        what: that is measured, in messages.

    Raises:
        CalibrationError: too few samples, too little motion, or the two are not one motion; with the fix.
    """
    times, values = freeze("measured_s", measured_s, (None,)), freeze("measured", measured, np.shape(measured_s))
    later, also = freeze("seen_s", seen_s, (None,)), freeze("seen", seen, np.shape(seen_s))
    if min(len(times), len(later)) < LEAST_SAMPLES:
        raise CalibrationError(
            f"{what}: {min(len(times), len(later))} samples, needed are {LEAST_SAMPLES}: record some seconds of motion"
        )
    if (np.diff(times) <= 0).any() or (np.diff(later) <= 0).any():
        raise CalibrationError(
            f"{what}: times must rise: sort the samples, and look whether a clock was set in between"
        )
    slopes = np.gradient(values, times)
    inside = (later > times[0] + largest_s) & (later < times[-1] - largest_s)
    later, also = later[inside], also[inside]
    if len(later) < LEAST_SAMPLES or np.ptp(values) < 1e-9 or np.std(also) < 1e-12:
        raise CalibrationError(
            f"{what}: nothing moves long enough: wave to and fro for 5 s and more, {largest_s:g} s of it before "
            "the first "
            "and after the last picture"
        )
    delays = np.arange(-largest_s, largest_s + GRID_S / 2, GRID_S)
    scores = np.array([abs(_correlation(_sample(times, values, slopes, later - delay)[0], also)) for delay in delays])
    best = int(scores.argmax())
    if scores[best] < LEAST_CORRELATION:
        raise CalibrationError(
            f"{what}: what is seen and what is measured agree by {scores[best]:.2f} of 1, needed is "
            f"{LEAST_CORRELATION}: record "
            "the same motion with both, one that does not repeat itself exactly, larger and slower"
        )
    if best in (0, len(delays) - 1):
        raise CalibrationError(
            f"{what}: the delay is {largest_s:g} s or more: are both stamped by one clock, in seconds?"
        )
    peaks = 1 + np.flatnonzero((scores[1:-1] >= scores[:-2]) & (scores[1:-1] >= scores[2:]))
    rivals = [int(k) for k in peaks if abs(k - best) * GRID_S > RIVAL_S]
    rival = max(rivals, key=lambda k: scores[k], default=best)
    if rival != best and 1 - scores[rival] ** 2 < RIVAL_MISFIT * (1 - scores[best] ** 2) + RIVAL_LEAST:
        raise CalibrationError(
            f"{what}: {1000 * delays[best]:.0f} and {1000 * delays[rival]:.0f} ms fit alike ({scores[best]:.3f} and "
            f"{scores[rival]:.3f} of 1): the motion repeats itself; wave slower, and not the same way each time"
        )
    delay = float(delays[best])
    for _ in range(20):
        reference, slope = _sample(times, values, slopes, later - delay)
        base = np.stack([reference, np.ones_like(reference)], axis=1)
        (scale, offset), *_ = np.linalg.lstsq(base, also, rcond=None)
        left = also - scale * reference - offset
        design = np.stack([-scale * slope, reference, np.ones_like(reference)], axis=1)
        step = np.linalg.lstsq(design, left, rcond=None)[0]
        delay += float(np.clip(step[0], -GRID_S, GRID_S))
        if abs(step[0]) < 1e-7:
            break
    variance = float(left @ left) / max(1, len(left) - 3)
    covariance = variance * np.linalg.inv(design.T @ design)
    return Delay(
        seconds=delay,
        deviation_s=float(np.sqrt(covariance[0, 0])),
        correlation=abs(_correlation(_sample(times, values, slopes, later - delay)[0], also)),
    )


def _sample(times: Array, values: Array, slopes: Array, at: Array) -> tuple[Array, Array]:
    """Returns values and slopes of the cubic that goes through all samples with their slopes (Hermite)."""
    k = np.clip(np.searchsorted(times, at) - 1, 0, len(times) - 2)
    step = times[k + 1] - times[k]
    u = np.clip((at - times[k]) / step, 0.0, 1.0)
    a, b, m, n = values[k], values[k + 1], slopes[k] * step, slopes[k + 1] * step
    value = (2 * u**3 - 3 * u**2 + 1) * a + (u**3 - 2 * u**2 + u) * m + (3 * u**2 - 2 * u**3) * b + (u**3 - u**2) * n
    slope = (6 * u**2 - 6 * u) * (a - b) + (3 * u**2 - 4 * u + 1) * m + (3 * u**2 - 2 * u) * n
    return value, slope / step


def _correlation(one: Array, other: Array) -> float:
    a, b = one - one.mean(), other - other.mean()
    return float(a @ b / max(np.sqrt(float(a @ a) * float(b @ b)), 1e-30))

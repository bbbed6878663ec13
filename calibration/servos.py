"""How a robot's servos follow, found from a log of what it was sent and where it was: by least squares a joint.

What a simulator does with the same commands is taken off first, so that the simulator plus the answer is the robot. The
terms are those of a servo of finite stiffness against damping, mass, friction and weight (`JointResponse`), beside a
pure delay; one that a log says nothing of stays out. After Fang et al. 2025 (ASAP), who learn such a difference by a
network: here it has names and units, and needs half a minute of motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize
from scipy.signal import lfilter

from tendon.core.errors import CalibrationError, ConfigError
from tendon.core.types import Array, freeze
from tendon.robots.servo_response import (
    MAX_DELAY_S,
    MAX_SETTLING_S,
    TERMS,
    JointResponse,
    step_share,
    terms_of,
)

LEAST_S = 10.0
"""Of a log."""
HELD_OUT = 0.25
"""Last part of it, which nothing is found from."""
STEP_S = 0.005
START = (0.01, 0.02)
"""Delay and time constant that the search begins at [s]."""
LEAST_MOTION, LEAST_SHARE = 0.02, 0.1
"""Standard deviation of a joint that moves, rad or m; of a finger, whose whole travel is a few cm, this part of it."""
LONGEST_GAP_S = 0.1
"""Without a measurement: where the robot was meanwhile nobody knows."""
STOOD = 1e-3
"""Farther [rad or m] than that from where it begins, or ends, the robot is under way."""
LEAST_CHANGE = 1e-3
"""Part of the largest that a term must have beside the others to be told from them."""
TINY = 1e-9
AT_BOUND = 0.99
"""A search that comes so near to a bound has found nothing within it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Log:
    """What a robot was sent, and what came of it.

    Attributes:
        times_s: (k,) of the measurements, rising [s].
        commanded: (k, n) where the joints were sent for then, rad or m.
        measured: (k, n) where they were.
        simulated: (k, n) where a simulator has them for the same commands.
        gravity: (k, n) what each holds there, N m or N.
    """

    times_s: Array
    commanded: Array
    measured: Array
    simulated: Array
    gravity: Array

    def __post_init__(self) -> None:
        freeze("times_s", self.times_s, (None,))
        for name in ("commanded", "measured", "simulated", "gravity"):
            freeze(name, getattr(self, name), (len(self.times_s), None))

    @property
    def end_s(self) -> float:
        """Where what responses are found from ends, and what is held out begins."""
        return float(self.times_s[-1] - HELD_OUT * (self.times_s[-1] - self.times_s[0]))

    def moves_held_out(self, joint: int) -> bool:
        """Returns whether a joint is sent anywhere where nothing is found from."""
        return bool(np.ptp(self.commanded[self.times_s >= self.end_s, joint]) > STOOD)

    def held_out_error(self, simulated: Array) -> Array:
        """Returns (n,) the root mean square of what a simulation (k, n) is off by where nothing was found from."""
        off = (self.measured - simulated)[self.times_s >= self.end_s]
        return np.asarray(np.sqrt((off**2).mean(axis=0)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Found:
    """The response of one joint.

    Attributes:
        response: of it.
        moved: whether the log moves it in the part that responses are found from.
        problem: why what the log says of it is no servo; empty when it is one.
        before, after: root mean square of what the simulator is off by on the held-out part, without the response and
            with it as fitted, rad or m.
    """

    response: JointResponse
    moved: bool
    before: float
    after: float
    problem: str = ""

    @property
    def known(self) -> bool:
        """Whether the response was found."""
        return self.moved and not self.problem


def moving_part(times_s: Array, commanded: Array) -> slice:
    """Returns which samples of a log to look at: from a moment before the first motion to one after the last.

    A robot that stands tells nothing, and an operator who ends the recording late would have the held-out part stand.

    Args:
        times_s: (k,) rising [s].
        commanded: (k, n) rad or m.
    """
    left = np.flatnonzero(np.abs(commanded - commanded[0]).max(axis=1) > STOOD)
    away = np.flatnonzero(np.abs(commanded - commanded[-1]).max(axis=1) > STOOD)
    if not len(left) or not len(away):
        return slice(0, len(times_s))
    begin_s, end_s = times_s[left[0]] - MAX_SETTLING_S, times_s[away[-1]] + MAX_SETTLING_S
    return slice(int(np.searchsorted(times_s, begin_s)), int(np.searchsorted(times_s, end_s, side="right")))


def find_responses(log: Log, names: Sequence[str], travel: Array) -> list[Found]:
    """Returns the response of each joint of a log.

    Args:
        log: see there.
        names: of its joints.
        travel: (n,) from their lower to their upper limits, rad or m.

    Raises:
        CalibrationError: the log is too short, its times do not rise or leave gaps.
    """
    times = log.times_s
    if len(times) < 2 or (np.diff(times) <= 0).any():
        raise CalibrationError("times of the log must rise: sort the joint states, and leave repeated ones out")
    if times[-1] - times[0] < LEAST_S:
        raise CalibrationError(
            f"the log is {times[-1] - times[0]:.2f} s long, needed are {LEAST_S:g}: record more motion"
        )
    gaps = np.diff(times)
    if gaps.max() > LONGEST_GAP_S:
        at = int(gaps.argmax())
        raise CalibrationError(
            f"the log has no joint state for {gaps[at]:.2f} s after {times[at] - times[0]:.1f} s, allowed "
            f"{LONGEST_GAP_S:g}: where the robot was meanwhile nobody knows; record again"
        )
    return [_find(log, joint, name, min(LEAST_MOTION, LEAST_SHARE * travel[joint])) for joint, name in enumerate(names)]


def _find(log: Log, joint: int, name: str, least: float) -> Found:
    begin_s, end_s = log.times_s[0], log.times_s[-1]
    grid = np.arange(begin_s, end_s, STEP_S)
    off = np.interp(grid, log.times_s, log.measured[:, joint] - log.simulated[:, joint])
    load = np.interp(grid, log.times_s, log.gravity[:, joint])
    spline = CubicSpline(log.times_s, log.commanded[:, joint])
    sent = spline(grid)
    known = grid < log.end_s
    before = _rms(off[~known])
    if sent[known].std() < least:
        return Found(response=JointResponse(), moved=False, before=before, after=before)
    settled = known & (grid > begin_s + MAX_DELAY_S + MAX_SETTLING_S)

    def fit(late: Array) -> tuple[Array, Array]:
        """Returns the weights of the terms, and what is left over, for a delay and a time constant."""
        share = float(step_share(late[1], STEP_S))
        delayed = spline(np.maximum(grid - late[0], begin_s))
        smooth, _ = lfilter([share], [1.0, share - 1.0], delayed, zi=[(1.0 - share) * delayed[0]])
        speed = np.gradient(smooth, STEP_S)
        terms = terms_of(speed, np.gradient(speed, STEP_S), load)
        weights = _solve(terms[settled], (off - smooth + sent)[settled])
        return weights, off - smooth + sent - terms @ weights

    best = minimize(
        lambda late: _rms(fit(late)[1][settled]),
        START,
        method="Nelder-Mead",
        bounds=[(0.0, MAX_DELAY_S), (0.0, MAX_SETTLING_S)],
        options={"xatol": 1e-4, "fatol": 1e-9},
    )
    weights, left = fit(best.x)
    values = dict(zip(("delay_s", "settling_s", *TERMS), (*best.x, *weights), strict=True))
    try:
        for term, most in (("delay_s", MAX_DELAY_S), ("settling_s", MAX_SETTLING_S)):
            if values[term] > AT_BOUND * most:
                raise ConfigError(f"{term} is at its bound, {most:g} s")
        response = JointResponse(**{term: round(float(value), 8) for term, value in values.items()})
    except ConfigError as error:
        problem = (
            f"joint {name}: {error}: that is no servo; are commands and joint states stamped by one clock, is nothing "
            "in the robot's way, and can it go as fast as it is sent?"
        )
        return Found(response=JointResponse(), moved=True, before=before, after=before, problem=problem)
    return Found(response=response, moved=True, before=before, after=_rms(left[~known]))


def _solve(terms: Array, wanted: Array) -> Array:
    """Returns the weights of terms; 0 for one that is always the same, and least for what others can stand for."""
    used = np.ptp(terms, axis=0) > TINY
    used[-1] = True  # the offset
    scale = np.sqrt((terms[:, used] ** 2).mean(axis=0))
    weights = np.zeros(terms.shape[1])
    weights[used] = np.linalg.lstsq(terms[:, used] / scale, wanted, rcond=LEAST_CHANGE)[0] / scale
    return weights


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))

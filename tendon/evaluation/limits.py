"""Counts broken limits in a motion, by code that shares nothing with the filter but the numbers of the profile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tendon.core.types import Array
from tendon.evaluation.motion import Motion
from tendon.robots.profile import RobotProfile

TOLERANCE = 1e-3
"""Part of each limit that is forgiven: a period of the simulator is a whole number of nanoseconds."""
OUTSIDE = 1e-6
"""How far beyond a position limit is rounding, rad or m."""
MEASURED_OUTSIDE = 1e-2
"""How far beyond a position limit a joint may be measured, rad or m: a servo lags and overshoots."""
MEASURED_SPEED = 1.1
"""How fast it may be measured, as a part of its limit."""


@dataclass(frozen=True, kw_only=True)
class Worst:
    """The largest value of each law as a part of its limit, and how many samples broke one.

    Attributes:
        broken: samples outside a limit.
        position: how far outside its limits a joint was, rad or m.
        velocity, acceleration, jerk: largest parts of their limits.
    """

    broken: int
    position: float
    velocity: float
    acceleration: float
    jerk: float


def worst_of(motion: Motion) -> Worst:
    """Returns how near a motion came to its limits.

    Between two samples the mean acceleration is the change of velocity over time. The jerk is that of the cubic
    through both, which is a mean of the true one with the weight 6 t (h - t) / h^3: never more than its maximum.
    """
    profile, q, v = motion.profile, motion.position, motion.velocity
    h = np.diff(motion.time_ns)[:, None] * 1e-9
    acceleration = np.diff(v, axis=0) / h
    jerk = 6.0 * (v[:-1] + v[1:]) / h**2 - 12.0 * np.diff(q, axis=0) / h**3
    lower, upper = profile.vector("lower"), profile.vector("upper")
    if len(q):  # where it starts outside, it may only move back
        lower, upper = np.minimum(lower, q[0]), np.maximum(upper, q[0])
    outside = np.maximum(lower - q, q - upper).max(axis=1)
    shares = {
        "velocity": np.abs(v / profile.vector("velocity")).max(axis=1),
        "acceleration": np.abs(acceleration / profile.vector("acceleration")).max(axis=1),
        "jerk": np.abs(jerk / profile.vector("jerk")).max(axis=1),
    }
    bounds = [(outside, OUTSIDE), *((part, 1 + TOLERANCE) for part in shares.values())]
    broken = sum(int((~(part <= bound)).sum()) for part, bound in bounds)  # what is no number is not inside
    return Worst(
        broken=broken,
        position=max(0.0, float(outside.max(initial=0.0))),
        **{name: float(part.max(initial=0.0)) for name, part in shares.items()},
    )


def measured_beyond(profile: RobotProfile, position: Array, velocity: Array) -> str:
    """Returns which joint was measured furthest beyond a limit, in words; empty when none was.

    Grippers close on things and bounce: of them only the position counts.

    Args:
        profile: the robot.
        position: (k, n) rad or m.
        velocity: (k, n) rad/s or m/s.
    """
    outside = np.maximum(profile.vector("lower") - position, position - profile.vector("upper"))
    row, joint = np.unravel_index(int(outside.argmax()), outside.shape)
    if not outside[row, joint] <= MEASURED_OUTSIDE:
        where, lower, upper = position[row, joint], profile.vector("lower")[joint], profile.vector("upper")[joint]
        return f"{profile.joint_names[joint]} was measured at {where:.4f}, allowed are {lower:g} to {upper:g}"
    grippers = {gripper.joint for gripper in profile.grippers}
    arm = [k for k, name in enumerate(profile.joint_names) if name not in grippers]
    share = np.abs(velocity[:, arm] / profile.vector("velocity")[arm])
    row, column = np.unravel_index(int(share.argmax()), share.shape)
    if not share[row, column] <= MEASURED_SPEED:
        fastest = arm[int(column)]
        speed, limit = velocity[row, fastest], profile.vector("velocity")[fastest]
        return f"{profile.joint_names[fastest]} was measured at {speed:.3f} a second, limit {limit:g}"
    return ""

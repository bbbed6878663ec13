"""Zero, direction and range of a joint without a camera: by its stops, by a jig, by a small motion."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tendon.core.errors import CalibrationError
from tendon.robots.profile_parts import Gripper, Joint

MAX_SPAN_SHARE = 0.05
"""By which a range may be wider or narrower than it should be."""
LEAST_MOTION = 0.02
"""Of a test of direction, rad or m."""


@dataclass(frozen=True, kw_only=True)
class JointZero:
    """How a joint's position is to be read: true = sign * said - zero.

    Attributes:
        joint: its name.
        sign: 1, or -1 for a joint that is said to move the wrong way.
        zero: rad or m.
        deviation: standard deviation of the zero.
    """

    joint: str
    sign: int
    zero: float
    deviation: float


def zero_from_limits(joint: Joint, at_lower: float, at_upper: float, play: float = 0.002) -> JointZero:
    """Returns the zero of a joint that was led to both of its stops.

    Args:
        joint: whose `lower` and `upper` are its stops.
        at_lower: what the robot said at the lower one, rad or m.
        at_upper: at the upper one.
        play: how far a stop gives way, a standard deviation.

    Raises:
        CalibrationError: the range is not that of the joint.
    """
    span, should = at_upper - at_lower, joint.upper - joint.lower
    sign = 1 if span > 0 else -1
    if not abs(abs(span) - should) <= MAX_SPAN_SHARE * should:  # nor is what is no number
        raise CalibrationError(
            f"joint {joint.name} went from {at_lower:.3f} to {at_upper:.3f}, its limits are {should:.3f} apart: "
            "lead it to "
            "both stops, and look whether limits of the profile are its stops, and its gear ratio and encoder "
            "counts are right"
        )
    zero = (sign * at_lower - joint.lower + sign * at_upper - joint.upper) / 2
    spread = max(play, abs(abs(span) - should) / 2) / 2**0.5
    return JointZero(joint=joint.name, sign=sign, zero=zero, deviation=spread)


def zero_from_jig(joint: Joint, said: float, true: float, play: float = 0.001) -> JointZero:
    """Returns the zero of a joint that a jig, or marks on the arm, hold at a known position.

    Raises:
        CalibrationError: the position is outside the joint's limits.
    """
    if not joint.lower <= true <= joint.upper:
        raise CalibrationError(
            f"joint {joint.name}: the jig holds it at {true}, its limits are {joint.lower} to {joint.upper}"
        )
    if not math.isfinite(said):
        raise CalibrationError(f"joint {joint.name}: the robot says {said}, must be a number")
    return JointZero(joint=joint.name, sign=1, zero=said - true, deviation=play)


def direction(joint: Joint, said: float, turned: float) -> int:
    """Returns the sign of a joint from a small motion between two poses.

    Args:
        joint: that was moved.
        said: how far the robot says, rad or m.
        turned: how far it was seen to, about the URDF's axis.

    Raises:
        CalibrationError: it moved too little, or by another amount.
    """
    if min(abs(said), abs(turned)) < LEAST_MOTION:
        raise CalibrationError(
            f"joint {joint.name} moved by {said:.4f}, seen {turned:.4f}, needed is {LEAST_MOTION}: move it further"
        )
    if not 0.5 < abs(turned / said) < 2.0:
        raise CalibrationError(
            f"joint {joint.name} says {said:.3f} and is seen to move {turned:.3f}: look at its gear ratio, and whether "
            "another joint moved too"
        )
    return 1 if said * turned > 0 else -1


def gripper_range(gripper: Gripper, at_open: float, at_closed: float) -> tuple[float, float]:
    """Returns `open` and `closed` for the profile from what the robot said at both.

    Raises:
        CalibrationError: the two are the same.
    """
    if abs(at_open - at_closed) < 1e-3:
        raise CalibrationError(
            f"gripper {gripper.joint} says {at_open:.4f} open and {at_closed:.4f} closed: open and close it all the way"
        )
    return at_open, at_closed

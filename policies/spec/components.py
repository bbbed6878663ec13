"""One number of a policy that is about one joint: the words of `bundle.yaml` for its unit, sign, zero and range."""

from __future__ import annotations

import math
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Literal

from tendon.core.checks import check_choice, check_text
from tendon.core.errors import ConfigError
from tendon.core.fields import OneOf, Positive, check_fields
from tendon.policies.spec.fields import numbers

POSITION_UNITS = {"rad": 1.0, "deg": math.pi / 180.0, "m": 1.0}
"""Units of a position to how many rad or m one is."""
VELOCITY_UNITS = {"rad/s": 1.0, "deg/s": math.pi / 180.0, "m/s": 1.0}
SHARE_UNITS = {
    "fraction": (0.0, 1.0),
    "percent": (0.0, 100.0),
    "signed_fraction": (-1.0, 1.0),
    "signed_percent": (-100.0, 100.0),
}
"""Units that are a share of a joint's range to their numbers at its two ends."""
CONSTANT = "constant"
UNITS = (*POSITION_UNITS, *VELOCITY_UNITS, *SHARE_UNITS, CONSTANT)


@dataclass(frozen=True, kw_only=True)
class JointComponent:
    """One number of a state or an action that is about one joint.

    In rad, deg, m: joint = zero + sign * scale * number * unit; the same a second, without zero. In a share of the
    joint's range the number runs from one end of `range` to the other, linearly and beyond.

    Attributes:
        unit: one of `UNITS`. A velocity is measured in a state, and integrated from the row before in an action.
        joint: its name in the profile; empty for "constant".
        sign: 1, or -1 where the policy counts the other way round.
        scale: how many units one of the policy's numbers is.
        zero: the joint's position [rad or m] where the policy says 0.
        range: two positions of the joint [rad or m]: with `open`, where the gripper is closed and where it is open;
            without, those of the smallest and of the largest number. `None`: the profile's lower and upper limit.
        open: the number that means an open gripper, one end of the unit: 0 or 100 of percent.
        absolute: of an action: the row's position, although `relative_to` makes the others differences.
        value: of "constant": stands for what the robot has not. A state says it, of an action it is not used.

    Raises:
        ConfigError: an unknown unit, a value out of bounds, or a field that means nothing in this unit.
    """

    unit: Annotated[str, OneOf(UNITS)]
    joint: str = ""
    sign: Literal[1, -1] = 1
    scale: Positive = 1.0
    zero: float = 0.0
    range: tuple[float, float] | None = None
    open: float | None = None
    absolute: bool = False
    value: float = 0.0

    def __post_init__(self) -> None:
        check_choice("unit of a component", self.unit, UNITS)
        if self.unit != CONSTANT:
            check_text(f"joint of a component in {self.unit}", self.joint)
        where = f"component {self.name}"
        meant = {"unit", "absolute", *_meant_by(self.unit)}
        for field in fields(self):
            if field.name not in meant and field.default is not MISSING and getattr(self, field.name) != field.default:
                raise ConfigError(
                    f"{where} has {field.name} {getattr(self, field.name)!r}, which means nothing in unit "
                    f"{self.unit}: leave it out (it takes {', '.join(sorted(meant - {'unit'}))})"
                )
        check_fields(self, "component")
        if self.range is not None:
            first, second = numbers(f"{where}: range", self.range, 2)
            if first == second:
                raise ConfigError(f"{where}: range is [{first}, {second}], must be two different positions")
            object.__setattr__(self, "range", (first, second))
        if self.open is not None:
            check_choice(f"{where}: open", self.open, SHARE_UNITS[self.unit])

    @property
    def name(self) -> str:
        """What a list of components calls it."""
        return self.joint or self.unit

    @property
    def is_velocity(self) -> bool:
        """Whether it is a speed."""
        return self.unit in VELOCITY_UNITS

    def affine(self, lower: float, upper: float) -> tuple[float, float]:
        """Returns a, b of joint = a * number + b [rad or m, for a velocity a second].

        Args:
            lower: the joint's limits in the profile.
            upper: likewise.
        """
        if self.unit not in SHARE_UNITS:
            return self.sign * self.scale * (POSITION_UNITS | VELOCITY_UNITS)[self.unit], self.zero
        smallest, largest = SHARE_UNITS[self.unit]
        first, second = self.range or (lower, upper)
        if self.open == smallest:
            first, second = second, first
        slope = (second - first) / (largest - smallest)
        return slope, first - slope * smallest


def _meant_by(unit: str) -> tuple[str, ...]:
    if unit == CONSTANT:
        return ("value",)
    if unit in SHARE_UNITS:
        return ("joint", "range", "open")
    return ("joint", "sign", "scale", "zero") if unit in POSITION_UNITS else ("joint", "sign", "scale")

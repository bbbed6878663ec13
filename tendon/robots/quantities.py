"""Numbers of a robot profile: their bounds, which find slips of the keyboard and of the unit."""

from __future__ import annotations

from typing import Annotated

from tendon.core.checks import check_number
from tendon.core.errors import ConfigError
from tendon.core.fields import Range

MAX_TURN = 25.2
"""Of a position [rad or m]: four turns, which no joint of an arm makes. Larger ones are degrees."""
MAX_TOLERANCE = 1.0
"""Of a tracking error [rad or m]: a robot that may be further off its command is not watched."""

Position = Annotated[float, Range(least=-MAX_TURN, most=MAX_TURN)]
Speed = Annotated[float, Range(above=0, most=100)]
Acceleration = Annotated[float, Range(above=0, most=1e4)]
Jerk = Annotated[float, Range(above=0, most=1e6)]
Effort = Annotated[float, Range(above=0, most=1e4)]
"""The upper bounds are far above any arm's: they find slips of the keyboard and of the unit."""
Near = Annotated[float, Range(above=0, most=10)]
"""Of people: a larger value [m, m/s] is one in other units."""
Corner = tuple[float, float, float]


def check_corner(name: str, value: object) -> None:
    """Wants three finite numbers [m].

    Raises:
        ConfigError: it is none.
    """
    if not isinstance(value, tuple) or len(value) != 3:
        raise ConfigError(f"{name} is {value!r}, must be three numbers such as [0.1, -0.5, 0.0]")
    for axis, number in zip("xyz", value, strict=True):
        check_number(f"{name} {axis} [m]", number)

"""What the limits of each joint allow for the next control period; described in the `.pyx` file."""

from tendon.core.types import Array

CONSTRAINTS: tuple[str, ...]

def stopping_distance(speed: float, acceleration: float, period_s: float) -> float: ...
def approach_speed(room: float, acceleration: float, period_s: float) -> float: ...
def range_in_force(limits: Array, position: Array) -> Array: ...
def approach(
    goal: Array,
    rate: Array,
    position: Array,
    velocity: Array,
    limits: Array,
    scale: float,
    period_s: float,
) -> tuple[Array, Array, Array, Array]: ...
def reached(
    allowed: Array, wanted: Array, before: Array, limits: Array, scale: float, period_s: float
) -> list[tuple[int, str]]: ...
def braking(position: Array, velocity: Array, acceleration: Array, period_s: float) -> tuple[Array, Array, Array]: ...
def use_of_limits(
    start: Array, before: Array, position: Array, velocity: Array, jerk: Array, limits: Array, period_s: float
) -> tuple[bool, int, str, float]: ...

"""The motion between the points of a command; described in the `.pyx` file."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tendon.core.types import Array, SentTrajectory

Times = npt.NDArray[np.int64]

NOWHERE: int
QUANTITIES: tuple[str, str]
TIMES: int
END: int
LIMITED: tuple[str, ...]

def extremes(
    p: float, v: float, p_end: float, v_end: float, h: float
) -> tuple[float, float, float, float, float, float]: ...
def motion_at(times_ns: Times, position: Array, velocity: Array, at_ns: int) -> tuple[Array, Array]: ...
def sample(command: SentTrajectory, at_ns: int) -> tuple[Array, Array]: ...
def motion_of(times_ns: Sequence[int], position: Array, velocity: Array) -> tuple[Times, Array, Array]: ...
def first_apart(one: Array, other: Array, allowed: Array) -> tuple[int, float]: ...
def first_flaw(times_ns: Times, position: Array, velocity: Array) -> tuple[int, int, int]: ...
def first_parting(
    times_ns: Times,
    position: Array,
    velocity: Array,
    before_ns: Times,
    position_before: Array,
    velocity_before: Array,
    shift_ns: int,
    begin_ns: int,
    end_ns: int,
    known_ns: int,
    bounds: Array,
) -> tuple[int, int, int, float, float]: ...
def first_outside(
    times_ns: Times, position: Array, velocity: Array, least: Array, most: Array, found: Array
) -> tuple[int, int, int, float, float, float]: ...

"""What is known of clearances between two looks at them; described in the `.pyx` file."""

import numpy as np
import numpy.typing as npt

from tendon.core.types import Array

def bounds(time_s: Array, position: Array, velocity: Array, acceleration: Array) -> tuple[Array, Array]: ...
def refined(
    time_s: Array, position: Array, velocity: Array, acceleration: Array, piece: int, parts: int
) -> tuple[Array, Array, Array, Array]: ...
def covered(
    reach: Array,
    smooth: npt.NDArray[np.uint8],
    needed: Array,
    time_s: Array,
    way: Array,
    speed: Array,
    acceleration: Array,
    i: int,
    j: int,
    begin: Array,
    end: Array,
) -> bool: ...
def tightest(clearance: Array, threshold: Array, margin: Array) -> tuple[bool, int]: ...
def clearances(shapes: Array, first: npt.NDArray[np.int64], tool: Array, lower: Array, upper: Array) -> Array: ...

"""The motion that the reference averages, joint by joint; described in the `.pyx` file."""

import numpy as np
import numpy.typing as npt

from tendon.core.types import Array

def extended(
    position: Array, velocity: Array, mean: Array, newest: Array, period_s: float
) -> tuple[Array, Array, Array]: ...
def average(position: Array, velocity: Array, mean: Array, period_s: float) -> Array: ...
def stop(
    position: Array, velocity: Array, mean: Array, acceleration: Array, period_s: float
) -> tuple[npt.NDArray[np.int64], Array]: ...

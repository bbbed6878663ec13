"""Distances of shapes that move with the joints of a robot; described in the `.pyx` file."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tendon.core.types import Array

CAPSULE: int
BOX: int
HALF_SPACE: int

class ShapeDistances:
    def __init__(
        self,
        rotations: Sequence[Array],
        translations: Sequence[Array],
        joints: Sequence[int],
        kinds: Sequence[int],
        turns: Sequence[Array],
        places: Sequence[Array],
        sizes: Sequence[Sequence[float]],
        pairs: npt.NDArray[np.int64],
    ) -> None: ...
    def distances(self) -> tuple[Array, bool]: ...

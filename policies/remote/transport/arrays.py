"""Arrays that come from somebody else: numbers only, as large as their bytes, never an object."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tendon.core.errors import InvalidDataError

_DTYPE = re.compile(r"[<>|=]?(b1|[iu][1248]|f[248])")
MAX_DIMENSIONS = 8
"""Of an array; a batch of videos has 5."""


def number_dtype(text: Any) -> np.dtype[Any]:
    """Returns the dtype that `numpy.dtype.str` wrote as `text`.

    Raises:
        InvalidDataError: it is no plain number type, such as `|O` (Python objects), text or a record.
    """
    if not isinstance(text, str) or not _DTYPE.fullmatch(text):
        raise InvalidDataError(f"an array has dtype {text!r:.40}: only booleans, integers and floats are accepted")
    return np.dtype(text)


def view(data: Any, dtype: np.dtype[Any], shape: Any, fortran: bool = False) -> npt.NDArray[Any]:
    """Returns a read-only array over `data`, without a copy.

    Args:
        data: bytes, exactly as many as dtype and shape need.
        dtype: from `number_dtype`.
        shape: a sequence of lengths.
        fortran: whether the first index runs fastest.

    Raises:
        InvalidDataError: the shape is none, or needs more or fewer bytes.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise InvalidDataError(f"the data of an array is {type(data).__name__}, must be bytes")
    if not isinstance(shape, Sequence) or isinstance(shape, str) or len(shape) > MAX_DIMENSIONS:
        raise InvalidDataError(f"an array has shape {shape!r:.80}: must be at most {MAX_DIMENSIONS} lengths")
    if not all(type(length) is int and length >= 0 for length in shape):
        raise InvalidDataError(f"an array has shape {shape!r:.80}: lengths must be whole numbers from 0")
    wanted = math.prod(shape) * dtype.itemsize
    if wanted != len(data):
        raise InvalidDataError(f"an array of shape {tuple(shape)} and {dtype} needs {wanted} bytes, got {len(data)}")
    array = np.frombuffer(data, dtype).reshape(tuple(shape), order="F" if fortran else "C")
    array.setflags(write=False)
    return array

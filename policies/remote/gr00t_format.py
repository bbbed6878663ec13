"""GR00T's messages: msgpack in which an array is a map of the bytes that `numpy.save` writes.

`{"__ndarray_class__": true, "as_npy": ...}` and, for the configuration of a modality,
`{"__ModalityConfig_class__": true, "as_json": {...}}`, as NVIDIA's Isaac-GR00T (N1.6) writes them. `numpy.load` would
allocate what a header claims before it has the bytes, and opens zip archives too; only the header is parsed here.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import msgpack
import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from tendon.core.errors import InvalidDataError
from tendon.policies.remote.arrays import number_dtype, view
from tendon.policies.remote.openpi_format import MOST_ITEMS

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def pack(message: Mapping[str, Any]) -> bytes:
    """Returns the bytes of a message.

    Raises:
        InvalidDataError: it holds something that is neither a number, text, bytes, list, map nor array of numbers.
    """
    try:
        return bytes(msgpack.packb(message, default=_pack_array))
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidDataError(f"the message cannot be sent: {error}") from error


def unpack(data: bytes | memoryview) -> Any:
    """Returns the message in `data`; arrays are read-only, the configuration of a modality is a plain map.

    Raises:
        InvalidDataError: it is not msgpack, or holds an array of anything but numbers.
    """
    try:
        return msgpack.unpackb(
            data, object_hook=_unpack_array, max_array_len=MOST_ITEMS, max_map_len=MOST_ITEMS, max_ext_len=0
        )
    except InvalidDataError:
        raise
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise InvalidDataError(f"a message of {len(data)} bytes is not msgpack: {error}") from error


def _pack_array(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        number_dtype(value.dtype.str)
        output = io.BytesIO()
        np.save(output, value, allow_pickle=False)
        return {"__ndarray_class__": True, "as_npy": output.getvalue()}
    raise TypeError(f"{type(value).__name__} is no part of the format")


def _unpack_array(value: dict[Any, Any]) -> Any:
    if "__ndarray_class__" in value:
        return _read_npy(value.get("as_npy"))
    if "__ModalityConfig_class__" in value:
        return value.get("as_json")
    return value


def _read_npy(data: Any) -> npt.NDArray[Any]:
    """Returns the array in the bytes of an `.npy` file.

    Raises:
        InvalidDataError: they are none, are cut, or hold anything but numbers.
    """
    if not isinstance(data, bytes):
        raise InvalidDataError(f"as_npy is {type(data).__name__}, must be bytes")
    stream = io.BytesIO(data)
    try:
        shape, fortran, dtype = _HEADERS[npy.read_magic(stream)](stream)
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidDataError(f"as_npy of {len(data)} bytes has no header of an .npy file: {error}") from error
    return view(memoryview(data)[stream.tell() :], number_dtype(dtype.str), shape, fortran)

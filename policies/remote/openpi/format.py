"""openpi's messages: msgpack in which an array is a map of its bytes, dtype and shape.

The format is that of the `openpi-client` package: `{b"__ndarray__": True, b"data", b"dtype", b"shape"}` and
`{b"__npgeneric__": True, b"data", b"dtype"}`. It can carry no Python object; arrays of other than numbers are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgpack
import numpy as np

from tendon.core.errors import InvalidDataError
from tendon.policies.remote.transport.arrays import number_dtype, view

MAX_ITEMS = 10_000
"""Entries of a list or map in a message. Arrays are bytes, so a real message has dozens; each costs memory."""


class Packer:
    """Writes messages, each into the same buffer. One thread."""

    def __init__(self) -> None:
        self._packer = msgpack.Packer(default=_pack_array, autoreset=False)
        self._view = memoryview(b"")

    def pack(self, message: Mapping[Any, Any]) -> memoryview:
        """Returns the bytes of a message; the view ends with the next call.

        Raises:
            InvalidDataError: it holds something that is neither a number, text, bytes, list, map nor array of numbers.
        """
        self._view.release()
        self._packer.reset()
        try:
            self._packer.pack(message)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidDataError(f"the message cannot be sent: {error}") from error
        self._view = memoryview(self._packer.getbuffer())
        return self._view


def unpack(data: bytes | bytearray | memoryview) -> dict[Any, Any]:
    """Returns the message in `data`; arrays are read-only.

    Raises:
        InvalidDataError: it is no msgpack map, or holds an array of anything but numbers.
    """
    try:
        message = msgpack.unpackb(
            data, object_hook=_unpack_array, max_array_len=MAX_ITEMS, max_map_len=MAX_ITEMS, max_ext_len=0
        )
    except InvalidDataError:
        raise
    except (ValueError, TypeError, OverflowError, msgpack.UnpackException) as error:
        raise InvalidDataError(f"a message of {len(data)} bytes is not msgpack: {error}") from error
    if not isinstance(message, dict):
        raise InvalidDataError(f"a message is {type(message).__name__}, must be a map")
    return message


def _pack_array(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        number_dtype(value.dtype.str)
        data = np.ascontiguousarray(value).data.cast("B") if value.size else b""
        return {b"__ndarray__": True, b"data": data, b"dtype": value.dtype.str, b"shape": value.shape}
    if isinstance(value, np.generic):
        number_dtype(value.dtype.str)
        return {b"__npgeneric__": True, b"data": value.item(), b"dtype": value.dtype.str}
    raise TypeError(f"{type(value).__name__} is no part of the format")


def _unpack_array(value: dict[Any, Any]) -> Any:
    if b"__ndarray__" in value:
        return view(value.get(b"data"), number_dtype(value.get(b"dtype")), value.get(b"shape"))
    if b"__npgeneric__" in value:
        number = value.get(b"data")
        if not isinstance(number, int | float):
            raise InvalidDataError(f"a number is {type(number).__name__}, must be a number")
        return number_dtype(value.get(b"dtype")).type(number)
    return value

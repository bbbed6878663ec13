"""GR00T's messages: msgpack in which an array is a map, written in one of two ways; and what a server says it sees.

- `Coding.NPY`, of N1.5, N1.6 and the first N1.7: `{"__ndarray_class__": true, "as_npy": bytes of an .npy file}`.
- `Coding.BUFFER`, of N1.7 since May 2026, from the package `msgpack-numpy`: `{b"nd", b"type", b"kind", b"shape",
  b"data"}`.

Both are read, whatever the server is. `numpy.load` would allocate what a header claims before it has the bytes, and
opens zip archives too; `msgpack_numpy` unpickles. So neither is used: headers are parsed here, and numbers are all that
they may hold.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import msgpack
import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from tendon.core.errors import InvalidDataError
from tendon.policies.remote.openpi.format import MAX_ITEMS
from tendon.policies.remote.transport.arrays import number_dtype, view

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_TORCH_FILES = (b"PK\x03\x04", b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19")
"""How a file of `torch.save` begins, new and old."""
MODALITY_MARKERS = ("__ModalityConfig_class__", "__ModalityConfig__")


class Coding(Enum):
    """How a server writes and reads arrays."""

    NPY = "npy"
    BUFFER = "buffer"


@dataclass(frozen=True, kw_only=True)
class Modality:
    """What a server says of one of its inputs or outputs.

    Attributes:
        marker: of `MODALITY_MARKERS`, which its message was marked with.
        as_text: whether its values came as JSON in a text.
        keys: of the modality.
        steps: the instants that it has, in steps from the present one.
    """

    marker: str
    as_text: bool
    keys: tuple[str, ...]
    steps: tuple[int, ...]


def pack(message: Mapping[str, Any], coding: Coding = Coding.NPY) -> bytes:
    """Returns the bytes of a message.

    Raises:
        InvalidDataError: it holds something that is neither a number, text, bytes, list, map nor array of numbers.
    """
    try:
        return bytes(msgpack.packb(message, default=_WRITERS[coding]))
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidDataError(f"the message cannot be sent: {error}") from error


def unpack(data: bytes | memoryview) -> Any:
    """Returns the message in `data`; arrays are read-only, and what is said of a modality is a `Modality`.

    Raises:
        InvalidDataError: it is not msgpack, or holds an array of anything but numbers.
    """
    if bytes(data[:16]).startswith(_TORCH_FILES):
        raise InvalidDataError(
            "the server answers with pickles (torch.save), which can run any program and are not read: it is GR00T N1, "
            "or N1.5 before September 2025. Update it to N1.5 of that month, N1.6 or N1.7"
        )
    try:
        return msgpack.unpackb(
            data, object_hook=_read_map, max_array_len=MAX_ITEMS, max_map_len=MAX_ITEMS, max_ext_len=0
        )
    except InvalidDataError:
        raise
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
        begin = bytes(data[:40])
        raise InvalidDataError(
            f"a message of {len(data)} bytes is not msgpack: {error}; it begins {begin!r}"
        ) from error


def _write_npy(value: Any) -> Any:
    _check_array(value)
    output = io.BytesIO()
    np.save(output, value, allow_pickle=False)
    return {"__ndarray_class__": True, "as_npy": output.getvalue()}


def _write_buffer(value: Any) -> Any:
    _check_array(value)
    data = np.ascontiguousarray(value).data.cast("B") if value.size else b""
    return {b"nd": True, b"type": value.dtype.str, b"kind": b"", b"shape": value.shape, b"data": data}


_WRITERS: Mapping[Coding, Callable[[Any], Any]] = {Coding.NPY: _write_npy, Coding.BUFFER: _write_buffer}


def _check_array(value: Any) -> None:
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{type(value).__name__} is no part of the format")
    number_dtype(value.dtype.str)


def _read_map(value: dict[Any, Any]) -> Any:
    if "__ndarray_class__" in value:
        return _read_npy(value.get("as_npy"))
    if b"nd" in value:
        return _read_buffer(value)
    for marker in MODALITY_MARKERS:
        if marker in value:
            return _read_modality(marker, value.get("as_json"))
    return value


def _read_npy(data: Any) -> npt.NDArray[Any]:
    """Returns the array in the bytes of an `.npy` file."""
    if not isinstance(data, bytes):
        raise InvalidDataError(f"as_npy is {type(data).__name__}, must be bytes")
    stream = io.BytesIO(data)
    try:
        shape, fortran, dtype = _HEADERS[npy.read_magic(stream)](stream)
    except (ValueError, KeyError, TypeError, SyntaxError) as error:
        raise InvalidDataError(f"as_npy of {len(data)} bytes has no header of an .npy file: {error}") from error
    return view(memoryview(data)[stream.tell() :], number_dtype(dtype.str), shape, fortran)


def _read_buffer(value: Mapping[Any, Any]) -> Any:
    """Returns an array, or a numpy number, as `msgpack-numpy` writes them."""
    if value.get(b"kind") not in (None, b"", ""):
        raise InvalidDataError(
            f"an array is of kind {value[b'kind']!r:.20} (objects or records): only booleans, integers and floats are "
            "accepted"
        )
    dtype = number_dtype(value.get(b"type"))
    if value[b"nd"] is True:
        return view(value.get(b"data"), dtype, value.get(b"shape"))
    return view(value.get(b"data"), dtype, ())[()]


def _read_modality(marker: str, said: Any) -> Modality:
    text = isinstance(said, str | bytes)
    try:
        values = json.loads(said) if text else said
    except (ValueError, RecursionError) as error:
        raise InvalidDataError(f"as_json of a modality is no JSON: {error}") from error
    keys, steps = (
        values.get(name) if isinstance(values, Mapping) else None for name in ("modality_keys", "delta_indices")
    )
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise InvalidDataError(f"modality_keys of a modality is {keys!r:.80}, must be a list of names")
    if not isinstance(steps, list) or not all(type(step) is int for step in steps):
        raise InvalidDataError(f"delta_indices of a modality is {steps!r:.80}, must be a list of whole numbers")
    return Modality(marker=marker, as_text=text, keys=tuple(keys), steps=tuple(steps))

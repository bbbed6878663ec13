"""The two wire formats: what the real packages write is read, and nothing but numbers ever comes in."""

from __future__ import annotations

import io
from types import ModuleType
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tendon.core.errors import InvalidDataError
from tendon.policies.remote.gr00t import format as gr00t_format
from tendon.policies.remote.openpi.format import Packer, unpack
from tests.laws import law_settings

NUMBERS = ("?", "<i1", "<i8", "<u2", "<f2", "<f4", ">f8")
any_array = st.sampled_from(NUMBERS).flatmap(
    lambda dtype: arrays.arrays(dtype, arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
)


def array_map(**changes: Any) -> bytes:
    values = {b"__ndarray__": True, b"data": b"\0" * 8, b"dtype": "<f4", b"shape": [2]}
    return bytes(msgpack.packb({"x": values | {key.encode(): value for key, value in changes.items()}}))


@law_settings(max_examples=50)
@given(any_array)
def test_any_array_of_numbers_comes_back_equal(array: np.ndarray[Any, Any]) -> None:
    """In every format, of any shape, byte order and layout in memory."""
    for value in (array, array.T):
        read = [unpack(Packer().pack({"x": value}))["x"]]
        read += [gr00t_format.unpack(gr00t_format.pack({"x": value}, coding))["x"] for coding in gr00t_format.Coding]
        for found in read:
            assert (found.dtype, found.shape) == (value.dtype, value.shape)
            np.testing.assert_array_equal(found, value)
            assert not found.flags.writeable


@law_settings(max_examples=50)
@given(any_array)
def test_bytes_are_those_of_the_openpi_client(openpi: ModuleType, array: np.ndarray[Any, Any]) -> None:
    """Each reads what the other writes."""
    message = {"x": array, "text": "a", "number": np.float32(0.5), "list": [1, 2.5, True, None]}
    theirs = openpi.msgpack_numpy.packb(message)
    assert bytes(Packer().pack(message)) == theirs
    assert unpack(theirs)["number"] == np.float32(0.5)
    np.testing.assert_array_equal(openpi.msgpack_numpy.unpackb(bytes(Packer().pack(message)))["x"], array)


def test_a_packed_message_ends_with_the_next_one() -> None:
    """Nobody sends half of two messages."""
    packer = Packer()
    first = packer.pack({"x": 1})
    packer.pack({"x": np.zeros(1 << 16)})
    with pytest.raises(ValueError, match="released"):
        bytes(first)


@pytest.mark.parametrize("value", [np.array([{}]), np.array(["a"]), np.array([1j]), {1, 2}, object(), 1 << 70])
def test_what_is_no_number_is_not_sent(value: object) -> None:
    """The error comes here, not from the other side."""
    for write in (Packer().pack, gr00t_format.pack):
        with pytest.raises(InvalidDataError, match="cannot be sent"):
            write({"x": value})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dtype": "|O"}, "only booleans, integers and floats"),
        ({"dtype": "<U1"}, "only booleans"),
        ({"dtype": "i4,i4"}, "only booleans"),
        ({"dtype": "<M8[ns]"}, "only booleans"),
        ({"dtype": None}, "only booleans"),
        ({"shape": [3]}, "needs 12 bytes, got 8"),
        ({"shape": [1]}, "needs 4 bytes, got 8"),
        ({"shape": [-1]}, "whole numbers from 0"),
        ({"shape": [1 << 40, 1 << 40]}, "needs"),
        ({"shape": [2.0]}, "whole numbers"),
        ({"shape": "ab"}, "at most 8 lengths"),
        ({"shape": [1] * 9}, "at most 8 lengths"),
        ({"data": "text"}, "must be bytes"),
    ],
)
def test_an_array_that_lies_is_refused(changes: dict[str, Any], words: str) -> None:
    """Objects, records, shapes that do not fit the bytes."""
    with pytest.raises(InvalidDataError, match=words):
        unpack(array_map(**changes))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\x81",
        b"\x91" * 100_000,  # deeper than any stack
        b"\xdd\xff\xff\xff\xff",  # a list of 4 billion
        b"\xdf\x7f\xff\xff\xff",
        msgpack.packb([0] * 20_000),
        msgpack.packb({"x": msgpack.ExtType(1, b"abc")}),
        msgpack.packb([1]),
        msgpack.packb({1: 2}),
        b"\x81\xa1\xff\x01",  # a key that is no UTF-8
        msgpack.packb({"x": {b"__npgeneric__": True, b"data": 300, b"dtype": "|u1"}}),
        msgpack.packb({"x": {b"__npgeneric__": True, b"data": b"cos\nsystem\n", b"dtype": "|O"}}),
    ],
)
def test_what_is_no_message_is_one_clear_error(data: bytes) -> None:
    """Cut, nested without end, too many entries, extension types, a number that does not fit."""
    with pytest.raises(InvalidDataError):
        unpack(data)


def npy(array: np.ndarray[Any, Any]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


ZIP = io.BytesIO()
np.savez(ZIP, x=np.zeros(3))
CLAIMS = npy(np.zeros(4)).replace(b"(4,)", b"(%d,)" % 10**15, 1)


@pytest.mark.parametrize(
    "data",
    [
        npy(np.array([{"a": 1}], dtype=object)),
        npy(np.array(["text"])),
        npy(np.zeros(3))[:-1],
        npy(np.zeros(3)) + b"\0",
        npy(np.zeros(3))[:40],
        ZIP.getvalue(),
        CLAIMS[: 128 + 32],  # 8 PB, says the header
        npy(np.zeros(2)).replace(b"'<f8'", b"__imp", 1),
        b"",
        "text",
        None,
    ],
)
def test_an_npy_that_is_no_array_of_numbers_is_refused(data: Any) -> None:
    """Objects (which `numpy.load` would unpickle), archives, cut files, and headers that claim more than there is."""
    with pytest.raises(InvalidDataError):
        gr00t_format.unpack(msgpack.packb({"__ndarray_class__": True, "as_npy": data}))


def test_of_the_configuration_of_a_modality_its_keys_and_steps_are_kept() -> None:
    """No class is made from whatever else a server says."""
    config = {"delta_indices": [-1, 0], "modality_keys": ["a"], "__class__": "os.system"}
    message = msgpack.packb({"video": {"__ModalityConfig_class__": True, "as_json": config}})
    said = gr00t_format.Modality(marker="__ModalityConfig_class__", as_text=False, keys=("a",), steps=(-1, 0))
    assert gr00t_format.unpack(message) == {"video": said}

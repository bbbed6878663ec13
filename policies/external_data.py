"""Finds the files an ONNX graph wants to read its weights from, before onnxruntime follows any of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tendon.core.errors import IntegrityError

# onnx.proto: message -> {field number: message inside it}. Only the fields a tensor can be reached by.
_INSIDE: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {13: "entry"},
    "entry": {},
}


def external_locations(model: bytes) -> set[str]:
    """Returns the locations of external tensor data named anywhere in a serialized ModelProto.

    A walk over the protobuf wire format, so that a deployment needs no onnx package. It reads lengths and
    location names only, never tensor data.

    Raises:
        IntegrityError: the bytes are no protobuf message; a pickle, for one.
    """
    try:
        return set(_locations(memoryview(model), "model"))
    except (IndexError, ValueError, RecursionError) as error:
        raise IntegrityError(f"the model is not an ONNX graph: {error}") from error


def listed_locations(content: Mapping[str, bytes], name: str) -> list[str]:
    """Returns the locations of external tensor data of the graph called `name`, sorted; all of them are in `content`.

    Raises:
        IntegrityError: one is not, or the graph is none.
    """
    locations = sorted(external_locations(content[name]))
    for location in locations:
        if location not in content:
            raise IntegrityError(
                f"{name} reads tensor data from {location!r}, which bundle.yaml does not list: "
                "export the model as one file, or list the data file with its hash"
            )
    return locations


def _locations(message: memoryview, kind: str) -> Iterator[str]:
    strings: dict[int, str] = {}
    for number, value in _fields(message):
        if value is None:
            continue
        if kind == "entry":
            strings[number] = bytes(value).decode("utf-8")
        elif number in _INSIDE[kind]:
            yield from _locations(value, _INSIDE[kind][number])
    if strings.get(1) == "location":
        yield strings.get(2, "")


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview | None]]:
    """Yields (field number, bytes of a length-delimited field or None) of one message."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        wire, value = tag & 7, None
        if wire == 0:
            _, at = _varint(message, at)
        elif wire == 2:
            length, at = _varint(message, at)
            value, at = message[at : at + length], at + length
        elif wire in (1, 5):
            at += 8 if wire == 1 else 4
        else:
            raise ValueError(f"wire type {wire} at byte {at}")
        if at > len(message):
            raise ValueError(f"a field ends at byte {at} of {len(message)}")
        yield tag >> 3, value


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError(f"varint longer than 10 bytes at byte {at}")

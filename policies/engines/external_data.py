"""Finds the files an ONNX graph wants to read its weights from, before onnxruntime follows any of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tendon.core.errors import IntegrityError
from tendon.policies.engines.protobuf import fields

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


def external_locations(model: bytes, name: str = "the model") -> set[str]:
    """Returns the locations of external tensor data named anywhere in a serialized ModelProto.

    A walk over the protobuf wire format, so that a deployment needs no onnx package. It reads lengths and
    location names only, never tensor data.

    Raises:
        IntegrityError: the bytes are no protobuf message; a pickle, for one.
    """
    try:
        return set(_locations(memoryview(model), "model"))
    except (IndexError, ValueError, RecursionError) as error:
        raise IntegrityError(f"{name} is not an ONNX graph: {error}; export the bundle again") from error


def listed_locations(content: Mapping[str, bytes], name: str) -> list[str]:
    """Returns the locations of external tensor data of the graph called `name`, sorted; all of them are in `content`.

    Raises:
        IntegrityError: one is not, or the graph is none.
    """
    locations = sorted(external_locations(content[name], name))
    for location in locations:
        if location not in content:
            raise IntegrityError(
                f"{name} reads tensor data from {location!r}, which bundle.yaml does not list: "
                "export the model as one file, or list the data file with its hash"
            )
    return locations


def _locations(message: memoryview, kind: str) -> Iterator[str]:
    strings: dict[int, str] = {}
    for number, value in fields(message):
        if not isinstance(value, memoryview):
            continue
        if kind == "entry":
            strings[number] = bytes(value).decode("utf-8")
        elif number in _INSIDE[kind]:
            yield from _locations(value, _INSIDE[kind][number])
    if strings.get(1) == "location":
        yield strings.get(2, "")

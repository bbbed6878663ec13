"""What an ONNX graph declares: inputs and outputs as they are written in the file, whatever an engine makes of it."""

from __future__ import annotations

from tendon.core.errors import IntegrityError
from tendon.policies.engines.graph import TensorSpec
from tendon.policies.engines.protobuf import fields

# onnx.proto: numbers of fields.
_GRAPH, _INPUT, _OUTPUT, _NAME, _TYPE, _TENSOR = 7, 11, 12, 1, 2, 1
_ELEMENT, _SHAPE, _LENGTH, _FIXED, _NAMED = 1, 2, 1, 1, 2
_TYPES = {
    1: "tensor(float)",
    2: "tensor(uint8)",
    3: "tensor(int8)",
    6: "tensor(int32)",
    7: "tensor(int64)",
    9: "tensor(bool)",
    10: "tensor(float16)",
    11: "tensor(double)",
}


def onnx_signature(model: bytes, name: str = "the model") -> tuple[dict[str, TensorSpec], dict[str, TensorSpec]]:
    """Returns inputs and outputs of a serialized ModelProto by name, in its order.

    Raises:
        IntegrityError: the bytes are no such message.
    """
    inputs: dict[str, TensorSpec] = {}
    outputs: dict[str, TensorSpec] = {}
    try:
        for graph in _parts(memoryview(model), _GRAPH):
            inputs |= dict(map(_value, _parts(graph, _INPUT)))
            outputs |= dict(map(_value, _parts(graph, _OUTPUT)))
    except (IndexError, ValueError) as error:
        raise IntegrityError(f"{name} is not an ONNX graph: {error}; export the bundle again") from error
    return inputs, outputs


def _parts(message: memoryview, number: int) -> list[memoryview]:
    return [value for found, value in fields(message) if found == number and isinstance(value, memoryview)]


def _value(message: memoryview) -> tuple[str, TensorSpec]:
    name = "".join(bytes(part).decode("utf-8") for part in _parts(message, _NAME))
    element, shape = 0, []
    for kind in _parts(message, _TYPE):
        for tensor in _parts(kind, _TENSOR):
            element = next((value for n, value in fields(tensor) if n == _ELEMENT and isinstance(value, int)), 0)
            shape = [_length(part) for dims in _parts(tensor, _SHAPE) for part in _parts(dims, _LENGTH)]
    return name, TensorSpec(tuple(shape), _TYPES.get(element, f"tensor({element})"))


def _length(message: memoryview) -> int | str | None:
    for number, value in fields(message):
        if number == _FIXED and isinstance(value, int):
            return value
        if number == _NAMED and isinstance(value, memoryview):
            return bytes(value).decode("utf-8")
    return None

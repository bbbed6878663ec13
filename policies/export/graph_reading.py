"""Reads the ONNX graph of a bundle, whatever its file holds."""

from __future__ import annotations

import onnx
from google.protobuf.message import DecodeError

from tendon.core.errors import IntegrityError


def read_onnx(model: bytes, name: str) -> onnx.ModelProto:
    """Returns the graph.

    Args:
        model: content of the file.
        name: of the file, for the message.

    Raises:
        IntegrityError: it is none, or is cut.
    """
    try:
        return onnx.load_from_string(model)
    except DecodeError as error:
        raise IntegrityError(f"{name} is no ONNX graph ({error}): export the bundle again") from error

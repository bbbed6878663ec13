"""Reads the ONNX graph of a bundle, whatever its file holds."""

from __future__ import annotations

import onnx

from tendon.policies.engines.external_data import external_locations


def read_onnx(model: bytes, name: str) -> onnx.ModelProto:
    """Returns the graph.

    Args:
        model: content of the file.
        name: of the file, for the message.

    Raises:
        IntegrityError: it is none, or is cut.
    """
    external_locations(model, name)  # reads all of it: what is cut is said so
    return onnx.load_from_string(model)

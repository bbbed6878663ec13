"""A graph of a bundle as files in a folder and back: what works on ONNX graphs wants paths, a bundle wants bytes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import onnx

from tendon.policies.engines.external_data import listed_locations

EXTERNAL_BYTES = 1_500_000_000
"""A graph above this keeps its weights in a file of its own: protobuf ends at 2 GiB."""


def write_graph(content: Mapping[str, bytes], name: str, folder: Path) -> Path:
    """Writes a graph and the tensor data it names into a folder and returns its path.

    Raises:
        IntegrityError: it names data that `content` lacks.
    """
    for file in (name, *listed_locations(content, name)):
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content[file])
    return folder / name


def read_graph(model: onnx.ModelProto, name: str, folder: Path) -> dict[str, bytes]:
    """Returns a model, its weights inside it or, where they are large, in `NAME.data`, by file name.

    Args:
        model: with its weights loaded.
        name: it gets.
        folder: to write to.
    """
    data = f"{name}.data"
    size = sum(len(tensor.raw_data) for tensor in model.graph.initializer)
    if size <= EXTERNAL_BYTES:
        return {name: model.SerializeToString()}
    path = folder / "written" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save_model(model, path, save_as_external_data=True, location=data)
    return {name: path.read_bytes(), data: path.with_name(data).read_bytes()}

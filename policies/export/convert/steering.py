"""Adds a direction to an activation of a bundle's graph, times a number that is set at run time: no retraining.

Activation addition (Turner et al. 2023), as Häon, Stocking et al. 2025 ("Mechanistic Interpretability for Steering
Vision-Language-Action Models") do it in feed-forward layers. The weights stay, and with 0 so do the answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, shape_inference

from tendon.core.errors import ConfigError, MismatchError
from tendon.core.types import Array
from tendon.policies.bundle.bundle import Bundle, write_bundle
from tendon.policies.bundle.places import check_new_folder
from tendon.policies.engines.engine import Engine
from tendon.policies.engines.graph import DTYPES, Tensor, TensorSpec
from tendon.policies.engines.loading import load_graph
from tendon.policies.export.graph_reading import read_onnx
from tendon.policies.inference.identity import BOUND_TO_MODEL
from tendon.policies.parity.graph import CASES_FILE, read_cases
from tendon.policies.spec.steering import PREFIX, SteeringInput


def steer_bundle(bundle: Bundle, folder: Path, steering: SteeringInput, directions: Mapping[str, Array]) -> Bundle:
    """Writes a bundle whose model can be steered, beside the one it is made from.

    Args:
        bundle: what is made steerable; its signature, detector and parity receipt do not hold for the new one.
        folder: of the new one.
        steering: the number that is added, and its range.
        directions: see `steer_model`.

    Raises:
        ConfigError: see `steer_model`; the folder holds a bundle, or this one has a number of that name already; at a
            bound of the range the graph answers something that is not finite.
        IntegrityError: the graph cannot be read.
        MismatchError: see `steer_model`.
    """
    manifest = bundle.manifest
    check_new_folder(bundle.folder, folder)
    if any(each.name == steering.name for each in manifest.steering):
        raise ConfigError(f"bundle {manifest.name} is steered by {steering.name} already: take another name")
    model = steer_model(bundle.content[manifest.model], steering.name, directions)
    _check_answers({**bundle.content, manifest.model: model}, manifest.model, steering)
    files = {name: data for name, data in bundle.content.items() if name not in BOUND_TO_MODEL}
    made_from = f"bundle {bundle.digest}, a direction added to {', '.join(directions)}"
    steered = replace(
        manifest,
        steering=(*manifest.steering, steering),
        training={**manifest.training, f"{PREFIX}{steering.name}": made_from},
    )
    return write_bundle(folder, steered, {**files, manifest.model: model})


def steer_model(model: bytes, name: str, directions: Mapping[str, Array]) -> bytes:
    """Returns the graph with an input `steer_NAME` (1,), times which each direction is added to its activation.

    Whatever reads the activation reads the sum, an output of that name too.

    Args:
        model: an ONNX graph.
        name: of the input, without `steer_`.
        directions: by name of the activation, which an operator of the graph makes; a shape that fits its shape.

    Raises:
        ConfigError: no direction, one that is not finite or zero, no such activation, or the input is there already.
        MismatchError: the activation is not float32, or a direction does not fit its shape.
    """
    graph = read_onnx(model, "the model")
    given = f"{PREFIX}{name}"
    with np.errstate(over="ignore"):
        directions = {activation: each.astype(np.float32) for activation, each in directions.items()}
    if not directions or not all(np.isfinite(each).all() and np.any(each) for each in directions.values()):
        raise ConfigError(f"steering {name} needs directions that are finite and not zero, in float32")
    if any(value.name == given for value in graph.graph.input):
        raise ConfigError(f"the graph has an input {given} already: take another name")
    types = _types(graph)
    for activation, direction in directions.items():
        _check(types, activation, direction)
        _add(graph.graph, given, activation, direction)
    graph.graph.input.append(helper.make_tensor_value_info(given, TensorProto.FLOAT, (1,)))
    return bytes(graph.SerializeToString())


def _check_answers(content: Mapping[str, bytes], name: str, steering: SteeringInput) -> None:
    """Asks the graph what its bundle was compared by, or zeros, over the range."""
    graph, given = load_graph(content, name, Engine("cpu")), f"{PREFIX}{steering.name}"
    known = read_cases(content[CASES_FILE])[0] if CASES_FILE in content else {}
    feeds = {key: known[key] if key in known else _zeros(spec) for key, spec in graph.inputs.items()}
    for amount in (0.0, steering.lower, steering.default, steering.upper):
        for output, answer in graph.run({**feeds, given: np.array([amount], np.float32)}).items():
            if not np.isfinite(np.asarray(answer)).all():
                raise ConfigError(
                    f"at {steering.name} {amount:g} the graph's {output} is not finite: take a shorter direction or a "
                    "smaller range"
                )


def _zeros(spec: TensorSpec) -> Tensor:
    return np.zeros([length if isinstance(length, int) else 1 for length in spec.shape], DTYPES[spec.type])


def _types(model: onnx.ModelProto) -> dict[str, tuple[int, tuple[int, ...]]]:
    """Returns type and shape of each tensor that an operator makes, as far as they can be inferred."""
    inferred = shape_inference.infer_shapes(model).graph
    made = {output for node in model.graph.node for output in node.output}
    types = {value.name: value.type.tensor_type for value in (*inferred.value_info, *inferred.output)}
    return {
        name: (tensor.elem_type, tuple(length.dim_value for length in tensor.shape.dim))
        for name, tensor in types.items()
        if name in made
    }


def _check(types: Mapping[str, tuple[int, tuple[int, ...]]], activation: str, direction: Array) -> None:
    if activation not in types:
        fitting = [
            name for name, (kind, shape) in types.items() if kind == TensorProto.FLOAT and shape[1:] == direction.shape
        ]
        raise ConfigError(
            f"the graph makes no tensor {activation!r} of a known shape; those of shape (1, "
            f"{', '.join(map(str, direction.shape))}): {', '.join(fitting[:20]) or 'none'}"
        )
    kind, shape = types[activation]
    if kind != TensorProto.FLOAT:
        raise MismatchError(f"{activation} is {TensorProto.DataType.Name(kind)}, must be float32: steer another tensor")
    try:
        fits = np.broadcast_shapes(direction.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise MismatchError(f"{activation} has shape {shape}, a direction of shape {direction.shape} does not fit it")


def _add(graph: onnx.GraphProto, given: str, activation: str, direction: Array) -> None:
    """Lets the operator that makes an activation make it under another name, and the sum have the old one."""
    before, push, amount = (f"{activation}_{part}_{given}" for part in ("before", "direction", "by"))
    index, node = next((k, node) for k, node in enumerate(graph.node) if activation in node.output)
    node.output[:] = [before if name == activation else name for name in node.output]
    graph.initializer.append(numpy_helper.from_array(direction, push))
    graph.node.insert(index + 1, helper.make_node("Mul", [push, given], [amount]))
    graph.node.insert(index + 2, helper.make_node("Add", [before, amount], [activation]))

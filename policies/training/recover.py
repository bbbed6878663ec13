"""Turns an exported bundle back into a training run, so that it can be trained further."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn

from tendon.core.errors import MismatchError
from tendon.policies.bundle.bundle import Bundle, load_bundle
from tendon.policies.bundle.files import MANIFEST_FILE
from tendon.policies.export.graph_reading import read_onnx
from tendon.policies.spec.manifest import InstructionInput, Manifest
from tendon.policies.training.model import Shape, SmallVla
from tendon.policies.training.run_files import RUN_FILE, WEIGHTS_FILE
from tendon.policies.training.spaces import about_bundle, count_tools
from tendon.policies.training.tensor_files import write_tensors
from tendon.policies.training.widen import widened

PREFIX = "model."


def is_bundle(folder: Path) -> bool:
    """Returns whether a folder is a bundle, and no training run."""
    return (folder / MANIFEST_FILE).is_file()


def recover_start(bundle: Path, folder: Path, viewpoints: Mapping[str, Mapping[str, Any]]) -> Path:
    """Returns the folder of the run that a bundle was exported from, to go on from with other data.

    Args:
        bundle: made by `export_bundle`.
        folder: to write.
        viewpoints: of the cameras of the robot that is trained, as demonstrations say them.

    Raises:
        MismatchError: see `recover_run`.
    """
    recover_run(load_bundle(bundle), folder, viewpoints)
    return folder


def recover_run(bundle: Bundle, folder: Path, viewpoints: Mapping[str, Mapping[str, Any]]) -> None:
    """Writes `run.json` and `weights.safetensors` of the run that a bundle was exported from.

    The export folded each batch normalisation into its convolution, so the recovered ones are identities: go on
    with `Recipe(freeze_norm=True)`. The head that predicts flags is not in a bundle; it starts anew.

    Args:
        bundle: made by `export_bundle`.
        folder: of the run, for `Run(initial=...)` or `export_bundle`.
        viewpoints: of each camera, as demonstrations say them.

    Raises:
        IntegrityError: the graph cannot be read.
        MismatchError: it lacks a weight of `SmallVla`, or one of that size.
    """
    manifest, reads = bundle.manifest, bundle.manifest.instruction
    if not isinstance(reads, InstructionInput):
        raise MismatchError(f"bundle {manifest.name} reads no words of a vocabulary: it was not exported from SmallVla")
    if manifest.denoiser is not None:
        raise MismatchError(f"bundle {manifest.name} has two graphs: recover the run from its one-graph bundle")
    found = _tensors(read_onnx(bundle.content[manifest.model], manifest.model))
    rows, components = manifest.action.rows, len(manifest.action.components)
    shape = Shape(
        cameras={camera.name: (camera.height, camera.width) for camera in manifest.cameras},
        tools=count_tools([{"name": item.name} for item in manifest.state]),
        state=manifest.state_size,
        rows=rows,
        components=components,
        tokens=reads.tokens,
        vocabulary=len(reads.vocabulary),
    )
    statistics = _statistics(manifest, found)
    model = SmallVla(shape, viewpoints, statistics)
    weights = model.state_dict()
    for name in weights:
        value = found.get(PREFIX + name)
        if value is not None:
            given = widened({name: torch.from_numpy(value.copy())}, weights)[name]
            if given.shape != weights[name].shape:
                raise MismatchError(f"{manifest.model}: {name} is {value.shape}, expected {tuple(weights[name].shape)}")
            weights[name] = given
        elif not name.startswith("flags.") and name != "flow.frequency" and not _in_norm(model, name):
            raise MismatchError(f"{manifest.model} has no weight {name}: it was not exported from this network")
    _unfold(model, weights, found)
    folder.mkdir(parents=True, exist_ok=True)
    write_tensors(folder / WEIGHTS_FILE, weights)
    record = {
        "recipe": dict(manifest.training.get("recipe", {})),
        "shape": asdict(shape),
        "vocabulary": list(reads.vocabulary),
        "statistics": statistics,
        **about_bundle(manifest, viewpoints),
        "frames": manifest.training.get("frames", 0),
        "step": manifest.training.get("step", 0),
    }
    (folder / RUN_FILE).write_text(json.dumps(record, indent=1))


def _tensors(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    """Returns the graph's initialisers; a matrix that a bias of a known name is added to gets that name, transposed."""
    graph = model.graph
    found = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    made_by = {output: node for node in graph.node for output in node.output}
    for node in graph.node:
        if node.op_type == "Add" and node.input[1].endswith(".bias") and node.input[0] in made_by:
            product = made_by[node.input[0]]
            if product.op_type == "MatMul" and product.input[1] in found:
                found[node.input[1].removesuffix("bias") + "weight"] = found[product.input[1]].T
    found[PREFIX + "language.slots"] = found["expand"][0]
    return found


def _statistics(manifest: Manifest, found: Mapping[str, np.ndarray]) -> dict[str, list[Any]]:
    mean, std = np.array(manifest.action.mean), np.array(manifest.action.std)
    row_std = std / found["scale"]
    return {
        "state_mean": list(manifest.state_mean),
        "state_std": list(manifest.state_std),
        "action_mean": (mean - found["shift"] * row_std).tolist(),
        "action_std": row_std.tolist(),
    }


def _in_norm(model: nn.Module, name: str) -> bool:
    return isinstance(model.get_submodule(name.rpartition(".")[0]), nn.BatchNorm2d)


def _unfold(model: nn.Module, weights: dict[str, Tensor], found: Mapping[str, np.ndarray]) -> None:
    """Makes each batch normalisation an identity plus the bias that its convolution got."""
    for name, module in model.named_modules():
        if isinstance(module, nn.BatchNorm2d):
            place, _, index = name.rpartition(".")
            bias = found[f"{PREFIX}{place}.{int(index) - 1}.weight_bias"]
            weights[f"{name}.bias"] = torch.from_numpy(bias.copy())
            weights[f"{name}.weight"] = torch.full((len(bias),), math.sqrt(1 + module.eps))
            weights[f"{name}.running_mean"] = torch.zeros(len(bias))
            weights[f"{name}.running_var"] = torch.ones(len(bias))

"""Exports a training run to a bundle, checked against torch before it is kept.

One graph, flow steps unrolled, continues a prefix as in training; two graphs can be in-painted (`two_graphs`).
"""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from tendon.core.errors import ConfigError, MismatchError
from tendon.policies.adapter.matching import EMBEDDING
from tendon.policies.bundle.bundle import Bundle, write_bundle
from tendon.policies.export.exported import CONTEXT_GRAPH
from tendon.policies.export.networks.two_graphs import denoiser_settings, export_two_graphs, observe, row_conversion
from tendon.policies.spec.manifest import MODEL_FILE, CameraInput, InstructionInput, Manifest
from tendon.policies.spec.spaces import STATE_ITEMS, ActionSpace, StateItem
from tendon.policies.training.model import Shape, SmallVla
from tendon.robots.profile import RobotProfile

LARGEST_DIFFERENCE = 1e-3
PARITY_CASES = 4
OUTPUTS = ("actions", "points", EMBEDDING)


class Deployed(nn.Module):
    """The graph of a bundle: uint8 images and normalised numbers in, a whole chunk out.

    The network normalises each row of a chunk by itself, a bundle normalises each component; this converts.
    """

    def __init__(self, model: SmallVla, statistics: Mapping[str, list[Any]], action: ActionSpace) -> None:
        super().__init__()
        self.model = model
        scale, shift = row_conversion(statistics, action)
        self.register_buffer("scale", scale)
        self.register_buffer("shift", shift)

    def forward(
        self,
        image_scene: Tensor,
        image_wrist: Tensor,
        state: Tensor,
        tokens: Tensor,
        prefix: Tensor,
        prefix_rows: Tensor,
        noise: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Inputs and outputs as in `tendon.policies.adapter.matching`."""
        context, points, embedding = observe(self.model, image_scene, image_wrist, state, tokens)
        given = (torch.arange(self.model.shape.rows) < prefix_rows[:, None]).float()
        chunk = self.model.sample(context, prefix * self.scale + self.shift, given, noise)
        return (chunk - self.shift) / self.scale, points, embedding


def load_run(run: Path) -> tuple[SmallVla, dict[str, Any]]:
    """Returns the network of a training run, in evaluation mode, and what its `run.json` holds.

    Raises:
        ConfigError: there is no such run.
    """
    if not (run / "weights.safetensors").is_file():
        raise ConfigError(f"no training run at {run}: it has no weights.safetensors; `tendon policy train` makes one")
    record = json.loads((run / "run.json").read_text())
    model = SmallVla(Shape(**record["shape"]), record["cameras"], record["statistics"])
    model.load_state_dict(load_file(run / "weights.safetensors"))
    return model.eval(), record


def export_bundle(
    run: Path,
    folder: Path,
    profile: RobotProfile,
    name: str,
    training: Mapping[str, Any] | None = None,
    *,
    denoiser: bool = False,
) -> Bundle:
    """Writes the bundle of a training run.

    Args:
        run: folder with `run.json` and `weights.safetensors`.
        folder: where the bundle goes.
        profile: the robot it was trained on.
        name: of the policy.
        training: what to record beside the run's own recipe.
        denoiser: write two graphs, see `two_graphs`; the bundle is then in-painted in place of being given a prefix.

    Raises:
        ConfigError: there is no such run.
        MismatchError: an ONNX graph does not answer what torch answers.
    """
    model, record = load_run(run)
    shape, statistics = model.shape, record["statistics"]
    manifest = Manifest(
        name=name,
        robot=profile.name,
        tool_frame=profile.tool_frame,
        joint_names=profile.joint_names,
        cameras=tuple(CameraInput(name=k, width=w, height=h) for k, (h, w) in shape.cameras.items()),
        state=tuple(StateItem(name=k, size=size, unit=unit) for k, (size, unit) in STATE_ITEMS.items()),
        state_mean=tuple(statistics["state_mean"]),
        state_std=tuple(statistics["state_std"]),
        action=ActionSpace(
            rows=shape.rows,
            step_s=record["step_s"],
            mean=tuple(np.mean(statistics["action_mean"], axis=0).tolist()),
            std=tuple(np.mean(statistics["action_std"], axis=0).tolist()),
        ),
        prefix_rows=record["prefix_rows"],
        instruction=InstructionInput(tokens=shape.tokens, vocabulary=tuple(record["vocabulary"])),
        training={"recipe": record["recipe"], "frames": record["frames"], "step": record["step"], **(training or {})},
    )
    if denoiser:
        manifest = replace(
            manifest, model=CONTEXT_GRAPH, prefix_rows=0, denoiser=denoiser_settings(len(manifest.action.components))
        )
        examples = [{k: v.numpy() for k, v in _example(shape, seed).items()} for seed in range(PARITY_CASES)]
        return write_bundle(folder, manifest, export_two_graphs(model, statistics, manifest.action, examples))
    deployed = Deployed(model, statistics, manifest.action).eval()
    graph = _to_onnx(deployed, shape)
    _check_parity(deployed, graph, shape)
    return write_bundle(folder, manifest, {MODEL_FILE: graph})


def _example(shape: Shape, seed: int) -> dict[str, Tensor]:
    torch.manual_seed(seed)
    images = {
        f"image_{k}": torch.randint(0, 256, (1, h, w, 3), dtype=torch.uint8) for k, (h, w) in shape.cameras.items()
    }
    rows = (1, shape.rows, shape.components)
    return images | {
        "state": torch.randn(1, shape.state),
        "tokens": torch.randint(0, shape.vocabulary, (1, shape.tokens)),
        "prefix": torch.randn(rows),
        "prefix_rows": torch.tensor([seed % shape.rows]),
        "noise": torch.randn(rows),
    }


def _to_onnx(deployed: Deployed, shape: Shape) -> bytes:
    example = _example(shape, 3)
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(scratch) / MODEL_FILE
        torch.onnx.export(
            deployed,
            tuple(example.values()),
            str(path),
            input_names=list(example),
            output_names=["actions", "points", "fused"],
            dynamo=True,
            external_data=False,
            verbose=False,
        )
        graph = onnx.load(path)
    _rename(graph.graph, {EMBEDDING: "word_embedding", "fused": EMBEDDING})
    return bytes(graph.SerializeToString())


def _rename(graph: onnx.GraphProto, names: Mapping[str, str]) -> None:
    """Renames tensors: the exporter names its own after operators, `embedding` too, and does not look for clashes."""
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
    for value in (*graph.output, *graph.value_info):
        value.name = names.get(value.name, value.name)


def _check_parity(deployed: Deployed, graph: bytes, shape: Shape) -> None:
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    for seed in range(PARITY_CASES):
        example = _example(shape, seed)
        with torch.no_grad():
            expected = deployed(*example.values())
        found = session.run(list(OUTPUTS), {k: v.numpy() for k, v in example.items()})
        for output, want, got in zip(OUTPUTS, expected, found, strict=True):
            difference = float(np.abs(want.numpy() - got).max())
            if not difference < LARGEST_DIFFERENCE:
                raise MismatchError(
                    f"exported graph differs from torch: output {output} by {difference:.2g}, "
                    f"allowed {LARGEST_DIFFERENCE}; do not deploy it"
                )

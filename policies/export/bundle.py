"""Exports a training run to a bundle, compared with torch before it is kept.

One graph, flow steps unrolled, continues a prefix as in training; two graphs can be in-painted (`two_graphs`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tendon.core.errors import ConfigError
from tendon.core.staging import staged
from tendon.policies.adapter.matching import check_profile
from tendon.policies.bundle.bundle import Bundle
from tendon.policies.export.cases import random_observations
from tendon.policies.export.checked_bundle import write_checked_bundle
from tendon.policies.export.exported import CONTEXT_GRAPH, Report
from tendon.policies.export.networks.one_graph import policy_graph
from tendon.policies.export.networks.two_graphs import denoiser_settings, export_two_graphs
from tendon.policies.export.source_graph import IN_TORCH, export_all
from tendon.policies.parity.bundle import Repetition
from tendon.policies.parity.graph import Case
from tendon.policies.spec.manifest import CameraInput
from tendon.policies.training.manifest import run_manifest
from tendon.policies.training.model import Shape, SmallVla
from tendon.policies.training.run_files import WEIGHTS_FILE, read_record
from tendon.policies.training.tensor_files import all_finite, read_tensors
from tendon.policies.training.widen import widened
from tendon.robots.profile import RobotProfile


def load_run(run: Path) -> tuple[SmallVla, dict[str, Any]]:
    """Returns the network of a training run, in evaluation mode, and what its `run.json` holds.

    Raises:
        ConfigError: there is no such run.
    """
    if not (run / WEIGHTS_FILE).is_file():
        raise ConfigError(f"no training run at {run}: it has no {WEIGHTS_FILE}; `tendon policy train` makes one")
    record = read_record(run)
    model = SmallVla(Shape(**record["shape"]), record["cameras"], record["statistics"])
    weights = read_tensors(run / WEIGHTS_FILE)
    if not all_finite(weights):
        raise ConfigError(f"{run / WEIGHTS_FILE} has weights that are no numbers: train again at a lower learning rate")
    model.load_state_dict(widened(weights, model.state_dict()))
    return model.eval(), record


def export_bundle(
    run: Path,
    folder: Path,
    profile: RobotProfile,
    name: str,
    *,
    denoiser: bool = False,
    report: Report = lambda _: None,
) -> tuple[Bundle, Repetition]:
    """Writes the bundle of a training run, and returns it with its parity as it was read back and repeated.

    Args:
        run: folder with `run.json` and `weights.safetensors`.
        folder: where the bundle goes; must be missing or empty.
        profile: the robot it was trained on.
        name: of the policy.
        denoiser: write two graphs, see `two_graphs`; the bundle is then in-painted in place of being given a prefix.
        report: told of each stage before it begins.

    Raises:
        ConfigError: there is no such run, or the bundle cannot be written.
        MismatchError: an ONNX graph does not answer what torch answers; or policy and robot do not fit.
    """
    with staged(folder) as staging:
        model, record = load_run(run)
        manifest = run_manifest(model.shape, record, profile, name)
        check_profile(manifest, profile)
        cases = random_cases(model.shape, manifest.cameras)
        if denoiser:
            settings = denoiser_settings(len(manifest.action.components))
            manifest = replace(manifest, model=CONTEXT_GRAPH, prefix_rows=0, denoiser=settings)
            made = export_two_graphs(model, record["statistics"], manifest.action, cases, report)
        else:
            graph = policy_graph(model, record["statistics"], manifest.action)
            made = export_all((graph,), cases, float64=False, report=report)
        source = f"SmallVla (policies/training/model.py) with the weights of run {run.resolve().name}, {IN_TORCH}"
        written, repetition = write_checked_bundle(staging, manifest, made, source, profile, report)
    return replace(written, folder=folder), repetition


def random_cases(shape: Shape, cameras: Sequence[CameraInput]) -> tuple[Case, ...]:
    """Returns random inputs of the one graph: observations, words, running plans of several lengths, noise."""
    found: list[Case] = []
    rows = (1, shape.rows, shape.components)
    for seed, observation in enumerate(random_observations(cameras, shape.state)):
        generator = np.random.default_rng(3000 + seed)
        case: dict[str, Any] = {
            "tokens": generator.integers(0, shape.vocabulary, (1, shape.tokens)),
            "prefix": generator.standard_normal(rows, dtype=np.float32),
            "prefix_rows": np.array([seed % shape.rows], np.int64),
            "noise": generator.standard_normal(rows, dtype=np.float32),
        }
        found.append({**observation, **case})
    return tuple(found)

"""`tendon policy check` repeats a bundle's parity, and says by table and exit code whether it holds here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tendon.cli import main
from tendon.policies.bundle.bundle import load_bundle, write_bundle
from tendon.policies.engines.loading import Engine, load_graph
from tendon.policies.parity.bundle import repeat_parity
from tendon.policies.parity.chunk import CHUNK, NOISE, denoised
from tendon.policies.parity.graph import CASES_FILE, measure, write_cases
from tendon.policies.parity.receipt import RECEIPT_FILE, read_receipt, receipt_files, receipt_here
from tendon.policies.spec.manifest import Manifest
from tendon.policies.spec.sampling import Flow
from tests.policies.tiny_denoiser import (
    FEATURES,
    MODEL_WIDTH,
    ROWS,
    TOKENS,
    context_graph,
    denoise_graph,
    denoised_manifest,
)

GRAPHS = {"context.onnx": context_graph(), "denoise.onnx": denoise_graph()}


def inferences() -> list[dict[str, np.ndarray]]:
    context, denoise = (load_graph(GRAPHS, name, Engine("cpu")) for name in GRAPHS)
    found = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        case = {
            "image_scene": np.zeros((1, 128, 128, 3), np.uint8),
            "state": rng.standard_normal((1, FEATURES), dtype=np.float32),
            "tokens": np.zeros((1, TOKENS), np.int64),
            "x": rng.standard_normal((1, ROWS, MODEL_WIDTH), dtype=np.float32),
            "time": np.array([0.7], np.float32),
        }
        case |= context.run({name: case[name] for name in context.inputs})
        case |= denoise.run({name: case[name] for name in denoise.inputs})
        case[NOISE] = case["x"]
        found.append({**case, CHUNK: denoised(Flow(steps=4, start=1.0, end=0.2), context, denoise, case)[None]})
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A bundle with a receipt whose flow ends at 0.2, so that its chunks are not 0."""
    cases = inferences()
    rows = [
        row
        for name in GRAPHS
        for row in measure(name, load_graph(GRAPHS, name, Engine("cpu")), cases, precision="fp32", bound=1e-4)
    ]
    receipt = receipt_here("the graphs themselves", rows)
    write_bundle(tmp_path / "tiny", manifest(), {**GRAPHS, **receipt_files(receipt, cases)})
    return tmp_path / "tiny"


def manifest(end: float = 0.2) -> Manifest:
    made = denoised_manifest()
    assert made.denoiser is not None
    return replace(made, denoiser=replace(made.denoiser, schedule=Flow(steps=4, start=1.0, end=end)))


def rewrite(folder: Path, change: Callable[[dict[str, bytes]], object], manifest: Manifest | None = None) -> None:
    """Writes the bundle anew with other content: hashes are right again, only parity can tell."""
    bundle = load_bundle(folder)
    content = dict(bundle.content)
    change(content)
    for name in bundle.content:
        (folder / name).unlink()
    write_bundle(folder, manifest or bundle.manifest, content)


def scaled(model: bytes, weight: str, factor: float) -> bytes:
    graph = onnx.load_model_from_string(model)
    for tensor in graph.graph.initializer:
        if tensor.name == weight:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * np.float32(factor), weight))
    return bytes(graph.SerializeToString())


def test_an_untouched_bundle_passes_on_every_engine_that_is_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["policy", "check", str(folder), "--engine", "cpu", "--engine", "cpu"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("tiny flow on cpu") == shown.count("compared with the graphs themselves") == 2
    assert all(output in shown for output in ("context", "velocity", "chunk"))


def test_the_best_engine_is_taken_when_none_is_named(folder: Path) -> None:
    repetition = repeat_parity(load_bundle(folder))
    assert repetition.passed and {row.graph for row in repetition.rows} == set(GRAPHS)
    assert repetition.receipt == read_receipt(load_bundle(folder).content[RECEIPT_FILE])


def test_the_shipped_bundle_repeats_its_parity_with_the_network_in_torch(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "check", "tabletop", "--engine", "cpu"]) == 0
    shown = capsys.readouterr().out
    assert all(output in shown for output in ("actions", "points", "embedding"))
    assert "compared with SmallVla (policies/training/model.py)" in shown


def test_an_altered_graph_is_out_of_bound(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rewrite(folder, lambda content: content.update({"denoise.onnx": scaled(GRAPHS["denoise.onnx"], "gain", 1.02)}))
    assert main(["policy", "check", str(folder), "--engine", "cpu"]) == 1
    shown = capsys.readouterr().out
    assert "differs" in shown
    assert "denoise.onnx first differs from a plain run at: no node by itself" in shown


def test_another_schedule_is_out_of_bound_although_every_graph_agrees(folder: Path) -> None:
    rewrite(folder, lambda content: None, manifest(end=0.1))
    failed = [row.output for row in repeat_parity(load_bundle(folder), Engine("cpu")).rows if not row.passed]
    assert failed == [CHUNK]


@pytest.mark.parametrize("name", [CASES_FILE, RECEIPT_FILE])
def test_a_bundle_without_its_inferences_cannot_be_checked(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    rewrite(folder, lambda content: content.pop(name))
    assert main(["policy", "check", str(folder)]) == 2
    assert f"has no {name}" in capsys.readouterr().err


def test_inferences_of_another_policy_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = [{name: value for name, value in case.items() if name != "state"} for case in inferences()]
    rewrite(folder, lambda content: content.update({CASES_FILE: write_cases(cases)}))
    assert main(["policy", "check", str(folder)]) == 2
    assert "lack state of context.onnx" in capsys.readouterr().err


@pytest.mark.parametrize("engine", ["gpu", "cpu:fp16"])
def test_an_engine_that_there_is_not_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str], engine: str) -> None:
    assert main(["policy", "check", str(folder), "--engine", engine]) == 2
    assert engine.partition(":")[0] in capsys.readouterr().err

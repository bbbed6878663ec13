"""The script for GPUs: what it says without one, and that its ways through buffers answer what `run` answers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import gpu
import numpy as np
import pytest
from gpu import EXIT_NO_GPU, TABLETOP, feeds_of, session, ways

from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.engines.engine import Engine

SCRIPT = Path(gpu.__file__)


def pretend(folder: Path, says: str, code: int = 0) -> dict[str, str]:
    """Returns an environment with an `nvidia-smi` of our own."""
    command = folder / "nvidia-smi"
    command.write_text(f"#!/bin/sh\necho '{says}'\nexit {code}\n")
    command.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.mark.parametrize(
    ("says", "code", "words"),
    [
        ("No devices were found", 6, "nothing measured: no NVIDIA GPU: nvidia-smi says: No devices were found"),
        ("GPU 0: NVIDIA H100 (UUID: GPU-1)", 0, r"for the CPU: pip uninstall -y onnxruntime && pip install"),
    ],
)
def test_without_a_gpu_it_says_so_and_ends_with_its_own_code(tmp_path: Path, says: str, code: int, words: str) -> None:
    """No GPU, and a GPU with an onnxruntime for the CPU: told apart from a benchmark that failed."""
    told = subprocess.run(
        [sys.executable, str(SCRIPT)], env=pretend(tmp_path, says, code), capture_output=True, text=True, timeout=120
    )
    assert told.returncode == EXIT_NO_GPU
    assert words in told.stderr
    assert len(told.stderr.splitlines()) == 1


def test_every_way_answers_what_run_answers() -> None:
    """On the CPU, for two inputs in turn: a buffer that was not written anew, or not read, would show."""
    bundle, engine = load_bundle(TABLETOP), Engine("cpu")
    ort = session(bundle, engine)
    first, second = feeds_of(bundle, None, [each.name for each in ort.get_inputs()])
    assert any(not np.array_equal(first[name], second[name]) for name in first)
    runs = ways(bundle, engine, ort, first)
    assert list(runs) == ["run", "IO binding, outputs", "IO binding, buffers on the device"]
    for feeds in (first, second, first):
        right = runs["run"](feeds)
        kept = {name: run(feeds) for name, run in runs.items()}
        for found in kept.values():
            for name, value in right.items():
                np.testing.assert_array_equal(found[name], value)


def test_a_dead_process_and_an_error_are_reasons_not_the_end() -> None:
    """Of one engine."""
    assert gpu.alone(os._exit, 7) == (None, "its process died")
    found, reason = gpu.alone(load_bundle, "nowhere")
    assert found is None
    assert "nowhere" in reason


def test_one_way_that_cannot_run_leaves_the_others_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """As onnxruntime cannot record every network as a CUDA graph."""
    possible = ways

    def impossible(feeds: object) -> dict[str, np.ndarray]:
        raise RuntimeError("no such\nrecording")

    monkeypatch.setattr(gpu, "ways", lambda *given: {**possible(*given), "CUDA graph": impossible})
    found = gpu.time_ways(TABLETOP, Engine("cpu"), None, 0.01)
    assert found.pop("CUDA graph") == "no such recording"
    assert set(found) == {"run", "IO binding, outputs", "IO binding, buffers on the device"}
    assert all(len(times_ms) >= gpu.MIN_RUNS and not wrong for times_ms, wrong in found.values())

"""Fewer steps of a denoiser: the same graphs, a schedule that is asked less often, and no claim that does not hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tendon.cli import main
from tendon.core.errors import ConfigError
from tendon.policies.bundle.bundle import Bundle, load_bundle, write_bundle
from tendon.policies.engines.loading import Engine
from tendon.policies.export.convert.fewer_steps import with_steps
from tendon.policies.parity.bundle import answered, load_graphs, repeat_parity
from tendon.policies.parity.chunk import CHUNK, NOISE, denoised, measure_chunks
from tendon.policies.parity.graph import CASES_FILE, measure, read_cases
from tendon.policies.parity.receipt import receipt_files, receipt_here
from tests.policies.tiny_denoiser import FEATURES, MODEL_WIDTH, ROWS, TOKENS, build_denoised


@pytest.fixture
def source(tmp_path: Path) -> Bundle:
    """A flow in five steps whose receipt holds whole chunks."""
    bare = build_denoised(tmp_path / "source")
    graphs = load_graphs(bare, Engine("cpu"))
    rng, schedule = np.random.default_rng(0), bare.manifest.denoiser.schedule
    inputs = {
        "image_scene": np.zeros((1, 128, 128, 3), np.uint8),
        "state": rng.standard_normal((1, FEATURES)).astype(np.float32),
        "tokens": np.zeros((1, TOKENS), np.int64),
        "x": rng.standard_normal((1, ROWS, MODEL_WIDTH)).astype(np.float32),
        "time": np.ones(1, np.float32),
    }
    case = answered(graphs, inputs | {NOISE: inputs["x"]})
    context, denoise = graphs.values()
    case = {**case, CHUNK: denoised(schedule, context, denoise, case)[None]}
    rows = [row for name, graph in graphs.items() for row in measure(name, graph, [case], precision="fp32", bound=1e-3)]
    pair = (schedule, context, "denoise.onnx", denoise, [case])
    rows += measure_chunks(*pair, precision="fp32", bound=1e-3)
    return write_bundle(
        bare.folder, bare.manifest, {**bare.content, **receipt_files(receipt_here("test", rows), [case])}
    )


def test_graphs_and_their_receipt_stay_and_that_of_whole_chunks_goes(source: Bundle, tmp_path: Path) -> None:
    assert CHUNK in {row.output for row in repeat_parity(source, Engine("cpu")).rows}
    made = with_steps(source, tmp_path / "made", 2)
    assert made.manifest.denoiser.schedule.steps == 2
    assert made.manifest.training["variant"] == {"of": source.digest, "steps": 2}
    assert all(made.content[name] == source.content[name] for name in ("context.onnx", "denoise.onnx"))
    repeated = repeat_parity(made, Engine("cpu"))
    assert repeated.passed and {row.output for row in repeated.rows} == {"context", "velocity"}
    assert all(CHUNK not in case for case in read_cases(made.content[CASES_FILE]))


@pytest.mark.parametrize(("steps", "message"), [(5, "takes 5 steps already"), (0, "steps is 0")])
def test_steps_that_make_no_other_policy_are_refused(source: Bundle, tmp_path: Path, steps: int, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        with_steps(source, tmp_path / "made", steps)
    assert not (tmp_path / "made").exists()


def test_the_source_is_not_replaced(source: Bundle) -> None:
    with pytest.raises(ConfigError, match="would replace"):
        with_steps(source, source.folder, 2)


def test_the_command_makes_one_and_wants_one_kind_of_variant(
    source: Bundle, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["policy", "variant", str(source.folder), str(tmp_path / "made")]
    for wrong in ([], ["--steps", "2", "--precision", "fp16"]):
        assert main([*words, *wrong]) == 2
        assert "either --precision or --steps" in capsys.readouterr().err
    assert main([*words, "--steps", "2"]) == 0
    assert load_bundle(tmp_path / "made").digest[:12] in capsys.readouterr().out
    assert main(["policy", "variant", "tabletop", str(tmp_path / "no"), "--steps", "2"]) == 2
    assert "answers a chunk at once" in capsys.readouterr().err

"""`tendon policy bench`: each engine alone, what goes wrong is a row, what is recommended holds its parity bound."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tendon.cli import main
from tendon.policies.bundle.bundle import write_bundle
from tendon.policies.engines.bench import (
    MIN_RUNS,
    Failed,
    Job,
    Measured,
    Parity,
    Spread,
    engines_here,
    measure,
    measure_here,
    recommend,
)
from tendon.policies.engines.engine import Engine, installed
from tendon.policies.engines.loading import load_graph
from tendon.policies.parity.graph import measure as compare
from tendon.policies.parity.receipt import receipt_files, receipt_here
from tendon.policies.spec.manifest import Manifest
from tests.policies.tiny_denoiser import build_denoised

CPU, OPENVINO, BF16 = map(Engine.parse, ("cpu", "openvino", "openvino:bf16"))


def row(engine: Engine, p95: float, relative: float = 0.0, bound: float = 1e-3) -> Measured:
    """Returns a result as far as a recommendation looks at it."""
    spread = Spread(p50=p95 / 2, p95=p95, p99=2 * p95)
    return Measured(
        job=Job(bundle=Path("b"), engine=engine),
        runs=20,
        whole=spread,
        graphs=spread,
        rate_hz=1.0,
        cpu_ms=1.0,
        load_s=1.0,
        memory_mb=1.0,
        size_mb=1.0,
        parity=Parity(relative=relative, bound=bound, source=True),
    )


@pytest.fixture
def bundle(tmp_path: Path, manifest: Callable[..., Manifest], model: Callable[..., bytes]) -> Path:
    """Without a receipt."""
    write_bundle(tmp_path / "tiny", manifest(), {"policy.onnx": model(move=(0.1, 0.0, 0.0, 0.0))})
    return tmp_path / "tiny"


def receipt_of(model: bytes) -> dict[str, bytes]:
    """Returns the files that say what a graph answers to zeros."""
    source = {"policy.onnx": model}
    graph = load_graph(source, "policy.onnx", CPU)
    case = {name: np.zeros([n for n in spec.shape if isinstance(n, int)]) for name, spec in graph.inputs.items()}
    kinds = {"tensor(uint8)": np.uint8, "tensor(int64)": np.int64, "tensor(float)": np.float32}
    inputs = {name: value.astype(kinds[graph.inputs[name].type]) for name, value in case.items()}
    cases = [{**inputs, **graph.run(inputs)}]
    rows = compare("policy.onnx", graph, cases, precision="fp32", bound=1e-4)
    return receipt_files(receipt_here("zeros", rows), cases)


class TestMeasuring:
    """In processes."""

    def test_every_engine_asked_for_has_a_row_and_one_is_recommended(
        self, bundle: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["policy", "bench", str(bundle), "--engine", "cpu", "--engine", "openvino", "--seconds", "0"]) == 0
        shown = capsys.readouterr().out
        assert "parity with engine cpu" in shown and shown.count(" ok") == 2
        assert "recommended: engine:=" in shown

    def test_what_does_not_start_is_a_row_and_the_others_are_still_measured(
        self, bundle: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        missing = next((name for name in ("tensorrt", "cuda") if not installed(name)), None)
        if missing is None:
            pytest.skip("every engine is installed here")
        assert main(["policy", "bench", str(bundle), "--engine", missing, "--engine", "cpu", "--seconds", "0"]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert f"{missing}: engine {missing} is not installed: " in shown and "pip install" in shown
        assert "recommended: engine:=cpu" in shown

    def test_a_process_that_is_killed_is_a_row(self, bundle: Path) -> None:
        def kill() -> None:
            while not (children := multiprocessing.active_children()):
                time.sleep(0.01)
            children[0].kill()

        killer = threading.Thread(target=kill)
        killer.start()
        result = measure(Job(bundle=bundle, engine=CPU, seconds=60.0))
        killer.join()
        assert isinstance(result, Failed) and "was killed by SIGKILL; was memory short?" in result.reason

    def test_a_bundle_for_another_robot_gives_no_recommendation(
        self, bundle: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["policy", "bench", str(bundle), "--engine", "cpu", "--robot", "ur5e"]) == 1
        shown = " ".join(capsys.readouterr().out.split())
        assert "robot is panda, expected ur5e" in shown
        assert "recommended: none, no engine gave a result" in shown


class TestHere:
    """In this process."""

    def test_times_are_ordered_and_parts_are_less_than_the_whole(self, bundle: Path) -> None:
        found = measure_here(Job(bundle=bundle, engine=CPU, seconds=0.0))
        assert found.runs == MIN_RUNS
        assert 0.0 < found.graphs.p50 < found.whole.p50 <= found.whole.p95 <= found.whole.p99
        assert (
            found.rate_hz > 0.0 and found.cpu_ms > 0.0 and found.load_s > 0.0 and found.memory_mb > found.size_mb > 0.0
        )
        assert found.parity == Parity(relative=0.0, bound=1e-3, source=False)

    def test_a_denoiser_is_measured_over_steps_of_its_own(self, tmp_path: Path) -> None:
        build_denoised(tmp_path / "flow")
        parity = measure_here(Job(bundle=tmp_path / "flow", engine=OPENVINO, seconds=0.0)).parity
        assert parity.passed and not parity.source and parity.bound == 1e-3

    @pytest.mark.parametrize(("made_of", "passed"), [(0.1, True), (0.11, False)])
    def test_parity_is_with_the_source_where_the_bundle_has_a_receipt(
        self,
        tmp_path: Path,
        manifest: Callable[..., Manifest],
        model: Callable[..., bytes],
        made_of: float,
        passed: bool,
    ) -> None:
        """Engines agree with one another on an altered graph; only its source can tell."""
        graph, source = (model(move=(move, 0.0, 0.0, 0.0)) for move in (0.1, made_of))
        write_bundle(tmp_path / "b", manifest(), {"policy.onnx": graph, **receipt_of(source)})
        parity = measure_here(Job(bundle=tmp_path / "b", engine=CPU, seconds=0.0)).parity
        assert parity.source and parity.passed is passed

    def test_an_instruction_is_made_of_the_words_that_a_small_policy_knows(
        self, tmp_path: Path, manifest: Callable[..., Manifest], model: Callable[..., bytes]
    ) -> None:
        one_word = replace(manifest().instruction, vocabulary=("<pad>", "<unk>", "go"))
        write_bundle(tmp_path / "b", manifest(instruction=one_word), {"policy.onnx": model()})
        assert measure_here(Job(bundle=tmp_path / "b", engine=CPU, seconds=0.0)).runs == MIN_RUNS


class TestRefusal:
    """Before anything is measured."""

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (["--engine", "tensort"], "did you mean tensorrt?"),
            (["--threads", "0"], "--threads is 0"),
            (["--seconds", "nan"], "--seconds is nan"),
            (["--seconds", "-1"], "--seconds is -1"),
            (["--seconds", "inf"], "--seconds is inf"),
        ],
    )
    def test_a_wrong_option_says_so(
        self, bundle: Path, capsys: pytest.CaptureFixture[str], options: list[str], words: str
    ) -> None:
        assert main(["policy", "bench", str(bundle), *options]) == 2
        assert words in capsys.readouterr().err

    def test_an_altered_bundle_is_refused_once(
        self, bundle: Path, model: Callable[..., bytes], capsys: pytest.CaptureFixture[str]
    ) -> None:
        (bundle / "policy.onnx").write_bytes(model(move=(1.0, 0.0, 0.0, 0.0)))
        assert main(["policy", "bench", str(bundle)]) == 2
        assert capsys.readouterr().err.count("was changed") == 1


class TestRecommendation:
    """Of results."""

    def test_the_fastest_is_taken(self) -> None:
        best, why = recommend([row(CPU, 9.0), row(OPENVINO, 7.0)])
        assert best is not None and best.job.engine == OPENVINO
        assert why == "the fastest that is within its parity bound"

    @pytest.mark.parametrize("relative", [2e-3, float("inf"), float("nan")])
    def test_one_beyond_its_bound_is_not_taken_however_fast(self, relative: float) -> None:
        best, why = recommend([row(CPU, 9.0), row(OPENVINO, 1.0, relative)])
        assert best is not None and best.job.engine == CPU
        assert "openvino: faster, but beyond the bound" in why
        best, why = recommend([row(OPENVINO, 1.0, relative)])
        assert best is None and why == "no engine is within its parity bound"

    @pytest.mark.parametrize(("p95", "taken"), [(8.0, BF16), (9.5, CPU), (11.0, CPU)])
    def test_less_than_float32_has_to_be_worth_it(self, p95: float, taken: Engine) -> None:
        best, why = recommend([row(CPU, 10.0), row(BF16, p95, 0.01, 0.06)])
        assert best is not None and best.job.engine == taken
        assert ("hardly slower than openvino:bf16" in why) == (p95 == 9.5)

    def test_nothing_is_recommended_of_nothing(self) -> None:
        failed = Failed(job=Job(bundle=Path("b"), engine=CPU), reason="dead")
        assert recommend([failed]) == recommend([]) == (None, "no engine gave a result")


def test_the_engines_here_are_those_that_are_installed() -> None:
    assert CPU in engines_here()
    assert all(installed(engine.provider) for engine in engines_here())

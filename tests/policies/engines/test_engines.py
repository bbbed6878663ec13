"""Every engine keeps the contract of `Graph`; what cannot run is refused with a clear error."""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from tendon.core.errors import ConfigError, IntegrityError, InvalidDataError, MismatchError, MissingDependencyError
from tendon.policies.engines.engine import ENGINES, ORT_PROVIDERS, Engine, runtimes
from tendon.policies.engines.loading import Graph, Held, TensorSpec, load_graph
from tendon.policies.engines.onnx_signature import onnx_signature
from tendon.policies.engines.ort_graph import OrtGraph
from tests.laws import law_settings

BF16_HERE = "BF16" in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
HERE = [
    Engine("cpu"),
    Engine("openvino"),
    pytest.param(
        Engine("openvino", "bf16"), marks=pytest.mark.skipif(not BF16_HERE, reason="this CPU has no bfloat16")
    ),
]


def graph_of(nodes: list[Any], inputs: dict[str, Any], outputs: dict[str, Any], weights: dict[str, Any]) -> bytes:
    """Returns a model; inputs and outputs are name to (type, shape)."""
    made = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, *spec) for name, spec in inputs.items()],
        [helper.make_tensor_value_info(name, *spec) for name, spec in outputs.items()],
        [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()],
    )
    return bytes(helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())


@functools.cache
def encoder() -> bytes:
    """Context = image / 255 @ w, seen = mean of the context."""
    rng = np.random.default_rng(0)
    return graph_of(
        [
            helper.make_node("Cast", ["image"], ["float"], to=TensorProto.FLOAT),
            helper.make_node("Div", ["float", "full"], ["unit"]),
            helper.make_node("MatMul", ["unit", "w"], ["context"]),
            helper.make_node("ReduceMean", ["context"], ["seen"], keepdims=0),
        ],
        {"image": (TensorProto.UINT8, (1, 6, 8))},
        {"context": (TensorProto.FLOAT, (1, 6, 5)), "seen": (TensorProto.FLOAT, ())},
        {"w": rng.normal(size=(8, 5)).astype(np.float32), "full": np.float32(255.0)},
    )


@functools.cache
def step() -> bytes:
    """Velocity = x @ context + time, and the count of tokens."""
    return graph_of(
        [
            helper.make_node("MatMul", ["x", "context"], ["attended"]),
            helper.make_node("Add", ["attended", "time"], ["velocity"]),
            helper.make_node("ReduceSum", ["tokens"], ["count"], keepdims=0),
        ],
        {
            "x": (TensorProto.FLOAT, (1, 4, 6)),
            "time": (TensorProto.FLOAT, (1,)),
            "tokens": (TensorProto.INT64, (1, 3)),
            "context": (TensorProto.FLOAT, (1, 6, 5)),
        },
        {"velocity": (TensorProto.FLOAT, (1, 4, 5)), "count": (TensorProto.INT64, ())},
        {},
    )


def image(seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(0, 256, (1, 6, 8), dtype=np.uint8)


def step_feeds(context: Any) -> dict[str, Any]:
    x = np.random.default_rng(1).normal(size=(1, 4, 6)).astype(np.float32)
    return {"x": x, "time": np.array([0.5], np.float32), "tokens": np.arange(3)[None], "context": context}


class TestNames:
    """Text to engine and back."""

    @pytest.mark.parametrize("text", ENGINES)
    def test_every_name_reads_back(self, text: str) -> None:
        assert str(Engine.parse(text)) == text

    @law_settings()
    @given(text=st.text(max_size=20))
    def test_any_text_is_an_engine_or_a_config_error(self, text: str) -> None:
        try:
            assert str(Engine.parse(text)) in ENGINES
        except ConfigError as error:
            assert "known" in str(error)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "no engine ''"),
            ("tensort", "did you mean tensorrt"),
            ("cpu:fp16", "no precision 'fp16', known: cpu"),
            ("openvino:", "no precision ''"),
            ("tensorrt:int3", "known: tensorrt, tensorrt:fp16"),
            ("CPU", "no engine 'CPU'"),
        ],
    )
    def test_a_wrong_name_says_what_there_is(self, text: str, message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            Engine.parse(text)


@pytest.fixture(scope="class")
def load(engine: Engine) -> Callable[..., Graph]:
    """Returns what loads a model once for all tests of an engine."""

    @functools.cache
    def load(model: bytes, **files: bytes) -> Graph:
        return load_graph({"m": model, **files}, "m", engine)

    return load


@pytest.mark.parametrize("engine", HERE, ids=str, scope="class")
class TestConformance:
    """What `Graph` promises, on every engine of this machine."""

    def test_it_says_what_it_is(self, load: Callable[..., Graph], engine: Engine) -> None:
        """Engine, provider, and ONNX's names of inputs and outputs with shape and type."""
        graph = load(step())
        assert graph.engine == engine
        assert graph.provider
        assert {name: (spec.shape, spec.type) for name, spec in graph.inputs.items()} == {
            "x": ((1, 4, 6), "tensor(float)"),
            "time": ((1,), "tensor(float)"),
            "tokens": ((1, 3), "tensor(int64)"),
            "context": ((1, 6, 5), "tensor(float)"),
        }
        assert graph.outputs["count"].type == "tensor(int64)"
        assert list(graph.outputs) == ["velocity", "count"]

    def test_an_input_that_nothing_reads_is_fed_all_the_same(self, load: Callable[..., Graph]) -> None:
        """What a graph declares is what it takes, whatever an engine removes."""
        graph = load(
            graph_of(
                [helper.make_node("Abs", ["x"], ["y"])], {"x": (1, (2,)), "blind": (7, (3,))}, {"y": (1, (2,))}, {}
            )
        )
        assert graph.inputs["blind"].type == "tensor(int64)"
        feeds = {"x": np.array([-1.0, 2.0], np.float32), "blind": np.zeros(3, np.int64)}
        np.testing.assert_array_equal(graph.run(feeds)["y"], [1.0, 2.0])
        with pytest.raises(InvalidDataError, match="missing"):
            graph.run({"x": feeds["x"]})

    def test_it_answers_what_numpy_answers(self, load: Callable[..., Graph], engine: Engine) -> None:
        """All outputs, in host memory, of the declared type."""
        context = np.random.default_rng(2).normal(size=(1, 6, 5)).astype(np.float32)
        feeds = step_feeds(context)
        answer = load(step()).run(feeds)
        tolerance = 1e-5 if engine.precision is None else 0.05
        np.testing.assert_allclose(answer["velocity"], feeds["x"] @ context + 0.5, rtol=tolerance, atol=tolerance)
        assert answer["velocity"].dtype == np.float32
        assert answer["count"] == 3 and answer["count"].dtype == np.int64

    def test_a_held_output_feeds_another_graph(self, load: Callable[..., Graph]) -> None:
        """With the same answer as through host memory; what is not held is an array."""
        first, second = load(encoder()), load(step())
        plain = first.run({"image": image()})
        held = first.run({"image": image()}, hold=["context"])
        assert isinstance(held["context"], Held) and isinstance(held["seen"], np.ndarray)
        np.testing.assert_array_equal(held["context"].numpy(), plain["context"])
        np.testing.assert_array_equal(
            second.run(step_feeds(held["context"]))["velocity"], second.run(step_feeds(plain["context"]))["velocity"]
        )

    @pytest.mark.parametrize("hold", [(), ("context",)])
    def test_a_later_run_does_not_change_an_earlier_answer(
        self, load: Callable[..., Graph], hold: tuple[str, ...]
    ) -> None:
        """Neither arrays nor held values are buffers that the next run writes to."""
        graph, reader = load(encoder()), load(step())
        first = graph.run({"image": image(0)}, hold)
        before = reader.run(step_feeds(first["context"]))["velocity"].copy()
        for seed in range(1, 4):
            later = graph.run({"image": image(seed)}, hold)
            reader.run(step_feeds(later["context"]))
        np.testing.assert_array_equal(reader.run(step_feeds(first["context"]))["velocity"], before)

    def test_a_held_value_outlives_its_graph(self, load: Callable[..., Graph], engine: Engine) -> None:
        """A policy may be swapped out while its context is still read."""
        expected = load(encoder()).run({"image": image()})["context"]
        held = load_graph({"m": encoder()}, "m", engine).run({"image": image()}, hold=["context"])["context"]
        np.testing.assert_array_equal(held.numpy(), expected)

    def test_inputs_are_not_written_and_need_not_be_contiguous(self, load: Callable[..., Graph]) -> None:
        """A view into a larger, read-only image is fine."""
        wide = np.random.default_rng(3).integers(0, 256, (1, 6, 16), dtype=np.uint8)
        view = wide[:, :, ::2]
        view.setflags(write=False)
        graph = load(encoder())
        expected = graph.run({"image": np.ascontiguousarray(view)})["context"]
        np.testing.assert_array_equal(graph.run({"image": view})["context"], expected)
        np.testing.assert_array_equal(graph.run({"image": view}, hold=["context"])["context"].numpy(), expected)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"x": None}, r"missing \['x'\]"),
            ({"extra": np.zeros(1)}, r"unknown \['extra'\]"),
            ({"x": np.zeros((1, 4, 6))}, "input x is float64"),
            ({"x": np.zeros((1, 4, 7), np.float32)}, r"input x is float32 \(1, 4, 7\), the graph takes"),
            ({"x": np.zeros((2, 4, 6), np.float32)}, "input x"),
            ({"tokens": np.zeros((1, 3), np.int32)}, "input tokens is int32"),
            ({"time": np.float32(0.5)}, r"input time is float32 \(\)"),
        ],
    )
    def test_a_wrong_input_is_refused(self, load: Callable[..., Graph], change: dict[str, Any], message: str) -> None:
        """Never cast, broadcast or padded."""
        feeds = step_feeds(np.zeros((1, 6, 5), np.float32)) | change
        with pytest.raises(InvalidDataError, match=message):
            load(step()).run({name: value for name, value in feeds.items() if value is not None})

    def test_holding_what_is_no_output_is_refused(self, load: Callable[..., Graph]) -> None:
        with pytest.raises(InvalidDataError, match="hold names contxt, which is no output: context, seen"):
            load(encoder()).run({"image": image()}, hold=["contxt"])

    def test_a_value_held_by_another_engine_is_refused(self, load: Callable[..., Graph], engine: Engine) -> None:
        """Its memory may be on another device."""
        held = load(encoder()).run({"image": image()}, hold=["context"])["context"]
        foreign = replace(held, engine=Engine("cuda" if engine.provider != "cuda" else "cpu"))
        with pytest.raises(MismatchError, match="input context is held by engine"):
            load(step()).run(step_feeds(foreign))

    def test_a_held_value_of_another_shape_is_refused(self, load: Callable[..., Graph]) -> None:
        """A context of another model fails here, not as a wrong motion."""
        held = load(step()).run(step_feeds(np.zeros((1, 6, 5), np.float32)), hold=["velocity"])["velocity"]
        with pytest.raises(InvalidDataError, match=r"input context is .*\(1, 4, 5\), the graph takes"):
            load(step()).run(step_feeds(held))

    def test_what_is_no_graph_is_refused(self, load: Callable[..., Graph]) -> None:
        """Truncated, altered, and with an operator nobody has."""
        model = step()
        unknown = graph_of([helper.make_node("Teleport", ["x"], ["y"])], {"x": (1, (1,))}, {"y": (1, (1,))}, {})
        for broken in (b"", b"no model", model[: len(model) // 2], unknown):
            with pytest.raises(IntegrityError, match=r"cannot load m|not an ONNX graph"):
                load(broken)

    def test_tensor_data_comes_from_the_verified_bytes_only(
        self, load: Callable[..., Graph], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Even when a file of that name lies in the working folder."""
        monkeypatch.chdir(tmp_path)
        (tmp_path / "w").write_bytes(np.full(4, 9.0, np.float32).tobytes())
        with pytest.raises(IntegrityError, match=r"reads tensor data from 'w', which bundle\.yaml does not list"):
            load(external("w"))
        graph = load(external("w"), w=np.full(4, 2.5, np.float32).tobytes())
        np.testing.assert_array_equal(graph.run({"x": np.ones(4, np.float32)})["y"], np.full(4, 3.5))


def external(location: str) -> bytes:
    """Adds w to x, with w (4,) in another file."""
    model = onnx.ModelProto.FromString(
        graph_of(
            [helper.make_node("Add", ["x", "w"], ["y"])], {"x": (1, (4,))}, {"y": (1, (4,))}, {"w": np.zeros(4, "f4")}
        )
    )
    weight = model.graph.initializer[0]
    onnx.external_data_helper.set_external_data(weight, location=location)
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    return bytes(model.SerializeToString())


class TestDeclared:
    """Inputs and outputs, read from the file without any engine."""

    @pytest.mark.parametrize("model", [encoder(), step()])
    def test_it_is_what_onnxruntime_reads(self, model: bytes) -> None:
        graph = load_graph({"m": model}, "m", Engine("cpu"))
        assert onnx_signature(model) == (graph.inputs, graph.outputs)

    def test_a_length_may_have_a_name_or_nothing(self) -> None:
        shape = ("n", None, 3)
        model = graph_of([helper.make_node("Abs", ["x"], ["y"])], {"x": (9, shape)}, {"y": (9, shape)}, {})
        assert onnx_signature(model)[0] == {"x": TensorSpec(shape, "tensor(bool)")}

    @law_settings(max_examples=200)
    @given(data=st.binary(max_size=200) | st.integers(0, 400).map(lambda length: step()[:length]))
    def test_any_bytes_give_an_answer_or_an_integrity_error(self, data: bytes) -> None:
        with contextlib.suppress(IntegrityError):
            onnx_signature(data)


def gone(name: str) -> str:
    """No package is installed."""
    raise metadata.PackageNotFoundError(name)


class TestStarting:
    """An engine runs, or there is an error that says why: never a silent change of device."""

    @pytest.mark.parametrize("text", ["cuda", "tensorrt:fp16"])
    def test_an_engine_that_is_not_installed_names_one_command(self, text: str) -> None:
        """Which also takes away what holds the same files."""
        command = r'pip uninstall -y onnxruntime && pip install "tendon-vla\[gpu\]" \(installed here: cpu'
        with pytest.raises(MissingDependencyError, match=f"not installed: {command}"):
            load_graph({"m": step()}, "m", Engine.parse(text))

    def test_two_packages_of_the_same_files_are_both_taken_away(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Pip installs both, and the later one's files win."""
        monkeypatch.setattr("importlib.metadata.version", lambda name: "1.31.1")
        assert runtimes() == ["onnxruntime 1.31.1", "onnxruntime-gpu 1.31.1"]
        with pytest.raises(MissingDependencyError, match=r"pip uninstall -y onnxruntime onnxruntime-gpu && pip ins"):
            load_graph({"m": step()}, "m", Engine("cuda"))

    @pytest.mark.parametrize("engine", [None, Engine("cpu")])
    def test_without_onnxruntime_there_is_one_clear_line(
        self, engine: Engine | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The base install has none, for an environment may have but one: for the CPU or for the GPU."""
        monkeypatch.setitem(sys.modules, "onnxruntime", None)
        monkeypatch.setattr("importlib.metadata.version", gone)
        with pytest.raises(MissingDependencyError, match=r'pip install "tendon-vla\[cpu\]"'):
            load_graph({"m": step()}, "m", engine)

    @pytest.mark.filterwarnings("ignore:Specified provider")
    def test_one_that_is_installed_but_does_not_start_is_an_error(self) -> None:
        """Onnxruntime itself would go on with the CPU."""
        with pytest.raises(ConfigError, match="engine cuda did not start"):
            OrtGraph({"m": step()}, "m", Engine("cuda"), 1)

    @pytest.mark.filterwarnings("ignore:Specified provider")
    def test_without_a_choice_the_first_that_starts_is_taken(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """And the log says which did not."""
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        monkeypatch.setattr("onnxruntime.get_available_providers", lambda: list(ORT_PROVIDERS.values()))
        graph = load_graph({"m": step()}, "m")
        assert graph.engine == Engine("cpu")
        assert "tensorrt did not start" in caplog.text and "cuda did not start" in caplog.text

    def test_the_path_of_a_gpu_gives_the_same_numbers(self) -> None:
        """With the CPU as the device."""
        graph = OrtGraph({"m": step()}, "m", Engine("cpu"), 1)
        feeds = step_feeds(np.ones((1, 6, 5), np.float32))
        np.testing.assert_array_equal(graph._run_bound(feeds, ())["velocity"], graph.run(feeds)["velocity"])

    def test_loading_a_graph_calls_nobody(self, tmp_path: Path) -> None:
        """By themselves onnxruntime uploads telemetry and OpenVINO looks up an analytics server."""
        program = """
import socket, sys, time
def refuse(*args, **kwargs):
    print("called", args)
socket.socket.connect = socket.getaddrinfo = refuse
from tendon.policies.engines.loading import Engine, load_graph
model = sys.stdin.buffer.read()
for name in ("cpu", "openvino"):
    load_graph({"m": model}, "m", Engine(name))
time.sleep(1)
"""
        environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=environment | {"HOME": str(tmp_path)},
            input=step(),
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, b""), done.stderr.decode()
        assert list(tmp_path.iterdir()) == []

    def test_a_signal_after_two_graphs_are_gone_is_heard(self) -> None:
        """On a CPU with AMX it was a segmentation fault: Ctrl-C on the policy node."""
        program = """
import signal, sys
from tendon.policies.engines.loading import Engine, load_graph
model = sys.stdin.buffer.read()
graphs = [load_graph({"m": model}, "m", Engine("openvino")) for _ in range(2)]
graphs.pop(0)
graphs.pop(0)
signal.signal(signal.SIGINT, lambda *_: print("heard"))
signal.raise_signal(signal.SIGINT)
"""
        done = subprocess.run([sys.executable, "-c", program], input=step(), capture_output=True, check=False)
        assert (done.returncode, done.stdout) == (0, b"heard\n"), done.stderr.decode()

"""A variant is a bundle of its own, near enough to its source, or there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import save_file

from tendon.cli import main
from tendon.core.errors import ConfigError, IntegrityError, MismatchError
from tendon.policies.bundle.bundle import Bundle, load_bundle, write_bundle
from tendon.policies.engines.loading import Engine, load_graph
from tendon.policies.export.convert import variant as variant_module
from tendon.policies.export.convert.variant import make_variant
from tendon.policies.inference.recorder import Recorder
from tendon.policies.parity.bundle import repeat_parity
from tendon.policies.parity.graph import BOUNDS, CASES_FILE, Case, difference, write_cases
from tendon.policies.progress.estimator import ESTIMATOR_FILES
from tests.policies.tiny_denoiser import build_denoised

ROWS, TOKENS, FEATURES = 6, 8, 64
OUTLIER = 3000.0


def seeing_graph(outlier: float = 0.0) -> bytes:
    """Answers normalised actions of image and state: convolution, layer norm, products, softmax.

    Two products share a weight, two norms a tensor and a scale: tools that rewrite graphs trip over that.

    Args:
        outlier: added to one number that the last product reads, with a weight of 0: it changes nothing but ranges.
    """
    rng = np.random.default_rng(0)

    def weights(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) / np.sqrt(max(np.prod(shape[1:]), 1))).astype(np.float32)

    last = weights(ROWS * 4, FEATURES * 4)
    last[:, 0] = 0.0
    offset = np.zeros(FEATURES * 4, np.float32)
    offset[0] = outlier
    values = {
        "full": np.float32(255.0),
        "eyes": weights(24, 3, 8, 8),
        "flat": np.array([1, 24 * 16 * 16], np.int64),
        "wide": weights(FEATURES, 24 * 16 * 16),
        "scale": np.ones(FEATURES, np.float32),
        "body": weights(7, FEATURES),
        "up": weights(FEATURES * 4, FEATURES),
        "lift": weights(FEATURES * 4),
        "offset": offset,
        "last": last,
        "chunk": np.array([1, ROWS, 4], np.int64),
    }
    nodes = [
        helper.make_node("Cast", ["image_scene"], ["float"], to=TensorProto.FLOAT),
        helper.make_node("Div", ["float", "full"], ["unit"]),
        helper.make_node("Transpose", ["unit"], ["planes"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["planes", "eyes"], ["seen"], strides=[8, 8]),
        helper.make_node("Relu", ["seen"], ["lit"]),
        helper.make_node("Reshape", ["lit", "flat"], ["row"]),
        helper.make_node("Gemm", ["row", "wide"], ["features"], transB=1),
        helper.make_node("LayerNormalization", ["features", "scale"], ["normal"]),
        helper.make_node("MatMul", ["state", "body"], ["felt"]),
        helper.make_node("Add", ["normal", "felt"], ["known"]),
        helper.make_node("Gemm", ["known", "up", "lift"], ["raised"], transB=1),
        helper.make_node("LayerNormalization", ["features", "scale"], ["alike"]),
        helper.make_node("Gemm", ["alike", "up"], ["risen"], transB=1),
        helper.make_node("Softmax", ["risen"], ["weighed"]),
        helper.make_node("Add", ["raised", "weighed"], ["both"]),
        helper.make_node("Add", ["both", "offset"], ["shifted"]),
        helper.make_node("Gemm", ["shifted", "last"], ["answer"], transB=1),
        helper.make_node("Reshape", ["answer", "chunk"], ["actions"]),
    ]
    graph = helper.make_graph(
        nodes,
        "seeing",
        [
            helper.make_tensor_value_info("image_scene", TensorProto.UINT8, (1, 128, 128, 3)),
            helper.make_tensor_value_info("state", TensorProto.FLOAT, (1, 7)),
            helper.make_tensor_value_info("tokens", TensorProto.INT64, (1, TOKENS)),
        ],
        [helper.make_tensor_value_info("actions", TensorProto.FLOAT, (1, ROWS, 4))],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in values.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


def inputs(count: int, brightness: float = 1.0) -> list[Case]:
    rng = np.random.default_rng(1)
    return [
        {
            "image_scene": (brightness * rng.integers(0, 256, (1, 128, 128, 3))).astype(np.uint8),
            "state": (brightness * rng.standard_normal((1, 7))).astype(np.float32),
            "tokens": np.zeros((1, TOKENS), np.int64),
        }
        for _ in range(count)
    ]


def operators(bundle: Bundle, name: str = "policy.onnx") -> Counter[str]:
    return Counter(node.op_type for node in onnx.load_model_from_string(bundle.content[name]).graph.node)


@pytest.fixture
def make(tmp_path: Path, manifest: Callable[..., Any]) -> Callable[..., Bundle]:
    """Returns what writes a bundle that sees, with files beside its graph."""

    def make(graph: bytes | None = None, **files: bytes) -> Bundle:
        one = manifest(cameras=manifest().cameras[:1], prefix_rows=0)
        return write_bundle(tmp_path / "source", one, {"policy.onnx": graph or seeing_graph(), **files})

    return make


@pytest.mark.parametrize(("precision", "smaller"), [("fp16", 0.52), ("int8", 0.3), ("int8-dynamic", 0.35)])
def test_a_variant_is_a_bundle_of_its_own(
    make: Callable[..., Bundle], tmp_path: Path, precision: str, smaller: float
) -> None:
    """Smaller, with a name, hashes and parity of its own, and what else was in the bundle; it says what it is of."""
    source = make(**{"notes/eval.yaml": b"a: 1"})
    made = make_variant(source, tmp_path / "made", precision, inputs(12))
    bundle = load_bundle(tmp_path / "made")
    assert bundle == made.bundle
    assert len(bundle.content["policy.onnx"]) < smaller * len(source.content["policy.onnx"])
    assert bundle.content["notes/eval.yaml"] == b"a: 1"
    assert (bundle.manifest.name, bundle.digest) != (source.manifest.name, source.digest)
    assert bundle.manifest.training["variant"] == {"of": source.digest, "precision": precision}
    repeated = repeat_parity(bundle, Engine("cpu"))
    assert repeated.passed
    assert [row.relative for row in repeated.rows] == pytest.approx(
        [row.relative for row in made.receipt.rows], abs=1e-6
    )
    assert repeated.rows[0].relative > 0.0 and repeated.rows[0].precision == precision.partition("-")[0]


@pytest.mark.parametrize("precision", ["fp16", "int8", "int8-dynamic"])
def test_the_outside_stays_as_the_manifest_says(make: Callable[..., Bundle], tmp_path: Path, precision: str) -> None:
    """Names, shapes and types of inputs and outputs, on every engine of this machine."""
    source = make()
    bundle = make_variant(source, tmp_path / "made", precision, inputs(8)).bundle
    feeds = dict(inputs(1)[0])
    wanted = load_graph(source.content, "policy.onnx", Engine("cpu"))
    for engine in (Engine("cpu"), Engine("openvino")):
        found = load_graph(bundle.content, "policy.onnx", engine)
        assert (found.inputs, found.outputs) == (wanted.inputs, wanted.outputs)
        _, _, relative = difference(wanted.run(feeds)["actions"], found.run(feeds)["actions"])
        assert relative < BOUNDS["int8"]


def test_an_estimator_of_the_source_is_left_out(make: Callable[..., Bundle], tmp_path: Path) -> None:
    """It reads what the source made of an observation, and a bundle with one of another model does not load."""
    source = make(**dict.fromkeys(ESTIMATOR_FILES, b"of the source"), **{"detector.yaml": b"kept"})
    made = make_variant(source, tmp_path / "made", "fp16", inputs(4)).bundle
    assert not set(ESTIMATOR_FILES) & set(made.content) and "detector.yaml" in made.content


def test_what_overflows_half_precision_stays_in_float32(make: Callable[..., Bundle], tmp_path: Path) -> None:
    """Layer norm and softmax, each between casts."""
    bundle = make_variant(make(), tmp_path / "made", "fp16", inputs(4)).bundle
    graph = onnx.shape_inference.infer_shapes(onnx.load_model_from_string(bundle.content["policy.onnx"])).graph
    types = {value.name: value.type.tensor_type.elem_type for value in graph.value_info}
    for node in graph.node:
        if node.op_type in ("LayerNormalization", "Softmax"):
            assert types[node.output[0]] == TensorProto.FLOAT
        if node.op_type in ("Conv", "Gemm", "MatMul"):
            assert types[node.output[0]] == TensorProto.FLOAT16


def test_products_are_in_8_bits_but_for_small_ones(make: Callable[..., Bundle], tmp_path: Path) -> None:
    """448 weights of a matrix that reads the state are not worth it, and such hold geometry."""
    made = make_variant(make(), tmp_path / "made", "int8", inputs(8))
    assert made.kept == {"policy.onnx": ()}
    found = onnx.load_model_from_string(made.bundle.content["policy.onnx"]).graph
    weights = {tensor.name for tensor in found.initializer if tensor.data_type == TensorProto.INT8 and tensor.dims}
    assert len([name for name in weights if "zero_point" not in name]) == 4  # of 5 products
    assert "body" in {tensor.name for tensor in found.initializer if tensor.data_type == TensorProto.FLOAT}


def test_calibration_on_other_inputs_is_refused(make: Callable[..., Bundle], tmp_path: Path) -> None:
    """Ranges of black pictures and a robot that never moved cut off all that real ones hold; nothing is written."""
    source = make(**{CASES_FILE: write_cases(answers(inputs(4)))})
    with pytest.raises(MismatchError, match=r"no layer of policy\.onnx can be in int8 within the bound: calibrate on"):
        make_variant(source, tmp_path / "made", "int8", inputs(8, brightness=0.0))
    assert not (tmp_path / "made").exists()


def test_what_poor_calibration_would_spoil_stays_in_float32(make: Callable[..., Bundle], tmp_path: Path) -> None:
    """Nearly black pictures spoil the layers before the normalisation, and not those after it."""
    source = make(**{CASES_FILE: write_cases(answers(inputs(4)))})
    made = make_variant(source, tmp_path / "made", "int8", inputs(8, brightness=0.02))
    assert {"to_seen", "to_features"} <= set(made.kept["policy.onnx"])
    assert made.receipt.passed


def test_a_layer_that_costs_precision_stays_in_float32(make: Callable[..., Bundle], tmp_path: Path) -> None:
    """One number far outside stretches the range of all beside it."""
    made = make_variant(make(seeing_graph(OUTLIER)), tmp_path / "made", "int8", inputs(12))
    (kept,) = made.kept["policy.onnx"]
    assert kept == "to_answer"
    assert made.bundle.manifest.training["variant"]["float32_products"] == {"policy.onnx": [kept]}
    (product,) = (
        n for n in onnx.load_model_from_string(made.bundle.content["policy.onnx"]).graph.node if n.name == kept
    )
    assert "shifted" in product.input
    assert made.receipt.passed


def test_what_is_too_far_off_is_not_written(
    make: Callable[..., Bundle], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says which output, by how much, and what is allowed."""
    monkeypatch.setitem(variant_module.BOUNDS, "fp16", 1e-7)
    with pytest.raises(MismatchError, match=r"fp16 of policy\.onnx is too far from float32: output actions by .*1e-07"):
        make_variant(make(), tmp_path / "made", "fp16", inputs(4))
    assert not (tmp_path / "made").exists()


def test_both_graphs_of_a_denoiser_are_made(tmp_path: Path) -> None:
    """The denoiser is compared under the context of the source."""
    source = build_denoised(tmp_path / "source")
    recorder = Recorder()
    context, denoise = (recorder.load(source.content, name, Engine("cpu")) for name in ("context.onnx", "denoise.onnx"))
    rng = np.random.default_rng(0)
    for _ in range(8):
        feeds = {name: _random(rng, spec) for name, spec in context.inputs.items()}
        answer = context.run(feeds)
        for time in (1.0, 0.5):
            known = {name: answer[name] for name in denoise.inputs if name not in ("x", "time")}
            x = _random(rng, denoise.inputs["x"])
            denoise.run({"x": x, "time": np.array([time], np.float32), **known})
    recorded = recorder.take(8)
    assert {float(case["time"][0]) for case in recorded} == {0.5, 1.0}
    assert all("context" not in case for case in recorded)
    made = make_variant(source, tmp_path / "made", "fp16", recorded)
    assert {row.graph for row in made.receipt.rows} == {"context.onnx", "denoise.onnx"}


def test_weights_in_a_file_of_their_own_are_made_too(make: Callable[..., Bundle], tmp_path: Path) -> None:
    """The file goes when its weights fit into the graph."""
    model = onnx.load_model_from_string(seeing_graph())
    onnx.save_model(model, tmp_path / "m.onnx", save_as_external_data=True, location="w.onnx.data", size_threshold=64)
    files = {"policy.onnx": (tmp_path / "m.onnx").read_bytes(), "w.onnx.data": (tmp_path / "w.onnx.data").read_bytes()}
    source = make(files["policy.onnx"], **{"w.onnx.data": files["w.onnx.data"]})
    for precision in ("fp16", "int8"):
        bundle = make_variant(source, tmp_path / precision, precision, inputs(8)).bundle
        assert "w.onnx.data" not in bundle.content


@pytest.mark.parametrize(
    ("precision", "recorded", "message"),
    [
        ("int4", 8, "precision is 'int4', known: fp16, int8, int8-dynamic"),
        ("int8", 0, "int8 needs recorded inputs.*tendon data record-inputs"),
        ("int8", 1, "too few were recorded"),
        ("fp16", 0, "nothing to compare with"),
    ],
)
def test_what_cannot_be_made_says_why(
    make: Callable[..., Bundle], tmp_path: Path, precision: str, recorded: int, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        make_variant(make(), tmp_path / "made", precision, inputs(recorded))


def test_inputs_of_another_policy_are_refused(make: Callable[..., Bundle], tmp_path: Path) -> None:
    cases = [{name: value for name, value in case.items() if name != "state"} for case in inputs(4)]
    with pytest.raises(IntegrityError, match=r"recorded inferences lack state of policy\.onnx"):
        make_variant(make(), tmp_path / "made", "fp16", cases)


def test_a_file_that_holds_no_recorded_inputs_is_named(
    make: Callable[..., Bundle], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was told that the bundle's parity file is none, and to make the bundle again."""
    text, weights, gaps = tmp_path / "README.md", tmp_path / "weights.safetensors", tmp_path / "gaps.safetensors"
    text.write_text("Some words.")
    save_file({"encoder.weight": np.zeros(1)}, weights)
    save_file({"1/state": np.zeros(1)}, gaps)
    for file, words in ((text, "is no list"), (weights, "is no list of inferences"), (gaps, "holds inferences [1]")):
        options = ["--precision", "int8", "--calibration", str(file)]
        assert main(["policy", "variant", str(make().folder), str(tmp_path / "made"), *options]) == 2
        said = capsys.readouterr().err
        assert f"--calibration {file} {words}" in said and "tendon data record-inputs" in said


def test_neither_the_source_nor_another_bundle_is_replaced(make: Callable[..., Bundle], tmp_path: Path) -> None:
    source = make()
    for place in (source.folder, source.folder / "within"):
        with pytest.raises(ConfigError, match="would replace the bundle it is made from"):
            make_variant(source, place, "fp16", inputs(4))
    made = make_variant(source, tmp_path / "made", "fp16", inputs(4)).bundle
    with pytest.raises(ConfigError, match="made holds a bundle already: name another folder"):
        make_variant(source, tmp_path / "made", "fp16", inputs(4))
    assert load_bundle(made.folder).digest == made.digest


def test_the_command_makes_one_and_says_how_far_it_is(
    make: Callable[..., Bundle], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And refuses a file that is not there."""
    source = make()
    (tmp_path / "inputs.safetensors").write_bytes(write_cases(inputs(8)))
    arguments = [
        "policy",
        "variant",
        str(source.folder),
        str(tmp_path / "made"),
        "--precision",
        "int8",
        "--calibration",
    ]
    assert main([*arguments, str(tmp_path / "inputs.safetensors")]) == 0
    shown = capsys.readouterr().out
    assert "policy.onnx actions: relative" in shown and load_bundle(tmp_path / "made").digest[:12] in shown
    assert main([*arguments, str(tmp_path / "nowhere")]) == 2
    assert "cannot be read" in capsys.readouterr().err


def answers(cases: Sequence[Case]) -> list[Case]:
    graph = load_graph({"m": seeing_graph()}, "m", Engine("cpu"))
    return [{**case, **graph.run(dict(case))} for case in cases]


def _random(rng: np.random.Generator, spec: Any) -> np.ndarray:
    if spec.type == "tensor(float)":
        return rng.standard_normal(spec.shape).astype(np.float32)
    return rng.integers(0, 2, spec.shape).astype({"tensor(uint8)": np.uint8, "tensor(int64)": np.int64}[spec.type])

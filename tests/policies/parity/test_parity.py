"""Parity notices every way in which a graph is not its source, and the walk names the node where that begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from onnx import TensorProto, helper, numpy_helper

from tendon.core.errors import ConfigError, IntegrityError
from tendon.policies.engines.loading import Engine, Graph, load_graph
from tendon.policies.parity.divergence import first_divergence
from tendon.policies.parity.graph import BOUNDS, Row, difference, measure, read_cases, write_cases
from tendon.policies.parity.receipt import Receipt, read_receipt, write_receipt
from tests.laws import law_settings

CPU = Engine("cpu")
LAYERS = 100  # more than one group of the walk


def deep_graph(changed: int | None = None, factor: float = 1.01) -> bytes:
    """Returns x (1, 4) -> y (1, 4) through `LAYERS` products and sines; the weights of layer `changed` are scaled."""
    generator = np.random.default_rng(0)
    nodes, weights, value = [], [], "x"
    for k in range(LAYERS):
        weight = np.linalg.qr(generator.standard_normal((4, 4)))[0] * (factor if k == changed else 1.0)
        weights.append(numpy_helper.from_array(weight.astype(np.float32), f"w{k}"))
        nodes.append(helper.make_node("MatMul", [value, f"w{k}"], [f"product{k}"]))
        value = "y" if k == LAYERS - 1 else f"sine{k}"
        nodes.append(helper.make_node("Sin", [f"product{k}"], [value]))
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, 4)) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "deep", tensors[:1], tensors[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9).SerializeToString()


def load(content: Mapping[str, bytes], name: str) -> Graph:
    return load_graph(content, name, CPU)


def cases(count: int = 3) -> list[dict[str, np.ndarray]]:
    graph = load({"deep.onnx": deep_graph()}, "deep.onnx")
    inputs = [np.random.default_rng(k).standard_normal((1, 4), dtype=np.float32) for k in range(count)]
    return [{"x": x, "y": graph.run({"x": x})["y"]} for x in inputs]


def rows(model: bytes, bound: float = 1e-4) -> tuple[Row, ...]:
    return measure("deep.onnx", load({"deep.onnx": model}, "deep.onnx"), cases(), precision="fp32", bound=bound)


def test_a_graph_is_equal_to_itself() -> None:
    (row,) = rows(deep_graph())
    assert row.passed and row.relative < 1e-6 and row.cosine > 1 - 1e-9 and row.inferences == 3


@pytest.mark.parametrize("changed", [0, 40, LAYERS - 1])
def test_a_changed_weight_fails_and_the_walk_names_its_node(changed: int) -> None:
    (row,) = rows(deep_graph(changed))
    assert not row.passed

    def altered(content: Mapping[str, bytes], name: str) -> Graph:
        """Loads the same graph with other weights in one layer, as a faulty engine would compute it."""
        model = onnx.load_model_from_string(content[name])
        for tensor in model.graph.initializer:
            if tensor.name == f"w{changed}":
                tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * np.float32(1.01), tensor.name))
        return load({name: model.SerializeToString()}, name)

    found = first_divergence({"deep.onnx": deep_graph()}, "deep.onnx", {"x": cases(1)[0]["x"]}, altered, 1e-4)
    assert found is not None and (found.node, found.operator) == (f"product{changed}", "MatMul")
    assert found.relative == pytest.approx(0.01, rel=0.05)


def test_the_walk_finds_nothing_where_nothing_differs() -> None:
    feeds = {"x": cases(1)[0]["x"]}
    assert first_divergence({"deep.onnx": deep_graph()}, "deep.onnx", feeds, load, 1e-6) is None


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_never_passes(value: float) -> None:
    gap = difference(np.ones(3, np.float32), np.array([1, value, 1], np.float32))
    assert gap == (np.inf, -1.0, np.inf)
    assert not Row(**_numbers(relative=float("nan"))).passed
    assert not Row(**_numbers(relative=float("inf"), bound=1.0)).passed


def test_another_shape_never_passes() -> None:
    assert difference(np.ones((1, 4)), np.ones((4, 1)))[2] == np.inf


def test_a_flipped_answer_is_seen_in_the_cosine() -> None:
    wanted = np.array([1.0, 2.0, 3.0])
    assert difference(wanted, -wanted) == (6.0, pytest.approx(-1.0), pytest.approx(2.0))
    assert all(difference(wanted, -wanted)[2] > bound for bound in BOUNDS.values())


FLOATS = hnp.arrays(np.float32, (7,), elements=st.floats(-1e3, 1e3, width=32))


@given(FLOATS, FLOATS)
@law_settings()
def test_the_difference_is_the_textbook_one(wanted: np.ndarray, found: np.ndarray) -> None:
    largest, cosine, relative = difference(wanted, found)
    gap = found.astype(np.float64) - wanted
    assert largest == np.abs(gap).max()
    assert -1.0 - 1e-9 <= cosine <= 1.0 + 1e-9
    length = np.linalg.norm(wanted.astype(np.float64))
    if length > 0.0:
        assert relative == pytest.approx(np.linalg.norm(gap) / length)
    else:
        assert relative == (0.0 if not gap.any() else np.inf)


def test_cases_and_receipt_come_back_as_they_were_written() -> None:
    written = [{**case, "mask": np.array([True, False]), "image": np.zeros((1, 2, 2, 3), np.uint8)} for case in cases()]
    for before, after in zip(written, read_cases(write_cases(written)), strict=True):
        assert before.keys() == after.keys()
        assert all(np.array_equal(before[k], after[k]) and before[k].dtype == after[k].dtype for k in before)
    receipt = Receipt(source="torch", rows=rows(deep_graph()), machine={"processor": "a", "cores": 2})
    again = read_receipt(write_receipt(receipt))
    assert (again.source, again.machine) == (receipt.source, receipt.machine)
    assert again.rows == tuple(
        replace(
            row, relative=float(f"{row.relative:.4g}"), cosine=round(row.cosine, 9), max_abs=float(f"{row.max_abs:.4g}")
        )
        for row in receipt.rows
    )


@pytest.mark.parametrize("data", [b"", b"\x80\x04N.", b"x" * 100, write_cases(cases())[:-4], write_cases([])])
def test_cases_that_are_none_are_refused(data: bytes) -> None:
    with pytest.raises(IntegrityError, match="make the bundle again"):
        read_cases(data)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"[1", "is not YAML"),
        (b"rows: 3", "must hold source, machine and rows"),
        (b"machine: {}\nrows: [{graph: a}]", "lacks"),
        (b"machine: {}\nrows: []\nmood: good", "unknown key mood"),
        (
            b"machine: {}\nrows: [{graph: a, output: y, provider: cpu, precision: fp32, reference: float32, "
            b"inferences: 1, max_abs: a, cosine: 1, relative: 1, bound: 1}]",
            "max_abs is 'a', must be a number",
        ),
    ],
)
def test_a_receipt_that_is_none_is_refused(data: bytes, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        read_receipt(data)


def test_inferences_of_another_graph_are_refused() -> None:
    graph = load({"deep.onnx": deep_graph()}, "deep.onnx")
    for known, text in (("x", "know no output of y"), ("y", "lack x of deep.onnx")):
        with pytest.raises(IntegrityError, match=text):
            measure("deep.onnx", graph, [{known: np.zeros((1, 4), np.float32)}], precision="fp32", bound=1e-4)


def _numbers(**changes: float) -> dict[str, object]:
    words = {"graph": "a", "output": "y", "provider": "cpu", "precision": "fp32", "reference": "float32"}
    return {**words, "inferences": 1, "max_abs": 0.0, "cosine": 1.0, "relative": 0.0, "bound": 1e-4, **changes}

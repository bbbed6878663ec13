"""A graph with 8-bit products: weights a channel at a time, activations in ranges that real inputs showed.

Only products with a large constant weight are quantized, for they hold the weights and the time; what lies between them
stays in float32, but for what merely passes numbers on. Layers that cost too much precision stay in float32 as well,
see `quantize_static`. Weights are signed and activations unsigned, which on a CPU with VNNI takes 0.6 of the time of
signed ones (ACT of 51.6 M, 224 px). A CPU without saturates there: `tendon policy check` on the robot tells.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnxruntime import quantization
from onnxruntime.quantization.shape_inference import quant_pre_process

from tendon.core.errors import MismatchError
from tendon.policies.engines.graph import Tensor
from tendon.policies.export.convert.graph_files import read_graph, write_graph

PRODUCTS = ("Conv", "Gemm", "MatMul")
PASSING = ("MaxPool", "Relu")
"""Stay in 8 bits between products that are."""
MIN_WEIGHTS = 4096
"""A product with fewer weights stays in float32: it takes no time, and such are the matrices of geometry."""
GROUPS = 24
"""Into how many groups of neighbours the products are put to find those that cost precision."""

Feeds = Mapping[str, Tensor]
Judge = Callable[[Mapping[str, bytes]], float]
"""Returns the error of a graph, given by file name, over its bound: good up to 1."""
Tell = Callable[[str], None]


class Quantizer:
    """Makes 8-bit versions of one graph.

    `products` are the names of those worth it, in the order in which they run.

    Args:
        content: the graph and its tensor data by name.
        name: of the graph.

    Raises:
        IntegrityError: it names tensor data that `content` lacks.
    """

    def __init__(self, content: Mapping[str, bytes], name: str) -> None:
        self._name = name
        self._scratch = tempfile.TemporaryDirectory()
        self._folder = Path(self._scratch.name)
        source = write_graph(content, name, self._folder)
        files = read_graph(onnx.load(source), name, self._folder)
        self._prepared = self._folder / "prepared.onnx"
        self._external = len(files) > 1
        with _quiet():
            quant_pre_process(
                str(write_graph(files, name, self._folder)),
                str(self._prepared),
                skip_optimization=self._external,  # it loses where the weights are
                skip_symbolic_shape=True,
                save_as_external_data=self._external,
            )
        model = onnx.load(self._prepared, load_external_data=False)
        for node in model.graph.node:
            node.name = f"to_{node.output[0]}"  # they may have none, and are told apart by it
        self._prepared.write_bytes(model.SerializeToString())
        sizes = {weight.name: int(np.prod(weight.dims)) for weight in model.graph.initializer}
        large: dict[bool, list[str]] = {True: [], False: []}
        for node in model.graph.node:
            if node.op_type in PRODUCTS:
                large[max(sizes.get(tensor, 0) for tensor in node.input) >= MIN_WEIGHTS].append(node.name)
        self._passing = [node.name for node in model.graph.node if node.op_type in PASSING]
        self.products, self._small = large[True], large[False]

    def static(self, calibration: Iterable[Feeds], kept: Sequence[str] = ()) -> dict[str, bytes]:
        """Returns the graph with 8-bit weights and activations, but for the products in `kept`.

        Args:
            calibration: inputs as they will be; they set the ranges of activations. Ranges are kept for the next call.
            kept: names of products that stay in float32.
        """
        return self._made(
            quantization.quantize_static,
            self._prepared,
            calibration_data_reader=_Reader(calibration),
            calibration_cache_path=self._folder / "ranges.json",
            op_types_to_quantize=[*PRODUCTS, *PASSING],
            nodes_to_quantize=[*(name for name in self.products if name not in kept), *self._passing],
            activation_type=quantization.QuantType.QUInt8,
            extra_options={"MatMulConstBOnly": True},
        )

    def dynamic(self) -> dict[str, bytes]:
        """Returns the graph with 8-bit weights, and activations whose ranges are found at each run. No convolutions."""
        plain = self._folder / "plain.onnx"
        model = onnx.load(self._prepared)
        _split_gemms(model.graph)
        onnx.save_model(model, plain, save_as_external_data=self._external)
        return self._made(
            quantization.quantize_dynamic,
            plain,
            op_types_to_quantize=["MatMul"],
            nodes_to_exclude=self._small,
            extra_options={"MatMulConstBOnly": True, "DefaultTensorType": onnx.TensorProto.FLOAT},
        )

    def _made(self, quantize: Callable[..., None], source: Path, **options: Any) -> dict[str, bytes]:
        target = self._folder / "quantized.onnx"
        with _quiet():
            quantize(source, target, per_channel=True, use_external_data_format=self._external, **options)
        return read_graph(onnx.load(target), self._name, self._folder)


def quantize_static(
    content: Mapping[str, bytes], name: str, calibration: Sequence[Feeds], judge: Judge, tell: Tell
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Returns the 8-bit graph that keeps as few layers in float32 as its bound allows, and the names of those.

    When all products in 8 bits are too far off, each group of neighbours is quantized alone; those with the largest
    error of their own are then kept in float32, as many as it takes, found by bisection.

    Args:
        content: the graph and its tensor data by name.
        name: of the graph.
        calibration: inputs as they will be.
        judge: measures a version.
        tell: is told what is being done.

    Raises:
        MismatchError: the bound does not hold with a single group in 8 bits.
    """
    quantizer = Quantizer(content, name)
    tell(f"{name}: {len(quantizer.products)} products, ranges of {len(calibration)} inferences")
    files = quantizer.static(calibration)
    if not quantizer.products or judge(files) <= 1.0:
        return files, ()
    parts = np.array_split(np.array(quantizer.products), min(GROUPS, len(quantizer.products)))
    groups = [tuple(str(name) for name in part) for part in parts]
    errors = []
    for k, group in enumerate(groups):
        tell(f"{name}: error of layers alone, {k + 1} of {len(groups)}")
        rest = [product for product in quantizer.products if product not in group]
        errors.append(judge(quantizer.static(calibration, rest)))
    order = [groups[k] for k in np.argsort(errors)[::-1]]

    def keeping(count: int) -> tuple[str, ...]:
        return tuple(product for group in order[:count] for product in group)

    too_few, enough = 0, len(order)
    while enough - too_few > 1:
        count = (too_few + enough) // 2
        tell(f"{name}: {len(keeping(count))} of {len(quantizer.products)} products in float32")
        if judge(quantizer.static(calibration, keeping(count))) <= 1.0:
            enough = count
        else:
            too_few = count
    if enough == len(order):
        raise MismatchError(
            f"no layer of {name} can be in int8 within the bound: calibrate on other inputs, such as the policy will "
            "see, or take another precision"
        )
    return quantizer.static(calibration, keeping(enough)), keeping(enough)


def _split_gemms(graph: onnx.GraphProto) -> None:
    """Makes a product and a sum of each Gemm: onnxruntime's own way fails where two of them share a weight."""
    weights = {tensor.name: tensor for tensor in graph.initializer}
    nodes = []
    for node in graph.node:
        given = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
        plain = given.get("alpha", 1.0) == given.get("beta", 1.0) == 1.0 and not given.get("transA", 0)
        if node.op_type != "Gemm" or not plain or node.input[1] not in weights:
            nodes.append(node)
            continue
        weight = node.input[1]
        if given.get("transB", 0):
            weight = f"{weight}_transposed"
            if weight not in weights:
                turned = onnx.numpy_helper.to_array(weights[node.input[1]]).T
                weights[weight] = onnx.numpy_helper.from_array(np.ascontiguousarray(turned), weight)
        product = f"{node.output[0]}_product" if len(node.input) > 2 else node.output[0]
        nodes.append(onnx.helper.make_node("MatMul", [node.input[0], weight], [product], name=node.name))
        if len(node.input) > 2:
            nodes.append(onnx.helper.make_node("Add", [product, node.input[2]], [node.output[0]]))
    read = {tensor for node in nodes for tensor in node.input}
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(tensor for name, tensor in weights.items() if name in read)


class _Reader(quantization.CalibrationDataReader):
    def __init__(self, feeds: Iterable[Feeds]) -> None:
        self._feeds: Iterator[Feeds] = iter(feeds)

    def get_next(self) -> dict[str, Tensor] | None:
        feeds = next(self._feeds, None)
        return None if feeds is None else dict(feeds)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps onnxruntime's advice on quantization from the terminal."""
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)
    try:
        yield
    finally:
        root.setLevel(level)

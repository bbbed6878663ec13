"""Loads a graph of a bundle on the engine that was asked for, or on the best there is."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from tendon.core.distribution import pip_install
from tendon.core.errors import ConfigError, MissingDependencyError
from tendon.policies.engines.engine import PREFERENCE, Engine, installed, require
from tendon.policies.engines.graph import Graph, Held, Tensor, TensorSpec

__all__ = ["Engine", "Graph", "Held", "Load", "Tensor", "TensorSpec", "load_graph"]

Load = Callable[[Mapping[str, bytes], str, Engine | None, int], Graph]
"""As `load_graph`."""

_log = logging.getLogger(__name__)


def load_graph(content: Mapping[str, bytes], name: str, engine: Engine | None = None, threads: int = 2) -> Graph:
    """Loads a graph.

    Args:
        content: verified files by name; external tensor data is taken from here and from nowhere else.
        name: which of them is the graph.
        engine: what runs it; `None` takes the first of TensorRT, CUDA and the CPU that is installed and starts, and
            logs which did not. Graphs that hand each other held values need one engine: load the first with `None`
            and the others with its `engine`.
        threads: CPU threads of one inference.

    Raises:
        ConfigError: the engine does not start.
        MissingDependencyError: its library is not installed.
        IntegrityError: the model is not an ONNX graph, or wants tensor data that is not in `content`.
    """
    if engine is not None:
        require(engine)
        return _kind(engine)(content, name, engine, threads)
    candidates = [Engine(provider) for provider in PREFERENCE if installed(provider)]
    if not candidates:
        raise MissingDependencyError(
            f"policies need onnxruntime, which is missing: {pip_install('cpu')}, or with a GPU of NVIDIA "
            f"{pip_install('gpu')}"
        )
    from tendon.policies.engines.ort_graph import OrtGraph  # not above: it needs onnxruntime

    for candidate in candidates[:-1]:
        try:
            return OrtGraph(content, name, candidate, threads)
        except ConfigError as error:
            _log.warning("%s", error)
    return OrtGraph(content, name, candidates[-1], threads)


def _kind(engine: Engine) -> Callable[[Mapping[str, bytes], str, Engine, int], Graph]:
    if engine.provider == "openvino":
        from tendon.policies.engines.openvino_graph import OpenVinoGraph

        return OpenVinoGraph
    from tendon.policies.engines.ort_graph import OrtGraph

    return OrtGraph

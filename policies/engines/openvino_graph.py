"""A graph in OpenVINO on the CPU, from bytes that were verified before. Extra `openvino`."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import openvino

from tendon.core.errors import ConfigError, IntegrityError, InvalidDataError
from tendon.policies.engines.engine import Engine
from tendon.policies.engines.external_data import listed_locations
from tendon.policies.engines.graph import Held, Tensor, check_feeds
from tendon.policies.engines.onnx_signature import onnx_signature

DEVICE = "CPU"


class OpenVinoGraph:
    """A `Graph` in OpenVINO.

    Inputs are copied into buffers that stay (OpenVINO takes no read-only memory, which observations are): 10 us for an
    image of 224 px. Outputs are written where they stay, held or not.

    Args:
        content: verified files by name; external tensor data is taken from here and from nowhere else.
        name: which of them is the graph.
        engine: `openvino` computes in float32 whatever the CPU prefers; `openvino:bf16` where the CPU has bfloat16.
        threads: CPU threads of one inference; not tied to cores, which the control loop may need.

    Raises:
        ConfigError: the CPU has no bfloat16.
        IntegrityError: the model is not an ONNX graph, or wants tensor data that the bundle does not list.
    """

    def __init__(self, content: Mapping[str, bytes], name: str, engine: Engine, threads: int) -> None:
        self.engine = engine
        self.provider = f"OpenVINO {DEVICE}"
        capabilities = _core().get_property(DEVICE, "OPTIMIZATION_CAPABILITIES")
        if engine.precision == "bf16" and "BF16" not in capabilities:
            raise ConfigError(
                f"engine {engine} needs a CPU with bfloat16 (AVX512_BF16 or AMX), this one has "
                f"{', '.join(sorted(capabilities))}: take openvino or cpu"
            )
        locations = listed_locations(content, name)
        self.inputs, self.outputs = onnx_signature(content[name], name)
        try:
            compiled = _core().compile_model(_read(content, name, locations), DEVICE, options(engine, threads))
        except (RuntimeError, UnicodeDecodeError) as error:  # the latter where a name is damaged
            raise IntegrityError(f"OpenVINO cannot load {name}: {error}; export the bundle again") from error
        self._request = compiled.create_infer_request()
        # By any of its names; an input that nothing reads is none of OpenVINO's.
        self._ports = {name: port for port in (*compiled.inputs, *compiled.outputs) for name in port.get_names()}
        self._buffers = {name: self._new(name) for name in self.inputs if name in self._ports}

    def run(self, feeds: Mapping[str, Tensor | Held], hold: Collection[str] = ()) -> dict[str, Any]:
        """See `Graph.run`."""
        check_feeds(self, feeds, hold)
        for name, buffer in self._buffers.items():
            value = feeds[name]
            if isinstance(value, Held):
                self._request.set_tensor(self._ports[name], value.value)
            else:
                np.copyto(buffer.data, value)
                self._request.set_tensor(self._ports[name], buffer)
        answers = {name: self._new(name) for name in self.outputs}
        for name, tensor in answers.items():
            self._request.set_tensor(self._ports[name], tensor)
        try:
            self._request.infer()
        except RuntimeError as error:
            raise InvalidDataError(f"the graph gives no answer: {error}") from error
        return {
            name: Held(self.engine, self.outputs[name], tensor, partial(getattr, tensor, "data"))
            if name in hold
            else tensor.data
            for name, tensor in answers.items()
        }

    def _new(self, name: str) -> openvino.Tensor:
        port = self._ports[name]
        return openvino.Tensor(port.get_element_type(), port.get_shape())


def options(engine: Engine, threads: int) -> dict[str, Any]:
    """Returns OpenVINO's properties for an engine.

    Without a precision asked for, nothing is computed in less than the graph says: OpenVINO's own default is bfloat16
    where the CPU has it.
    """
    precision = {"EXECUTION_MODE_HINT": "ACCURACY", "INFERENCE_PRECISION_HINT": "f32"}
    return {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "ENABLE_CPU_PINNING": False,
        **(precision if engine.precision is None else {"INFERENCE_PRECISION_HINT": engine.precision}),
    }


@cache
def _core() -> openvino.Core:
    """Returns this process's only one, which is never taken down.

    Each gives the calling thread a signal stack on a CPU with AMX and unmaps it when it goes. Of two that go in the
    order they came, the thread keeps a stack that is unmapped: the next signal, such as Ctrl-C, is a segmentation fault
    (OpenVINO 2026.4, `SigAltStackSetup` of its CPU plugin).
    """
    return openvino.Core()


def _read(content: Mapping[str, bytes], name: str, locations: list[str]) -> openvino.Model:
    """Reads a graph. External data goes through files of our own: from memory, OpenVINO looks in the working folder."""
    if not locations:
        return _core().read_model(content[name], b"")
    with tempfile.TemporaryDirectory(prefix="tendon-") as scratch:
        for file in (name, *locations):
            path = Path(scratch) / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content[file])
        return _core().read_model(Path(scratch) / name)

"""One ONNX graph in onnxruntime, on the best device there is, from bytes that were verified before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

from tendon.core.errors import ConfigError, IntegrityError
from tendon.policies.external_data import external_locations

CPU = "CPUExecutionProvider"
CUDA = "CUDAExecutionProvider"
PREFERENCE = ("TensorrtExecutionProvider", CUDA, CPU)
_LOAD_ERRORS = tuple(
    getattr(ort_errors, name)
    for name in ("Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "NotImplemented", "RuntimeException")
)

Tensor = npt.NDArray[Any]


@dataclass(frozen=True)
class TensorSpec:
    """Shape and onnxruntime type, such as `tensor(float)`, of a graph's input or output."""

    shape: tuple[int | str | None, ...]
    type: str


def choose_providers(requested: Sequence[str] | None = None) -> tuple[str, ...]:
    """Returns execution providers in order of preference: TensorRT, CUDA, CPU, as far as they are installed.

    Args:
        requested: takes these instead.

    Raises:
        ConfigError: a requested one is not in this onnxruntime.
    """
    available = ort.get_available_providers()
    if requested is None:
        return tuple(provider for provider in PREFERENCE if provider in available)
    for provider in requested:
        if provider not in available:
            raise ConfigError(
                f"onnxruntime has no provider {provider}, it has {', '.join(available)}; "
                "for a GPU, install the extra: pip install 'tendon[gpu]'"
            )
    return tuple(requested)


class OnnxModel:
    """A loaded graph. `run` is meant for one thread at a time.

    Args:
        content: verified files by name; external tensor data is taken from here and from nowhere else.
        model: which of them is the graph.
        providers: see `choose_providers`.
        threads: CPU threads of one inference. They do not spin while idle, which would starve a control
            loop on the same cores.

    Raises:
        ConfigError: a requested provider is missing or does not start.
        IntegrityError: the model is not an ONNX graph, or wants tensor data that the bundle does not list.
    """

    def __init__(
        self, content: Mapping[str, bytes], model: str, providers: Sequence[str] | None = None, threads: int = 2
    ) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        locations = sorted(external_locations(content[model]))
        for location in locations:
            if location not in content:
                raise IntegrityError(
                    f"{model} reads tensor data from {location!r}, which bundle.yaml does not list: "
                    "export the model as one file, or list the data file with its hash"
                )
        if locations:
            buffers = [content[location] for location in locations]
            options.add_external_initializers_from_files_in_memory(locations, buffers, [len(b) for b in buffers])
        try:
            self._session = ort.InferenceSession(content[model], options, providers=list(choose_providers(providers)))
        except _LOAD_ERRORS as error:
            raise IntegrityError(f"onnxruntime cannot load {model}: {error}; export the bundle again") from error
        self.providers: tuple[str, ...] = tuple(self._session.get_providers())
        if providers is not None and self.providers[0] != providers[0]:
            raise ConfigError(
                f"provider {providers[0]} did not start (onnxruntime fell back to {self.providers[0]}): "
                "check the driver and its libraries, or leave the choice to Tendon"
            )
        self._run = self._run_plain if self.providers[0] == CPU else self._run_bound
        self._device = "cpu" if self.providers[0] == CPU else "cuda"
        self.inputs = {
            tensor.name: TensorSpec(tuple(tensor.shape), tensor.type) for tensor in self._session.get_inputs()
        }
        self.outputs = {
            tensor.name: TensorSpec(tuple(tensor.shape), tensor.type) for tensor in self._session.get_outputs()
        }

    def run(self, feeds: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Returns the graph's outputs by name, in host memory."""
        return self._run(feeds)

    def _run_plain(self, feeds: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return dict(zip(self.outputs, self._session.run(None, feeds), strict=True))

    def _run_bound(self, feeds: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Runs with outputs left on the device until all are done, then copies them at once."""
        binding = self._session.io_binding()
        for name, value in feeds.items():
            binding.bind_cpu_input(name, np.ascontiguousarray(value))
        for name in self.outputs:
            binding.bind_output(name, self._device)
        self._session.run_with_iobinding(binding)
        return dict(zip(self.outputs, binding.copy_outputs_to_cpu(), strict=True))

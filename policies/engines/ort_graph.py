"""A graph in onnxruntime: CPU, CUDA or TensorRT, from bytes that were verified before."""

from __future__ import annotations

import importlib.util
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

from tendon.core.errors import ConfigError, IntegrityError, InvalidDataError
from tendon.policies.engines.cache import engine_folders, machine
from tendon.policies.engines.engine import ORT_PROVIDERS, Engine
from tendon.policies.engines.external_data import listed_locations
from tendon.policies.engines.graph import Held, Tensor, TensorSpec, check_feeds

_ERRORS = tuple(
    getattr(ort_errors, name)
    for name in ("Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "NotImplemented", "RuntimeException")
)
_START_ADVICE = "check the driver and its libraries, or leave the choice to Tendon"


class OrtGraph:
    """A `Graph` in onnxruntime.

    Args:
        content: verified files by name; external tensor data is taken from here and from nowhere else.
        name: which of them is the graph.
        engine: one of onnxruntime's.
        threads: CPU threads of one inference. They do not spin while idle, which would starve a control
            loop on the same cores.

    Raises:
        ConfigError: the engine does not start.
        IntegrityError: the model is not an ONNX graph, or wants tensor data that the bundle does not list.
    """

    def __init__(self, content: Mapping[str, bytes], name: str, engine: Engine, threads: int) -> None:
        self.engine = engine
        self.provider = ORT_PROVIDERS[engine.provider]
        _load_libraries(engine)
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 4  # what goes wrong is raised; in a control loop its lines would come every tick
        locations = listed_locations(content, name)
        if locations:
            buffers = [content[location] for location in locations]
            options.add_external_initializers_from_files_in_memory(locations, buffers, [len(b) for b in buffers])
        try:
            self._session = ort.InferenceSession(
                content[name],
                options,
                providers=provider_options(engine, content, [name, *locations]),
                enable_fallback=0,
            )
            self.inputs, self.outputs = (
                {tensor.name: TensorSpec(tuple(tensor.shape), tensor.type) for tensor in tensors}
                for tensors in (self._session.get_inputs(), self._session.get_outputs())
            )
        except (*_ERRORS, UnicodeDecodeError) as error:  # the latter where a name is damaged
            raise IntegrityError(f"onnxruntime cannot load {name}: {error}; export the bundle again") from error
        except (RuntimeError, ValueError, ort_errors.EPFail) as error:
            raise ConfigError(f"engine {engine} did not start: {error}; {_START_ADVICE}") from error
        started = self._session.get_providers()
        if started[0] != self.provider:
            raise ConfigError(f"engine {engine} did not start (onnxruntime fell back to {started[0]}): {_START_ADVICE}")
        self._device = "cpu" if engine.provider == "cpu" else "cuda"

    def run(self, feeds: Mapping[str, Tensor | Held], hold: Collection[str] = ()) -> dict[str, Any]:
        """See `Graph.run`."""
        check_feeds(self, feeds, hold)
        try:
            if self._device == "cpu" and not hold and not any(isinstance(value, Held) for value in feeds.values()):
                return dict(zip(self.outputs, self._session.run(None, feeds), strict=True))
            return self._run_bound(feeds, hold)
        except _ERRORS as error:
            raise InvalidDataError(f"the graph gives no answer: {error}") from error

    def _run_bound(self, feeds: Mapping[str, Tensor | Held], hold: Collection[str]) -> dict[str, Any]:
        """Runs with outputs left on the device until all are done; what is not held is copied then."""
        binding = self._session.io_binding()
        for name, value in feeds.items():
            if isinstance(value, Held):
                binding.bind_ortvalue_input(name, value.value)
            else:
                binding.bind_cpu_input(name, np.ascontiguousarray(value))
        for name in self.outputs:
            binding.bind_output(name, self._device)
        self._session.run_with_iobinding(binding)
        answers = dict(zip(self.outputs, binding.get_outputs(), strict=True))
        return {
            name: Held(self.engine, self.outputs[name], value, value.numpy) if name in hold else value.numpy()
            for name, value in answers.items()
        }


def _load_libraries(engine: Engine) -> None:
    """Loads CUDA's and TensorRT's libraries from where pip puts them; the loader knows only the system's folders."""
    if engine.provider != "cpu":
        ort.preload_dlls()
    if engine.provider == "tensorrt" and importlib.util.find_spec("tensorrt") is not None:
        importlib.import_module("tensorrt")


def provider_options(
    engine: Engine, content: Mapping[str, bytes], files: Sequence[str]
) -> list[tuple[str, dict[str, str]]]:
    """Returns onnxruntime's providers for an engine: the engine itself, then those that take what it cannot run.

    Args:
        engine: one of onnxruntime's.
        content: files by name.
        files: the graph and its external tensor data; what TensorRT builds is kept for them, see `engine_folders`.
    """
    cuda = (ORT_PROVIDERS["cuda"], {"use_tf32": str(int(engine.precision == "tf32"))})
    cpu: tuple[str, dict[str, str]] = (ORT_PROVIDERS["cpu"], {})
    if engine.provider == "cpu":
        return [cpu]
    if engine.provider == "cuda":
        return [cuda, cpu]
    built, timings = engine_folders(engine, content, files, machine())
    tensorrt = {
        "trt_engine_cache_enable": "1",
        "trt_engine_cache_path": str(built),
        "trt_timing_cache_enable": "1",
        "trt_timing_cache_path": str(timings),
    }
    if engine.precision is not None:
        # Sums of squares overflow half precision, and layer norms hold them.
        tensorrt |= {f"trt_{engine.precision}_enable": "1", "trt_layer_norm_fp32_fallback": "1"}
    return [(ORT_PROVIDERS["tensorrt"], tensorrt), cuda, cpu]

"""Names of what can run a graph: `cpu`, `cuda`, `tensorrt:fp16`, `openvino:bf16` and so on."""

from __future__ import annotations

import contextlib
import difflib
import importlib.util
from dataclasses import dataclass

from tendon.core.distribution import pip_install
from tendon.core.errors import ConfigError, MissingDependencyError

PRECISIONS: dict[str, tuple[str, ...]] = {
    "cpu": (),
    "cuda": ("tf32",),
    "tensorrt": ("fp16", "bf16"),
    "openvino": ("bf16",),
}
"""Providers and what else than float32 each can compute a float32 graph in."""

ORT_PROVIDERS = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "tensorrt": "TensorrtExecutionProvider",
}
PREFERENCE = ("tensorrt", "cuda", "cpu")
"""What is tried, in this order, when nobody names an engine."""

CPU_PROVIDERS = ("cpu", "openvino")
"""Providers whose work threads of this process do."""

RUNTIMES = ("onnxruntime", "onnxruntime-gpu")
"""Packages that hold onnxruntime, of which an environment should have one: both hold the same files."""
_EXTRAS = {"cpu": "cpu", "cuda": "gpu", "tensorrt": "gpu", "openvino": "openvino"}


@dataclass(frozen=True)
class Engine:
    """What runs a graph.

    Attributes:
        provider: a key of `PRECISIONS`.
        precision: of its float32 operators, one of that provider's; `None` computes what the graph says.

    Raises:
        ConfigError: there is no such provider, or it has no such precision.
    """

    provider: str
    precision: str | None = None

    def __post_init__(self) -> None:
        if self.provider not in PRECISIONS:
            close = difflib.get_close_matches(self.provider, PRECISIONS, 1)
            advice = f"; did you mean {close[0]}?" if close else ""
            raise ConfigError(f"there is no engine {self.provider!r}, known: {', '.join(ENGINES)}{advice}")
        if self.precision is not None and self.precision not in PRECISIONS[self.provider]:
            known = ", ".join(text for text in ENGINES if text.partition(":")[0] == self.provider)
            raise ConfigError(f"engine {self.provider} has no precision {self.precision!r}, known: {known}")

    @classmethod
    def parse(cls, text: str) -> Engine:
        """Returns the engine called `text`, PROVIDER or PROVIDER:PRECISION."""
        provider, colon, precision = text.strip().partition(":")
        return cls(provider, precision if colon else None)

    def __str__(self) -> str:
        return self.provider if self.precision is None else f"{self.provider}:{self.precision}"


ENGINES = tuple(
    text for name, precisions in PRECISIONS.items() for text in (name, *(f"{name}:{other}" for other in precisions))
)
"""All that `Engine.parse` takes."""
BEST = "best"
"""In place of one of them: the best there is."""


def engine_named(text: str) -> Engine | None:
    """Returns the engine called `text`, or `None`, which `load_graph` takes as the best there is, for `BEST`.

    Raises:
        ConfigError: there is none of that name.
    """
    return None if text == BEST else Engine.parse(text)


def installed(provider: str) -> bool:
    """Whether the library of a provider is there; whether it starts is known when a graph is loaded."""
    if provider not in ORT_PROVIDERS:
        return importlib.util.find_spec(provider) is not None
    try:
        import onnxruntime  # not above: whoever only reads names, as `tendon run` does, need not wait for it
    except ModuleNotFoundError:
        return False
    return ORT_PROVIDERS[provider] in onnxruntime.get_available_providers()


def require(engine: Engine) -> None:
    """Raises MissingDependencyError, which says what to install, when an engine's library is not there."""
    if installed(engine.provider):
        return
    extra = _EXTRAS[engine.provider]
    advice = install_runtime(extra) if engine.provider in ORT_PROVIDERS else pip_install(extra)
    here = ", ".join(name for name in PRECISIONS if installed(name)) or "none"
    raise MissingDependencyError(f"engine {engine} is not installed: {advice} (installed here: {here})")


def runtimes() -> list[str]:
    """Returns which of `RUNTIMES` are installed; more than one overwrite each other's files."""
    from importlib import metadata  # it takes longer to import than all the rest, and the nodes need it not

    found = []
    for name in RUNTIMES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found.append(f"{name} {metadata.version(name)}")
    return found


def install_runtime(extra: str) -> str:
    """Returns the command that leaves an environment with the onnxruntime of an extra, `cpu` or `gpu`, and no other."""
    here = [each.split()[0] for each in runtimes()]
    return f"pip uninstall -y {' '.join(here)} && {pip_install(extra)}" if here else pip_install(extra)

"""The graphs of a bundle as one model: observation in, normalised actions that continue the running plan out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tendon.core.types import Array, freeze
from tendon.policies.adapter.matching import check_denoiser, check_model
from tendon.policies.bundle.bundle import Bundle
from tendon.policies.engines.loading import Engine, Graph, Load, Tensor, load_graph
from tendon.policies.spec.manifest import Continuation
from tendon.policies.spec.prefix import Prefix
from tendon.policies.spec.sampling import Denoiser


class PolicyModel:
    """Loads the graphs of a bundle and checks them against its manifest.

    A bundle without a denoiser answers with one run of its model. With one, the model makes the context once, and the
    denoiser turns noise into a chunk under that context, step by step.

    Args:
        bundle: from `load_bundle`.
        engine: what runs the graphs; `None` takes the best there is.
        threads: CPU threads of one run.
        seed: of the noise.
        load: loads a graph; a `Recorder` has one that keeps what it is fed.

    Raises:
        ConfigError: the engine is missing or does not start.
        IntegrityError: a graph does not load.
        MismatchError: graph and manifest do not agree.
    """

    def __init__(
        self,
        bundle: Bundle,
        engine: Engine | None = None,
        threads: int = 2,
        seed: int = 0,
        load: Load = load_graph,
    ) -> None:
        manifest = bundle.manifest
        self._graph = load(bundle.content, manifest.model, engine, threads)
        check_model(manifest, self._graph)
        self._rows, self._width = manifest.action.rows, len(manifest.action.mean)
        self._denoising: _Denoising | None = None
        if (denoiser := manifest.denoiser) is not None:
            graph = load(bundle.content, denoiser.graph, self._graph.engine, threads)
            check_denoiser(denoiser, self._rows, self._graph, graph)
            self._denoising = _Denoising(denoiser, self._rows, graph, seed)

    @property
    def engine(self) -> Engine:
        """What runs the graphs."""
        return self._graph.engine

    def answer(
        self, feeds: Mapping[str, Tensor], given: Prefix, continuation: Continuation
    ) -> tuple[Array, dict[str, Any]]:
        """Returns (T, C) normalised actions, and what the first graph answered.

        Args:
            feeds: what the observation gives (images, state, tokens), and what the policy is steered by.
            given: rows of the running plan, perhaps none.
            continuation: how they are continued; one that the manifest names.

        Raises:
            InvalidDataError: the answer is not finite.
        """
        inputs = dict(feeds)
        if self._denoising is not None:
            answer = self._graph.run(inputs, hold=self._denoising.context)
            led = given if continuation is Continuation.INPAINTING else None
            actions = self._denoising.sample(answer, led)[:, : self._width]
        else:
            inputs |= self._inputs(given, continuation)
            answer = self._graph.run(inputs)
            actions = answer["actions"][0]
        if continuation is Continuation.OVERLAP:
            actions = given.blend(actions)
        return freeze("actions (of the model's answer)", actions, (self._rows, self._width)), answer

    def reseed(self, seed: int) -> None:
        """Draws the noise of the answers to come from another seed."""
        if self._denoising is not None:
            self._denoising.reseed(seed)

    def _inputs(self, given: Prefix, continuation: Continuation) -> dict[str, Tensor]:
        """Returns what a graph that answers the chunk is told beside the observation."""
        shape = (1, self._rows, self._width)
        inputs: dict[str, Tensor] = {}
        if "noise" in self._graph.inputs:
            inputs["noise"] = np.zeros(shape, np.float32)
        if "prefix" in self._graph.inputs:
            frozen = given.frozen if continuation is Continuation.TRAINED_PREFIX else 0
            prefix = np.zeros(shape, np.float32)
            prefix[0, :frozen] = given.rows[:frozen]
            inputs |= {"prefix": prefix, "prefix_rows": np.array([frozen], np.int64)}
        return inputs


def denoising_noise(seed: int) -> np.random.Generator:
    """Returns what a policy of this seed draws its noise from; it shares no number with the scene of that seed."""
    return np.random.default_rng([seed, 43])


class _Denoising:
    """The denoiser of a bundle, loaded."""

    def __init__(self, settings: Denoiser, rows: int, graph: Graph, seed: int) -> None:
        self._settings, self._graph = settings, graph
        self._shape = (settings.past_rows + rows, settings.components)
        self.reseed(seed)
        self.context = tuple(name for name in graph.inputs if name not in ("x", "time"))

    def reseed(self, seed: int) -> None:
        """Draws noise from another seed from here on."""
        self._rng = denoising_noise(seed)

    def sample(self, answer: Mapping[str, Any], given: Prefix | None) -> Array:
        """Returns (T, M) without rows in the past, under the context in the first graph's answer."""
        context = {name: answer[name] for name in self.context}

        def predict(chunk: Array, time: float) -> Array:
            x = chunk.astype(np.float32)[None]
            found = self._graph.run({"x": x, "time": np.array([time], np.float32), **context})
            return np.asarray(found[self._settings.output][0], np.float64)

        gaussian = self._settings.noise == "gaussian"
        noise = self._rng.standard_normal(self._shape) if gaussian else np.zeros(self._shape)
        past = self._settings.past_rows
        led = replace(given, past=past) if given is not None and len(given.rows) else None
        return self._settings.schedule.sample(predict, noise, led, self._rng)[past:]

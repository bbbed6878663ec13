"""Keeps what a policy's graphs are fed, for `tendon policy variant` to calibrate on and parity to be measured over."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from tendon.policies.engines.graph import AroundGraph
from tendon.policies.engines.loading import Engine, Graph, Held, Tensor, load_graph
from tendon.policies.parity.graph import Case


class Recorder:
    """Gives a policy graphs that tell what they are fed: pass `load` to `BundlePolicy`.

    Of an inference it keeps the inputs of the first graph, and those of one step of a denoiser, each as likely as any
    other, but for what the first graph answered: that can be computed again.

    Args:
        seed: of that choice.
    """

    def __init__(self, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        self._cases: list[dict[str, Tensor]] = []
        self._steps = 0

    def load(self, content: Mapping[str, bytes], name: str, engine: Engine | None = None, threads: int = 2) -> Graph:
        """As `load_graph`."""
        return _Recorded(load_graph(content, name, engine, threads), self)

    def tell(self, feeds: Mapping[str, Tensor | Held]) -> None:
        """Keeps inputs. Those of a denoiser have `x`, and are of the inference that began last."""
        kept = {name: np.array(feeds[name]) for name in (("x", "time") if "x" in feeds else feeds)}
        if "x" not in feeds:
            self._cases.append(kept)
            self._steps = 0
            return
        self._steps += 1
        if self._rng.random() < 1.0 / self._steps:
            self._cases[-1] |= kept

    def take(self, most: int) -> Sequence[Case]:
        """Returns at most so many of the inferences kept so far, evenly spread, and forgets all."""
        cases, self._cases = self._cases, []
        picked = np.linspace(0, len(cases) - 1, min(most, len(cases))).astype(int)
        return [cases[k] for k in picked]


class _Recorded(AroundGraph):
    """Tells a recorder what it is fed."""

    def __init__(self, graph: Graph, recorder: Recorder) -> None:
        super().__init__(graph)
        self._recorder = recorder

    def run(self, feeds: Mapping[str, Tensor | Held], hold: Collection[str] = ()) -> dict[str, Any]:
        self._recorder.tell(feeds)
        return super().run(feeds, hold)

"""The network of a residual in onnxruntime."""

from __future__ import annotations

import time

import numpy as np

from tendon.control.residual.space import ResidualSpace
from tendon.core.errors import InvalidDataError, MismatchError
from tendon.core.types import Array, freeze
from tendon.policies.engines.engine import Engine
from tendon.policies.engines.loading import load_graph

TRIES = 5
"""How often it may be too slow before it is: another process may have the processor once."""
PERIOD_SHARE = 0.5
GRAPH_FILE = "residual.onnx"
OBSERVATION, ACTION = "observation", "action"
"""Input (1, O) and output (1, A) of the graph, both float32."""


class ResidualGraph:
    """Answers actions; an `Actor`. Not thread-safe.

    Args:
        content: of the ONNX file.

    Raises:
        IntegrityError: it is no ONNX graph.
        MismatchError: it has other inputs or outputs.
    """

    def __init__(self, content: bytes) -> None:
        self._graph = load_graph({GRAPH_FILE: content}, GRAPH_FILE, Engine("cpu"), threads=1)
        inputs, outputs = self._graph.inputs, self._graph.outputs
        if set(inputs) != {OBSERVATION} or set(outputs) != {ACTION}:
            raise MismatchError(
                f"{GRAPH_FILE} has inputs {sorted(inputs)} and outputs {sorted(outputs)}, a residual has "
                f"{OBSERVATION} and {ACTION}"
            )
        self._asked: Array = np.zeros(0)

    def check(self, space: ResidualSpace, period_s: float) -> None:
        """Asks it a few times, before anything moves.

        Args:
            space: of its observations and actions.
            period_s: of the control loop, which waits for its answer.

        Raises:
            MismatchError: it takes or answers other shapes than those of `space`, other types, no finite numbers, or
                takes more than half a period.
        """
        try:
            answer = self.act(np.zeros(space.observations))
        except (MismatchError, InvalidDataError) as error:
            raise MismatchError(
                f"{GRAPH_FILE} gives no answer to {space.observations} zeros, as many as its space has: {error}"
            ) from error
        if answer.shape != (space.actions,):
            raise MismatchError(
                f"{GRAPH_FILE} answers {answer.size} numbers, its space has {space.actions}: export both again"
            )
        took_s = []
        for _ in range(TRIES):
            begin_s = time.perf_counter()
            self.act(np.zeros(space.observations))
            took_s.append(time.perf_counter() - begin_s)
            if took_s[-1] <= PERIOD_SHARE * period_s:
                return
        raise MismatchError(
            f"{GRAPH_FILE} takes {1e3 * min(took_s):.1f} ms an answer, allowed: {1e3 * PERIOD_SHARE * period_s:.1f}; "
            "the control loop waits for it; train a smaller one"
        )

    def act(self, observation: Array) -> Array:
        """Returns (A,) the action for (O,) an observation.

        Raises:
            MismatchError: the answer has another form.
            InvalidDataError: it is not finite.
        """
        answer = np.asarray(self._graph.run({OBSERVATION: observation[None].astype(np.float32)})[ACTION])
        if answer.dtype != np.float32 or answer.ndim != 2 or len(answer) != 1:
            raise MismatchError(f"its {ACTION} is {answer.dtype} of shape {answer.shape}, must be float32 (1, A)")
        return freeze("action (of the residual's answer)", answer[0], (None,))

    def ask(self, observation: Array) -> None:
        """Takes what there is to see; the tick that gathered it has done enough."""
        self._asked = observation

    def answer(self) -> Array:
        """Returns the action for what was asked last."""
        return self.act(self._asked)

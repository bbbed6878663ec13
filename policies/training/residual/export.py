"""A residual's actor as an ONNX graph."""

from __future__ import annotations

from tendon.policies.residual.graph import ACTION, OBSERVATION
from tendon.policies.training.dense_graph import dense_graph
from tendon.policies.training.projection import Projection
from tendon.policies.training.residual.networks import Actor


def actor_graph(actor: Actor, projection: Projection) -> bytes:
    """Returns the graph that answers (1, A) actions for (1, O) observations."""
    return dense_graph(list(actor.layers), projection, seen=OBSERVATION, answer=ACTION, last="Tanh")

"""The suite's expert as the policy of a graph in simulation: it looks at `sim/world_state`."""

from __future__ import annotations

from sensor_msgs.msg import JointState

from tendon.core.errors import InvalidDataError
from tendon.evaluation.expert_policy import ExpertPolicy
from tendon.evaluation.suites import load_suite
from tendon.graph import topics
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.base.shell import NodeShell
from tendon.ros2_nodes.wire.world_state import read_label, world_state
from tendon.sim.suite import Scene
from tendon.sim.world_state import WorldState


class SeenWorld:
    """The newest scene and state that a node has heard of.

    Args:
        node: that listens.
        suite: name of the suite whose world it is.
    """

    def __init__(self, node: NodeShell, suite: str) -> None:
        self._node = node
        self._suite = load_suite(suite).for_graph()
        self._label = ""
        self._newest: tuple[Scene, WorldState] | None = None
        node.create_subscription(JointState, topics.WORLD_STATE, self._take, qos.NEWEST)

    def expert(self) -> ExpertPolicy:
        """Returns the expert of the suite, which looks at this world."""
        return ExpertPolicy(self._suite, self._node.profile, lambda: self._newest)

    def _take(self, message: JointState) -> None:
        try:
            _, label, state = world_state(message)
            if self._newest is None or label != self._label:
                family, seed = read_label(label)
                scene = self._suite.scene(self._node.profile, seed, family)
            else:
                scene = self._newest[0]
        except (InvalidDataError, ValueError) as error:
            self._node.complain(topics.WORLD_STATE, str(error))
            return
        self._label, self._newest = label, (scene, state)

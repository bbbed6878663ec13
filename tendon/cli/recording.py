"""How a command asks something of the recorder of a running graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tendon.cli.operator import ask
from tendon.core.errors import StoppedError

if TYPE_CHECKING:
    from tendon.ros2_nodes.clients.operator import Operator


def ask_recorder(service: str) -> int:
    """Calls a service of the recorder, and prints its answer.

    Returns:
        0.

    Raises:
        StoppedError: it refuses, or there is none.
        MissingDependencyError: ROS is not installed.
    """
    print(ask("tendon_record", lambda operator: call(operator, service)))
    return 0


def call(operator: Operator, service: str) -> str:
    """Returns the recorder's answer.

    Raises:
        StoppedError: it refuses, or there is none.
    """
    from tendon.graph.running.state import RECORDER_NODE

    if not operator.wait(lambda: RECORDER_NODE in operator.nodes(), 3.0):
        if not operator.graph_nodes():
            raise StoppedError("the graph has ended: start it with `tendon run record:=manual`")
        raise StoppedError("this graph has no recorder: start it with record:=true or record:=manual")
    return operator.trigger(service)

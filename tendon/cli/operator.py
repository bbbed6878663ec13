"""How a command asks something of a running graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from tendon.core.errors import MismatchError, StoppedError
from tendon.core.node_status import ControlStatus, PolicyStatus
from tendon.safety.reports import ControlState

if TYPE_CHECKING:
    from tendon.ros2_nodes.clients.operator import Operator

Answer = TypeVar("Answer")
POLICY_PATIENCE_S, ROBOT_PATIENCE_S = 5.0, 10.0


def ask(name: str, question: Callable[[Operator], Answer]) -> Answer:
    """Returns what a question to the graph in this ROS domain brings.

    Args:
        name: of the ROS node that asks.
        question: what to do with the operator's side of the graph.

    Raises:
        MissingDependencyError: ROS is not installed.
        StoppedError: there is no graph.
    """
    from tendon.ros2_nodes.base.runtime import require_ros

    require_ros()
    from tendon.ros2_nodes.clients.operator import Operator

    operator = Operator(name)
    try:
        operator.require_graph()
        return question(operator)
    finally:
        operator.close()


def ask_about(name: str, robot: str, question: Callable[[Operator], Answer]) -> Answer:
    """Returns what a question brings, see `ask`, to a graph of one robot.

    Args:
        name: of the ROS node that asks.
        robot: name of the profile that the graph is to run.
        question: what to do with the operator's side of the graph.

    Raises:
        MissingDependencyError: ROS is not installed.
        MismatchError: it runs another robot.
        StoppedError: there is no graph.
    """

    def checked(operator: Operator) -> Answer:
        from tendon.robots.profile import load_profile

        if (found := load_profile(robot_of(operator)).name) != robot:
            raise MismatchError(f"the graph runs {found}, this is about {robot}: start it with robot:={robot}")
        return question(operator)

    return ask(name, checked)


def robot_of(operator: Operator) -> str:
    """Returns the profile of the robot that the graph runs, as its control node says.

    Raises:
        StoppedError: it does not say.
    """
    return status_of(operator).robot


def status_of(operator: Operator) -> ControlStatus:
    """Returns what the control node says of itself.

    Raises:
        StoppedError: it says nothing.
    """
    operator.wait(lambda: operator.reports.newest(ControlStatus) is not None, ROBOT_PATIENCE_S)
    status = operator.reports.newest(ControlStatus)
    if status is None:
        raise StoppedError(f"{ControlState.node} does not say which robot it runs: look at `tendon status`")
    return status


def wait_for_policy(operator: Operator, answered: Callable[[PolicyStatus], bool], silence: str) -> PolicyStatus:
    """Returns what the policy node says of itself when it has answered.

    Args:
        operator: has asked it for something.
        answered: whether a status is the answer.
        silence: what to say when none comes.

    Raises:
        StoppedError: no answer comes.
    """
    found: list[PolicyStatus] = []

    def heard() -> bool:
        status = operator.reports.newest(PolicyStatus)
        if status is not None and answered(status):
            found.append(status)
        return bool(found)

    if not operator.wait(heard, POLICY_PATIENCE_S):
        raise StoppedError(f"{silence}; in the graph are: {operator.graph_nodes()}")
    return found[-1]

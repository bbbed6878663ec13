"""Limit how much the residual of a running graph may act; 0 switches it off.

At 0.5 it is half of its correction, within half of its bounds.

Examples:
  tendon residual limit 0
  tendon residual limit 0.5
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tendon.cli.operator import ask
from tendon.core.node_status import NOT_KEPT, ControlStatus
from tendon.graph.parameters import RESIDUAL_AUTHORITY

if TYPE_CHECKING:
    from tendon.ros2_nodes.clients.operator import Operator

SAID_S = 1.0
"""The control node says twice a second how it is."""


def command(value: Annotated[float, typer.Argument(metavar="VALUE", help="0 to 1.")]) -> int:
    """Sets the parameter of the control node.

    Raises:
        StoppedError: there is no graph, it has no residual, or the value is out of range.
        MissingDependencyError: ROS is not installed.
    """
    ask("tendon_limit", lambda operator: _limit(operator, value))
    return 0


def _limit(operator: Operator, value: float) -> None:
    operator.set_parameter("control_node", RESIDUAL_AUTHORITY, value)
    print(f"residual: at most {100 * value:g} %")

    def problem() -> bool:
        status = operator.reports.newest(ControlStatus)
        return status is not None and NOT_KEPT in status.residual

    if operator.wait(problem, SAID_S):
        print(f"until the control node ends: the limit {NOT_KEPT}, see `tendon status`")

"""Limit how much the residual of a running graph may act; 0 switches it off.

At 0.5 it is half of its correction, within half of its bounds.

Examples:
  tendon residual limit 0
  tendon residual limit 0.5
"""

from __future__ import annotations

from typing import Annotated

import typer

from tendon.cli.operator import ask
from tendon.graph.parameters import RESIDUAL_AUTHORITY


def command(value: Annotated[float, typer.Argument(metavar="VALUE", help="0 to 1.")]) -> int:
    """Sets the parameter of the control node.

    Raises:
        StoppedError: there is no graph, it has no residual, or the value is out of range.
        MissingDependencyError: ROS is not installed.
    """
    ask("tendon_limit", lambda operator: operator.set_parameter("control_node", RESIDUAL_AUTHORITY, value))
    print(f"residual: at most {100 * value:g} %")
    return 0

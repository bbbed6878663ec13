"""Change to the other policy of a running graph, in mid-motion.

Example:
  tendon run policy:=bundles/tabletop standby:=outputs/bundles/mine arm:=true instruction:="lift the red cube"
  tendon policy switch mine
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tendon.cli.operator import ask, wait_for_policy
from tendon.core.errors import StoppedError

if TYPE_CHECKING:
    from tendon.ros2_nodes.clients.operator import Operator


def command(
    policy: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Name in the bundle.yaml of one that was loaded by policy:= or standby:=."),
    ],
) -> int:
    """Publishes the name and waits until the policy node has changed or refused.

    Raises:
        StoppedError: there is no graph or policy node, it has no such policy, or that one does not know the task.
        MissingDependencyError: ROS is not installed.
    """
    ask("tendon_switch", lambda operator: _change(operator, policy))
    print(f"policy: {policy}")
    return 0


def _change(operator: Operator, policy: str) -> None:
    operator.select(policy)
    status = wait_for_policy(operator, lambda status: status.selected == policy, "no policy node changed its policy")
    if status.selection_refusal:
        raise StoppedError(status.selection_refusal)

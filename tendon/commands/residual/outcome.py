"""Tell the running graph what came of an episode, so that its residual is kept or withdrawn.

The residual is left out in some episodes, and withdrawn when it is shown to do worse than the policy alone.

Examples:
  tendon run residual:=outputs/residual/seed0 arm:=true instruction:="put the red cube in the blue bowl"
  tendon residual outcome success
  tendon residual outcome failure
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from tendon.cli.operator import ask

if TYPE_CHECKING:
    from tendon.ros2_nodes.clients.operator import Operator


class Outcome(str, Enum):
    """Of an episode."""

    SUCCESS = "success"
    FAILURE = "failure"


def command(result: Annotated[Outcome, typer.Argument(metavar="RESULT", help="success or failure.")]) -> int:
    """Calls the service of the control node, and says what becomes of the residual.

    Raises:
        StoppedError: there is no graph, or it has no residual.
        MissingDependencyError: ROS is not installed.
    """

    def tell(operator: Operator) -> None:
        print(f"residual: {operator.outcome(result is Outcome.SUCCESS)}")

    ask("tendon_outcome", tell)
    return 0

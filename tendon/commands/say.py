"""Give the policy of a running graph a new task in words.

Examples:
  tendon say "put the red cube in the blue bowl"
  tendon say stop
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tendon.cli.operator import ask, wait_for_policy
from tendon.core.errors import StoppedError

if TYPE_CHECKING:
    from tendon.ros2_nodes.clients.operator import Operator


def command(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="INSTRUCTION", help="Such as put the red cube in the blue bowl, or stop. No quotes needed."
        ),
    ],
) -> int:
    """Publishes the instruction and waits until the policy has taken or refused it.

    Raises:
        StoppedError: there is no graph, no policy node answers, or the policy does not know a word.
        MissingDependencyError: ROS is not installed.
    """
    instruction = " ".join(words)
    ask("tendon_say", lambda operator: _tell(operator, instruction))
    return 0


def _tell(operator: Operator, instruction: str) -> None:
    operator.say(instruction)
    policy = wait_for_policy(
        operator, lambda status: status.heard == instruction, "no policy node took the instruction"
    )
    if policy.refusal:
        raise StoppedError(policy.refusal)

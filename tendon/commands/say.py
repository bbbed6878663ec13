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
from tendon.core.modes import Mode, Source
from tendon.graph.leading import STOPPED, UNARMED, UNLED
from tendon.safety.reports import ControlState

if TYPE_CHECKING:
    from tendon.ros2_nodes.clients.operator import Operator

HAND_OVER_S = 1.0
"""In which a task that ends a hold has the policy lead."""


def command(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="INSTRUCTION", help="Such as put the red cube in the blue bowl, or stop. No quotes needed."
        ),
    ],
) -> int:
    """Publishes the instruction, waits until the policy has taken or refused it, and says what follows.

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
    if not policy.instruction:
        print("the policy has no task now: the robot is held")
        return
    operator.wait(lambda: _leader(operator) not in (None, *UNLED), HAND_OVER_S)
    leader, mode = _leader(operator), operator.mode()
    if mode is not None and not mode.moving:
        print(f"the task is taken, but {UNARMED if mode is Mode.STANDBY else STOPPED}")
    elif leader in UNLED:
        print(f"the task is taken, but {UNLED[leader]}")
    else:
        print(f"the policy goes for it: {policy.instruction}")


def _leader(operator: Operator) -> Source | None:
    """Returns who leads; `None` until the control node has said it."""
    control = operator.reports.newest(ControlState)
    return None if control is None else control.source

"""Add words to the episode that is being recorded.

Example:
  tendon record note the gripper slipped
"""

from __future__ import annotations

from typing import Annotated

import typer

from tendon.cli.operator import ask


def command(words: Annotated[list[str], typer.Argument(metavar="TEXT", help="No quotes needed.")]) -> int:
    """Publishes the note.

    Raises:
        StoppedError: there is no graph, or nobody records it.
        MissingDependencyError: ROS is not installed.
    """
    text = " ".join(words)
    ask("tendon_record", lambda operator: operator.note(text))
    return 0

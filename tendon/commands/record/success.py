"""End the episode and keep it as a success.

Example:
  tendon record success
"""

from __future__ import annotations

from tendon.cli.recording import ask_recorder
from tendon.graph import topics


def command() -> int:
    """Keeps the episode as a success.

    Raises:
        StoppedError: the recorder refuses, or there is none.
        MissingDependencyError: ROS is not installed.
    """
    return ask_recorder(topics.RECORD_SUCCESS)

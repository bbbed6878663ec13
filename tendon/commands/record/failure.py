"""End the episode and keep it as a failure.

Example:
  tendon record failure
"""

from __future__ import annotations

from tendon.cli.recording import ask_recorder
from tendon.graph import topics


def command() -> int:
    """Keeps the episode as a failure.

    Raises:
        StoppedError: the recorder refuses, or there is none.
        MissingDependencyError: ROS is not installed.
    """
    return ask_recorder(topics.RECORD_FAILURE)

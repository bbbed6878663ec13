"""End the episode and remove its file.

Example:
  tendon record discard
"""

from __future__ import annotations

from tendon.cli.recording import ask_recorder
from tendon.graph import topics


def command() -> int:
    """Removes the episode.

    Raises:
        StoppedError: the recorder refuses, or there is none.
        MissingDependencyError: ROS is not installed.
    """
    return ask_recorder(topics.RECORD_DISCARD)

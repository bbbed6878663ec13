"""Begin an episode: every topic of the running graph to a new MCAP file.

Example:
  tendon record start
"""

from __future__ import annotations

from tendon.cli.recording import ask_recorder
from tendon.graph import topics


def command() -> int:
    """Begins an episode.

    Raises:
        StoppedError: the recorder refuses, or there is none.
        MissingDependencyError: ROS is not installed.
    """
    return ask_recorder(topics.RECORD_START)

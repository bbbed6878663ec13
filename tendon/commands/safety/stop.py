"""Stop the robot of a running graph and latch: it comes to rest and stays so.

Example:
  tendon safety stop
"""

from __future__ import annotations

from tendon.cli.operator import ask


def command() -> int:
    """Stops.

    Raises:
        StoppedError: the safety monitor refuses, or there is none.
        MissingDependencyError: ROS is not installed.
    """
    print(ask("tendon_safety", lambda operator: operator.stop()))
    return 0

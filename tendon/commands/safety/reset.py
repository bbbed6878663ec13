"""Release the latch when its cause is gone; moves nothing.

Example:
  tendon safety reset
"""

from __future__ import annotations

from tendon.cli.operator import ask


def command() -> int:
    """Releases the latch.

    Raises:
        StoppedError: the safety monitor refuses, or there is none.
        MissingDependencyError: ROS is not installed.
    """
    print(ask("tendon_safety", lambda operator: operator.reset()))
    return 0

"""Permit motion.

Example:
  tendon safety arm
"""

from __future__ import annotations

from tendon.cli.operator import ask


def command() -> int:
    """Arms.

    Raises:
        StoppedError: the safety monitor refuses, or there is none.
        MissingDependencyError: ROS is not installed.
    """
    print(ask("tendon_safety", lambda operator: operator.arm()))
    return 0

"""Permit motion.

Example:
  tendon safety arm
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tendon.cli.operator import ask

if TYPE_CHECKING:
    from tendon.ros2_nodes.clients.operator import Operator

REPORT_S = 1.5
"""Within which a policy says what it follows."""


def command() -> int:
    """Arms, and says what a policy goes on with.

    Raises:
        StoppedError: the safety monitor refuses, or there is none.
        MissingDependencyError: ROS is not installed.
    """
    print(ask("tendon_safety", arm))
    return 0


def arm(operator: Operator) -> str:
    """Returns the monitor's answer, with the task that the policy has from before."""
    from tendon.core.node_status import PolicyStatus

    answer, newest = operator.arm(), lambda: operator.reports.newest(PolicyStatus)
    if "policy_node" in operator.nodes():
        operator.wait(lambda: newest() is not None, REPORT_S)
    policy = newest()
    if policy is None or not policy.instruction or policy.done:
        return answer
    return f'{answer}; the policy goes on with "{policy.instruction}" (`tendon say ""` ends that)'

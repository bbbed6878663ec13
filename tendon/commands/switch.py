"""Change to the other policy of a running graph, in mid-motion.

Example:
  tendon run policy:=bundles/tabletop standby:=outputs/bundles/mine arm:=true instruction:="lift the red cube"
  tendon switch mine
"""

from __future__ import annotations

import argparse

from tendon.core.errors import StoppedError
from tendon.ros2_nodes.runtime import require_ros

PATIENCE_S = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the name."""
    parser.epilog = __doc__.partition("\n\n")[2] if __doc__ else None
    parser.add_argument("policy", help="name in the bundle.yaml of one that was loaded by policy:= or standby:=")


def run(args: argparse.Namespace) -> int:
    """Publishes the name and waits until the policy node has changed or refused.

    Raises:
        StoppedError: no policy node answers, it has no such policy, or that one does not know the task.
        MissingDependencyError: ROS is not installed.
    """
    require_ros()
    from tendon.ros2_nodes.operator import Operator

    operator = Operator("tendon_switch")

    def answered() -> bool:
        said = operator.said("policy_node")
        return said.get("policy") == args.policy or "policy not changed" in said.get("message", "")

    try:
        operator.select(args.policy)
        if not operator.wait(answered, PATIENCE_S):
            raise StoppedError("no policy node changed its policy: is the graph running in this ROS domain?")
        said = operator.said("policy_node")
        if said.get("policy") != args.policy:
            raise StoppedError(said["message"])
    finally:
        operator.close()
    print(f"policy: {args.policy}")
    return 0

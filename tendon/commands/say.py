"""Give the policy of a running graph a new task in words."""

from __future__ import annotations

import argparse

from tendon.core.errors import StoppedError
from tendon.ros2_nodes.runtime import require_ros

PATIENCE_S = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the instruction."""
    parser.add_argument("instruction", help='such as "put the red cube in the blue bowl"')


def run(args: argparse.Namespace) -> int:
    """Publishes the instruction and waits until the policy has taken or refused it.

    Raises:
        StoppedError: no policy node answers, or the policy does not know a word.
        MissingDependencyError: ROS is not installed.
    """
    require_ros()
    from tendon.ros2_nodes.operator import Operator

    operator = Operator("tendon_say")

    def answered() -> bool:
        said = operator.said("policy_node")
        return said.get("instruction") == args.instruction or args.instruction in said.get("message", "")

    try:
        operator.say(args.instruction)
        if not operator.wait(answered, PATIENCE_S):
            raise StoppedError("no policy node took the instruction: is the graph running in this ROS domain?")
        said = operator.said("policy_node")
        if said.get("instruction") != args.instruction:  # whatever else is wrong, a refused task is not kept
            raise StoppedError(said["message"])
    finally:
        operator.close()
    return 0

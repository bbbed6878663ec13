"""Steer the running policy by one of its numbers, in mid-motion.

Example:
  tendon run policy:=outputs/bundles/steered arm:=true instruction:="lift the red cube"
  tendon steer speed -1.5
"""

from __future__ import annotations

import argparse

from tendon.ros2_nodes.runtime import require_ros


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds name and value."""
    parser.epilog = __doc__.partition("\n\n")[2] if __doc__ else None
    parser.add_argument("name", help="of a steering input in the bundle.yaml of the policy")
    parser.add_argument("value", type=float, help="within the range there")


def run(args: argparse.Namespace) -> int:
    """Sets the parameter of the policy node.

    Raises:
        StoppedError: no policy node answers, it has no such number, or the value is out of range.
        MissingDependencyError: ROS is not installed.
    """
    require_ros()
    from tendon.ros2_nodes.operator import Operator

    operator = Operator("tendon_steer")
    try:
        operator.steer(args.name, args.value)
    finally:
        operator.close()
    print(f"{args.name}: {args.value:g}")
    return 0

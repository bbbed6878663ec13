"""Stop, reset or arm the robot of a running graph."""

from __future__ import annotations

import argparse

from tendon.ros2_nodes.runtime import require_ros


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what to do."""
    parser.add_argument("request", choices=("stop", "reset", "arm"), help="stop latches; reset does not move; arm may")


def run(args: argparse.Namespace) -> int:
    """Calls the safety monitor's service and prints its answer.

    Raises:
        StoppedError: it refuses, or there is none.
        MissingDependencyError: ROS is not installed.
    """
    require_ros()
    from tendon.ros2_nodes.operator import Operator

    operator = Operator("tendon_safety")
    try:
        print(getattr(operator, args.request)())
    finally:
        operator.close()
    return 0

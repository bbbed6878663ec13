"""Start the graph: the simulated robot or a real one, its safety and a policy."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
from types import FrameType

from tendon.core.errors import ConfigError, StoppedError
from tendon.graph.arguments import ARGUMENTS, parse_arguments
from tendon.graph.description import describe
from tendon.graph.domain import domain_id, free_domain, in_use
from tendon.graph.supervisor import Supervisor
from tendon.ros2_nodes.runtime import clean_shared_memory, prepare_process, require_ros

DISCOVERY_S, BUSY_DISCOVERY_S = 1.0, 5.0
"""How long nodes of another graph are looked for; longer where this machine has some in the domain."""

REST_S, HOME_S = 5.0, 30.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the graph's `key:=value` arguments."""
    lines = [
        f"  {argument.name}:={argument.default or '...'}".ljust(32)
        + argument.description
        + (f" [{'|'.join(argument.choices)}]" if argument.choices else "")
        for argument in ARGUMENTS
    ]
    parser.add_argument("arguments", nargs="*", metavar="key:=value", help="see below")
    parser.epilog = "\n".join(
        ["arguments and their defaults, the same for ros2 launch tendon bringup.launch.py:", *lines]
    )


def run(args: argparse.Namespace) -> int:
    """Runs the graph until Ctrl-C; the robot is stopped first, or sent home and stopped (a second Ctrl-C stops it).

    Returns:
        0, or the code of the first process that died.

    Raises:
        ConfigError: an argument is wrong, or the ROS domain has such a graph already.
        MissingDependencyError: ROS is not installed.
    """
    values = parse_arguments(args.arguments)
    graph = describe(values)
    require_ros()
    os.environ.update(graph.environment)
    prepare_process()
    clean_shared_memory()
    from tendon.ros2_nodes.operator import Operator

    patience_s = DISCOVERY_S if not in_use(domain_id()) else BUSY_DISCOVERY_S
    operator = Operator("tendon_run")
    try:
        names = {process.name for process in graph.processes}
        operator.wait(lambda: bool(names & operator.nodes()), patience_s)
        if taken := sorted(names & operator.nodes()):
            raise ConfigError(
                f"ROS domain {domain_id()} is busy: {', '.join(taken)} of another graph run in it; "
                f"stop that one, or use a free domain: ROS_DOMAIN_ID={free_domain()}"
            )

        interrupts: list[int] = []

        def go_home() -> None:
            with contextlib.suppress(StoppedError):  # not armed: it stays where it is
                print(operator.home(), flush=True)
                operator.wait(lambda: operator.at_home() or len(interrupts) > 1, HOME_S)

        def stop_robot() -> bool:
            if values["home_on_exit"] == "true":
                go_home()
            try:
                operator.stop(timeout_s=1.0)
            except StoppedError:
                return False
            return operator.wait(operator.at_rest, REST_S)

        supervisor = Supervisor(graph, stop_robot)

        def interrupt(number: int, _frame: FrameType | None) -> None:
            interrupts.append(number)
            supervisor.request_end()

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, interrupt)
        return supervisor.run()
    finally:
        operator.close()

"""The graph for `ros2 launch tendon bringup.launch.py robot:=panda backend:=sim policy:=...`.

What is started, with which parameters, is in `tendon.graph`; `tendon run` reads the same. Included in a launch file
of your own, its nodes take a pushed namespace, remappings and parameters as any `Node` does.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.events.process import ProcessExited
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from tendon.core.errors import StoppedError
from tendon.graph.arguments import ARGUMENTS, complete
from tendon.graph.description import RESPAWN_DELAY_S, Graph, Process
from tendon.graph.preflight import preflight
from tendon.graph.running.restarts import Restarts

PACKAGE = "tendon"
OF_LAUNCH = ("launch-prefix", "launch-prefix-filter", "emulate_tty", "sigterm_timeout", "sigkill_timeout")
"""Arguments that launch itself reads."""


def start_graph(context: LaunchContext) -> list[Node]:
    """Returns the graph's processes for the arguments that were given.

    Raises:
        TendonError: something does not fit; `ros2 launch` prints it and ends with code 1.
    """
    typed = dict(text.split(":=", 1) for text in context.argv)
    if _is_root():  # otherwise there may be arguments of the launch file that includes this one
        complete({name: value for name, value in typed.items() if name not in OF_LAUNCH})
    values = {argument.name: LaunchConfiguration(argument.name).perform(context) for argument in ARGUMENTS}
    # launch does not say what was given: a default is taken as not given, for which params_file may have another value.
    defaults = {argument.name: argument.default for argument in ARGUMENTS if argument.name not in typed}
    graph = preflight({name: value for name, value in values.items() if value != defaults.get(name)})
    return [_node(process, graph) for process in graph.processes]


def _is_root() -> bool:
    """Returns whether this file, and none that includes it, was named on the command line."""
    here = Path(__file__)
    named = any(Path(text).name == here.name and Path(text).resolve() == here.resolve() for text in sys.argv)
    return named or (PACKAGE, here.name) in zip(sys.argv, sys.argv[1:], strict=False)


def _node(process: Process, graph: Graph) -> Node:
    restarts = Restarts(process)

    def died(event: ProcessExited, context: LaunchContext) -> None:
        if context.is_shutdown or (process.once and event.returncode == 0):
            return
        how, hopeless = restarts.died(event.returncode, time.monotonic())
        if (
            hopeless and not process.optional
        ):  # an error is the only thing that makes `ros2 launch` end with another code than 0
            raise StoppedError(f"{process.name} {how}; ending the graph")

    settings = {name: ParameterValue(value, value_type=type(value)) for name, value in process.parameters.items()}
    return Node(
        package=PACKAGE,
        executable=process.executable,
        name=process.name,
        namespace=process.namespace or None,
        remappings=list(process.remappings),
        parameters=[settings],
        additional_env=dict(graph.environment),
        output="screen",
        respawn=not process.once,
        respawn_delay=RESPAWN_DELAY_S,
        on_exit=died,
    )


def generate_launch_description() -> LaunchDescription:
    """Returns the arguments and the processes."""
    arguments = [
        DeclareLaunchArgument(
            argument.name,
            default_value=argument.default,
            description=argument.description,
            choices=None if argument.number else list(argument.choices) or None,
        )
        for argument in ARGUMENTS
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=start_graph)])

"""The graph for `ros2 launch tendon bringup.launch.py robot:=panda backend:=sim policy:=...`.

What is started, with which arguments, is in `tendon.graph`; `tendon run` reads the same. `ros2 launch` counts
restarts over the whole run, not over a minute.
"""

from __future__ import annotations

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction
from launch.substitutions import LaunchConfiguration

from tendon.graph.arguments import ARGUMENTS
from tendon.graph.description import RESPAWN_DELAY_S, RESPAWN_LIMIT, describe


def start_graph(context: LaunchContext) -> list[ExecuteProcess]:
    """Returns the graph's processes for the arguments that were given."""
    graph = describe({argument.name: LaunchConfiguration(argument.name).perform(context) for argument in ARGUMENTS})
    return [
        ExecuteProcess(
            name=process.name,
            cmd=process.command,
            additional_env=dict(graph.environment),
            output="screen",
            respawn=not process.once,
            respawn_delay=RESPAWN_DELAY_S,
            respawn_max_retries=RESPAWN_LIMIT,
        )
        for process in graph.processes
    ]


def generate_launch_description() -> LaunchDescription:
    """Returns the arguments and the processes."""
    arguments = [
        DeclareLaunchArgument(
            argument.name,
            default_value=argument.default,
            description=argument.description,
            choices=list(argument.choices) or None,
        )
        for argument in ARGUMENTS
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=start_graph)])

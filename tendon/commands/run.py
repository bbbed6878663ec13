"""Start the graph: the simulated robot or a real one, its safety and a policy.

On a terminal a panel shows what can be typed next, modes, rates, latencies and reasons; what the nodes say goes to
$TENDON_STATE/log, else ~/.local/state/tendon/log, a file a run: ROBOT-DOMAIN-TIME-PID.graph.log.

Examples:
  tendon run
  tendon run scene:=100003 instruction:="put the green cube in the yellow bin" arm:=true
  tendon run robot:=ur5e backend:=hardware policy:=none
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console

from tendon.cli.graph_arguments import argument_table, complete_argument
from tendon.cli.terminal import lasting_output
from tendon.core.errors import ConfigError, StoppedError
from tendon.graph.arguments import parse_arguments
from tendon.graph.domain import domain_id, free_domain, in_use
from tendon.graph.namespace import own_namespace, place_name
from tendon.graph.running.display import PanelDisplay, PlainDisplay, closing
from tendon.graph.running.ending import on_end_request
from tendon.graph.running.log import GraphLog
from tendon.graph.running.panel import numbers_of
from tendon.graph.running.process_group import ProcessGroup
from tendon.graph.running.state import Adviser, RunState, another_terminal, command_here
from tendon.robots.profile import load_profile
from tendon.ros2_nodes.base.runtime import clean_shared_memory, prepare_process, require_ros
from tendon.safety.latch import state_folder

DISCOVERY_S, BUSY_DISCOVERY_S = 1.0, 5.0
"""How long nodes of another graph are looked for; longer where this machine has some in the domain."""

REST_S, HOME_S = 5.0, 60.0

notes = argument_table


@lasting_output()
def command(
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY:=VALUE]...", help="See below.", autocompletion=complete_argument)
    ] = None,
    params: Annotated[Path | None, typer.Option(metavar="FILE", help="The same as params_file:=FILE.")] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Lines instead of the panel, as without a terminal.")] = False,
) -> int:
    """Runs the graph until Ctrl-C; the robot is stopped first, or sent home and stopped (a second Ctrl-C stops it).

    SIGTERM and a terminal that is closed do the same.

    Returns:
        0, or the code of the first process that died.

    Raises:
        ConfigError: the arguments do not fit one another, or the ROS domain has such a graph already.
        MissingDependencyError: ROS is not installed.
    """
    values = parse_arguments([*(arguments or ()), *([] if params is None else [f"params_file:={params}"])])
    from tendon.graph.preflight import preflight  # here, for the Tab key imports this module
    from tendon.graph.running.scene_instruction import scene_instruction

    graph = preflight(values)
    profile, task = load_profile(values["robot"]), scene_instruction(values)
    require_ros()
    os.environ.update(graph.environment)
    prepare_process()
    clean_shared_memory()
    from tendon.ros2_nodes.clients.operator import Operator

    patience_s = DISCOVERY_S if not in_use(domain_id()) else BUSY_DISCOVERY_S
    console = Console()
    operator = Operator("tendon_run")
    try:
        names = {process.name for process in graph.processes}
        operator.wait(lambda: bool(names & operator.nodes()), patience_s)
        if taken := sorted(names & operator.nodes()):
            where = f"ROS domain {domain_id()}" + (f", namespace {own_namespace()}," if own_namespace() else "")
            raise ConfigError(
                f"{where} is busy: {', '.join(taken)} of another graph run in it; "
                f"stop that one, or use a free domain: ROS_DOMAIN_ID={free_domain()}, or another namespace:="
            )

        interrupts: list[int] = []
        nodes = tuple(process.name for process in graph.processes if not process.once)
        log = None if plain or not console.is_terminal else GraphLog(state_folder() / "log", _log_name(profile.name))
        output = sys.stdout if log is None else log

        def go_home() -> None:
            try:
                output.write(f"{operator.home()}\n")
            except StoppedError as error:  # it stays where it is
                output.write(f"{error}\n")
                return
            operator.wait(lambda: operator.at_home() or len(interrupts) > 1, HOME_S)

        def stop_robot() -> bool:
            if values["home_on_exit"] == "true":
                go_home()
            operator.stop()
            return operator.wait(operator.at_rest, REST_S)

        group = ProcessGroup(graph, stop_robot, output)

        def look() -> RunState:
            return operator.reports.state(nodes, group.ending)

        def interrupt(number: int, _frame: FrameType | None) -> None:
            if not interrupts or number != signal.SIGHUP:  # a terminal that is closed is not a person in a hurry
                interrupts.append(number)
            group.request_end()

        on_end_request(interrupt)
        adviser = Adviser(tendon=command_here(), task=task, policy="policy_node" in nodes, where=another_terminal())
        if log is None:
            with PlainDisplay(look, adviser, output):
                return group.run()
        title = f"tendon run · {profile.name} · {values['backend']} · {_policy_name(values)} · domain {domain_id()}"
        with PanelDisplay(look, adviser, log, numbers_of([c.name for c in profile.cameras]), title, console):
            code = group.run()
        log.close()
        console.print("\n".join(closing(log, code)), markup=False, highlight=False, soft_wrap=True)
        return code
    finally:
        operator.close()


def _log_name(robot: str) -> str:
    return f"{place_name(robot, domain_id(), own_namespace())}-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}"


def _policy_name(values: Mapping[str, str]) -> str:
    return "no policy" if values["policy"] == "none" else Path(values["policy"]).name

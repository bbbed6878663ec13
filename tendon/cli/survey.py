"""What `tendon status` and `tendon doctor --graph` print of a graph."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tendon.core.node_status import ControlStatus, Level, NodeStatus
from tendon.graph.domain import domain_id
from tendon.graph.running.state import Adviser, another_terminal, command_here

if TYPE_CHECKING:
    from tendon.graph.expectations import Expectation
    from tendon.graph.survey import Endpoint, Problem, Survey

LOG_WIDTH = 200
"""Columns in a file or a pipe, where there is no terminal to fit."""
MAX_NAMES = 2
"""Nodes that are named in a cell; of more only the number."""
LEVELS = {
    Level.OK: ("ok", "green"),
    Level.WARN: ("warning", "yellow"),
    Level.ERROR: ("error", "red"),
    Level.STALE: ("stale", "red"),
    None: ("missing", "red"),
}


@contextlib.contextmanager
def _stdout_for_us() -> Iterator[None]:
    """Sends to stderr what the middleware prints to stdout, which belongs to the answer."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def take_survey(arguments: Sequence[str]) -> Survey:
    """Looks at the graph in this ROS domain.

    Args:
        arguments: `key:=value` as for `tendon run`; without any, the graph's nodes say what it should be.

    Raises:
        StoppedError: there is no graph.
        ConfigError: an argument is wrong.
        MissingDependencyError: ROS is not installed.
    """
    from tendon.graph.arguments import parse_arguments
    from tendon.graph.description import describe
    from tendon.ros2_nodes.base.runtime import prepare_process, require_ros

    robot, nodes = None, None
    if arguments:
        robot = parse_arguments(arguments)["robot"]
        nodes = [process.name for process in describe(parse_arguments(arguments)).processes if not process.once]
    require_ros()
    prepare_process(images=True)
    from tendon.ros2_nodes.clients.operator import Operator
    from tendon.ros2_nodes.clients.surveyor import Surveyor

    with _stdout_for_us():
        operator = Operator("tendon_status")
        try:
            return Surveyor(operator).survey(robot, nodes)
        finally:
            operator.close()


def report(survey: Survey, as_json: bool) -> int:
    """Prints a survey; returns 0 when nothing serious is wrong, else 1."""
    problems = survey.problems()
    if as_json:
        print(json.dumps(as_values(survey, problems), indent=1, ensure_ascii=False))
    else:
        _print(survey, problems)
    return int(any(problem.serious for problem in problems))


def as_values(survey: Survey, problems: Sequence[Problem]) -> dict[str, Any]:
    """Returns a survey as JSON holds it; times in ms, rates in Hz, `null` for what was not seen."""
    state = survey.state
    topics = {}
    for expected in survey.expected:
        seen = survey.seen[expected.topic]
        topics[expected.topic] = {
            "publishers": {endpoint.node: endpoint.qos for endpoint in seen.publishers},
            "subscribers": {endpoint.node: endpoint.qos for endpoint in seen.subscribers},
            "messages": seen.count,
            "rate_hz": seen.rate_hz,
            "age_ms": seen.age_ms,
            "max_age_ms": max(seen.ages_ms, default=None),
        }
    return {
        "ok": not any(problem.serious for problem in problems),
        "domain": domain_id(),
        "robot": survey.profile.name,
        "state": None if state.permission is None else state.permission.value,
        "mode": None if state.control is None else state.control.mode.value,
        "nodes": {node: {"seen": node in state.age_s, **_said(state.statuses.get(node))} for node in state.nodes},
        "topics": topics,
        "skew_ms": {" ".join(skew.cameras): skew.gap_ms for skew in survey.skews()},
        "problems": [
            {"where": each.where, "text": each.text, "advice": each.advice, "serious": each.serious}
            for each in problems
        ],
    }


def _said(status: NodeStatus | None) -> dict[str, Any]:
    return {} if status is None else {**asdict(status), "level": LEVELS[status.level][0]}


def _print(survey: Survey, problems: Sequence[Problem]) -> None:
    console = Console(width=None if sys.stdout.isatty() else LOG_WIDTH)
    state = survey.state
    console.print(f"graph of {survey.profile.name} in ROS domain {domain_id()}", style="bold", highlight=False)
    nodes = Table.grid(padding=(0, 2))
    for node in state.nodes:
        status = state.statuses.get(node)
        nodes.add_row(
            Text(*LEVELS[None if status is None else status.level]), node, Text("" if status is None else status.text)
        )
    console.print(nodes)
    for status in state.statuses.values():
        if isinstance(status, ControlStatus) and status.residual:
            console.print(Text(f"residual: {status.residual}"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("topic", overflow="fold")
    table.add_column("rate", justify="right", no_wrap=True)
    table.add_column("age", justify="right", no_wrap=True)
    for name in ("from", "QoS", "to"):
        table.add_column(name)
    for expected in survey.expected:
        table.add_row(*_row(survey, expected))
    console.print(Text())
    console.print(table)
    for skew in survey.skews():
        text = f"cameras {' and '.join(skew.cameras)}: {skew.gap_ms:.1f} ms apart, at most {skew.allowed_ms:.1f} ms"
        console.print(Text(f"\n{text}"))
    console.print(Text())
    for problem in problems:
        mark = ("error    ", "red") if problem.serious else ("warning  ", "yellow")
        console.print(Text.assemble(mark, (problem.where, "bold"), f": {problem.text}"))
        if problem.advice:
            console.print(Text(f"         {problem.advice}", "dim"))
    if not problems:
        console.print(Text("nothing is missing", "green"))
    adviser = Adviser(tendon=command_here(), task="", policy="policy_node" in state.nodes, where=another_terminal())
    advice = adviser.advise(state)
    console.print(Text.assemble((advice.word.value, "bold"), f": {advice.reason}"))
    for command, effect in advice.commands:
        console.print(Text.assemble("  ", (command, "bold"), f"  {effect}"))


def _row(survey: Survey, expected: Expectation) -> tuple[Text | str, ...]:
    seen = survey.seen[expected.topic]
    rate = "-" if seen.rate_hz is None else f"{seen.rate_hz:.1f} Hz"
    age = "-" if seen.age_ms is None else f"{seen.age_ms:.1f} ms"
    qualities = " or ".join(sorted({endpoint.qos for endpoint in seen.publishers}))
    return expected.topic, rate, age, _names(seen.publishers), qualities, _names(seen.subscribers)


def _names(endpoints: Sequence[Endpoint]) -> str:
    names = sorted({endpoint.node for endpoint in endpoints})
    return ", ".join(names) if len(names) <= MAX_NAMES else f"{len(names)} nodes"

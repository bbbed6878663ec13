"""Say what a running graph does and lacks: nodes, and per topic rate, age, quality of service and who is missing.

It joins the ROS domain for about three seconds. What the graph should be is read from its nodes; arguments as for
`tendon run` say it instead, also before the graph is started, to see whether the drivers give what it needs.

Examples:
  tendon status
  tendon status --json
  tendon status robot:=ur5e backend:=hardware policy:=none
"""

from __future__ import annotations

from typing import Annotated

import typer

from tendon.cli.graph_arguments import complete_argument
from tendon.cli.survey import report, take_survey


def command(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY:=VALUE]...", help="As for tendon run.", autocompletion=complete_argument),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> int:
    """Prints it; returns 0 when the graph can work, else 1.

    Raises:
        StoppedError: there is no graph.
        ConfigError: an argument is wrong.
        MissingDependencyError: ROS is not installed.
    """
    return report(take_survey(arguments or ()), as_json)

"""Steer the running policy by one of its numbers, in mid-motion.

Example:
  tendon run policy:=outputs/bundles/steered arm:=true instruction:="lift the red cube"
  tendon policy steer speed -1.5
"""

from __future__ import annotations

from typing import Annotated

import typer

from tendon.cli.operator import ask

CONTEXT = {"ignore_unknown_options": True}
"""A negative value is no option."""


def command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of a steering input in the bundle.yaml of the policy.")],
    value: Annotated[float, typer.Argument(metavar="VALUE", help="Within the range there.")],
) -> int:
    """Sets the parameter of the policy node.

    Raises:
        StoppedError: there is no graph, no policy node answers, it has no such number, or the value is out of range.
        MissingDependencyError: ROS is not installed.
    """
    ask("tendon_steer", lambda operator: operator.steer(name, value))
    print(f"{name}: {value:g}")
    return 0

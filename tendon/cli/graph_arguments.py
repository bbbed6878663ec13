"""The graph's `key:=value` arguments in the help of a command, and on the Tab key."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import typer

from tendon.cli.options import bundle_names, environment_names, robot_names
from tendon.graph.arguments import ARGUMENTS

VALUES: Mapping[str, Callable[[], list[str]]] = {
    "robot": robot_names,
    "policy": lambda: [*bundle_names(), "none"],
    "standby": lambda: [*bundle_names(), "none"],
    "environment": lambda: [*environment_names(), "none"],
}


def argument_table() -> str:
    """Returns the arguments and their defaults, a line each."""
    lines = [
        f"  {argument.name}:={argument.default or '...'}".ljust(32)
        + argument.description
        + (f" [{'|'.join(argument.choices)}]" if argument.choices else "")
        for argument in ARGUMENTS
    ]
    title = "Arguments and their defaults, the same for ros2 launch tendon bringup.launch.py:"
    return "\n".join([title, *lines])


def complete_argument(ctx: typer.Context, incomplete: str) -> list[str]:
    """Returns the arguments, or the values of one, that begin so.

    Bash takes `:=` for a word of its own: of `robot:=pa` it asks for what begins with `pa`, after `robot` and `:=`.
    """
    before = list(ctx.params.get("arguments") or ())
    if before[-1:] == [":="]:
        return [value for value in _values(before[-2] if len(before) > 1 else "") if value.startswith(incomplete)]
    name, sign, value = incomplete.partition(":=")
    if sign:
        return [f"{name}:={choice}" for choice in _values(name) if choice.startswith(value)]
    near = [argument.name for argument in ARGUMENTS if argument.name.startswith(incomplete.rstrip(":"))]
    if len(near) == 1:  # with its values, so that the shell stops behind `:=` and adds no space
        return [f"{near[0]}:=", *(f"{near[0]}:={choice}" for choice in _values(near[0]))]
    return [f"{name}:=" for name in near]


def _values(name: str) -> list[str]:
    """Returns what an argument can be, as far as that can be listed."""
    if name in VALUES:
        return VALUES[name]()
    for argument in ARGUMENTS:
        if argument.name == name:
            return list(argument.choices) or [text for text in (argument.default,) if text]
    return []

"""What is said of a command line that is wrong: one line, with the nearest thing that is right."""

from __future__ import annotations

import difflib
import re
from typing import Any

import typer

from tendon.cli.tree import Group, walk

# ClickException: typer's own since it left click, click's before, and public in neither.
ParseError: type[Exception] = typer.BadParameter.__mro__[2]

RENAMED = {"bundle": "policy"}
"""Groups that other projects, or this one before its first release, call by another name."""


_PYDANTIC = re.compile(r"\bValue error, |\bInput should be (.*?)(, unable to parse .*|$)")
"""In what typer says of a value: words of the library that reads it."""


def _plainly(found: re.Match[str]) -> str:
    return f"must be {found[1]}" if found[1] else ""


def one_line(error: Any) -> str:
    """Returns what is wrong, in which command, and where to read on."""
    path = error.ctx.command_path if getattr(error, "ctx", None) else "tendon"
    option = getattr(error, "option_name", None)
    if option is not None and error.ctx is not None:
        known = [name for parameter in error.ctx.command.get_params(error.ctx) for name in parameter.opts]
        message = f"no option {option}" + nearest(option, [name for name in known if name.startswith("-")])
    else:
        message = " ".join(error.format_message().split()).rstrip(".")
        message = message[:1].lower() + _PYDANTIC.sub(_plainly, message[1:])
    return f"{path}: {message} ({path} --help)"


def unknown_command(group: Group, path: str, words: list[str]) -> str:
    """Returns what to say of a word that is no command of a group.

    Args:
        group: where it was looked for.
        path: what was typed before, such as `tendon policy`.
        words: the word and those after it.
    """
    names = group.list_commands(None)
    if longer := [name for name in names if name.startswith(words[0])]:
        return f"no command {words[0]}; did you mean {path} {longer[0]}?"
    whole = list(walk(Group()))
    for word in words[:2]:  # `tendon bundle sign`: its second word says what is meant
        if elsewhere := [command for command in whole if command[-1] == word]:
            found = " or ".join(f"tendon {' '.join(command)}" for command in elsewhere)
            return f"no command {words[0]}; did you mean {found}?"
    if words[0] in RENAMED:
        return f"no command {words[0]}; did you mean {path} {RENAMED[words[0]]}?"
    if near := difflib.get_close_matches(words[0], names, n=1):
        return f"no command {words[0]}; did you mean {path} {near[0]}?"
    if path.endswith(" eval"):  # `tendon eval A B`: of policies
        verb = "compare" if len(words) > 1 and not words[1].startswith("-") else "run"
        return f"no command {words[0]}; did you mean {path} {verb} {' '.join(words)}?"
    leaves = {command[-1]: command for command in whole}
    if near := difflib.get_close_matches(words[0], leaves, n=1):
        return f"no command {words[0]}; did you mean tendon {' '.join(leaves[near[0]])}?"
    return f"no command {words[0]}; known: {', '.join(names)}"


def nearest(word: str, known: list[str]) -> str:
    """Returns the end of a message: the known word nearest to a wrong one, or nothing."""
    near = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""

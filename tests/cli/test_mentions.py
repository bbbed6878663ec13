"""Commands that docs, messages and scripts tell a reader to type exist under that name."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tendon.cli.tree import Group, walk
from tendon.core.paths import share_folder

ROOT = share_folder()
COMMANDS = {" ".join(path) for path in walk(Group())}
GROUPS = {command.partition(" ")[0] for command in COMMANDS if " " in command}
WORDS = re.compile(r"[a-z][a-z-]*")

HISTORY = {"CHANGELOG.md", "tendon/cli/mistakes.py", "policies/bundle/signature.py"}
"""They name commands that were, or what is no command: the changelog, wrong words, a signature's purpose."""


def mentions(text: str) -> Iterator[str]:
    """Yields what follows `tendon` in code spans, and in lines that begin with it."""
    yield from re.findall(r"`tendon ([^`\n]+)`", text)
    yield from re.findall(r"^(?:\s*\$ )?\s*tendon ([^\n]+)", text, re.MULTILINE)


def is_command(rest: str) -> bool:
    """Whether the words after `tendon` begin with a command, or with an option of `tendon` itself."""
    try:
        words = shlex.split(rest, comments=True)
    except ValueError:  # a quote that another line ends
        words = rest.split()
    words = [word.rstrip(":,.;") for word in words]
    if not words or not WORDS.fullmatch(words[0]):
        return True  # `tendon --help`, `tendon GROUP --help`
    if words[0] in GROUPS:  # `tendon policy`, `tendon policy --help`, `tendon policy bench ...`
        is_name = len(words) > 1 and (WORDS.fullmatch(words[1]) or "/" in words[1])
        return not is_name or " ".join(words[:2]) in COMMANDS
    return words[0] in COMMANDS


def files() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    named = (".md", ".py", ".sh", ".yaml", "Makefile")
    return [n for n in listed.split("\0") if n.endswith(named) and not n.startswith("tests/") and n not in HISTORY]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a git checkout to know which files belong to it")
def test_every_command_that_is_mentioned_exists() -> None:
    wrong = [
        f"{name}: tendon {rest}"
        for name in files()
        if (ROOT / name).is_file()
        for rest in mentions(Path(ROOT, name).read_text(encoding="utf-8"))
        if not is_command(rest)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "rest", ["import DIR", "policy impart x", "bench bundles/tabletop", "eval bundles", "safety verify x"]
)
def test_an_old_or_a_wrong_name_would_be_found(rest: str) -> None:
    assert not is_command(rest)

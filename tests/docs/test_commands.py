"""Options and arguments that documents tell a reader to type are those that the commands take."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tendon.cli.tree import Group, load_command, walk
from tendon.graph.arguments import ARGUMENTS
from tendon.graph.parameters import find_parameter
from tests import ROOT

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PATHS = {" ".join(path): path for path in walk(Group())}
REFERENCE = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")


def typed(text: str) -> Iterator[list[str]]:
    """Yields the words of each line that begins with `tendon`, and of each code span that does."""
    joined = text.replace("\\\n", " ")
    lines = re.findall(r"^\s*(tendon [^\n]+)$", joined, re.MULTILINE) + re.findall(r"`(tendon [^`\n]+)`", joined)
    for line in lines:
        try:
            yield shlex.split(line, comments=True)
        except ValueError:  # a message of ours with an apostrophe
            continue


@cache
def options_of(path: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name for parameter in load_command(path).params for name in parameter.opts) | {"--help", "-h"}


def wrong_words(words: list[str]) -> list[str]:
    """Returns the options and `key:=` arguments of a command line that its command does not take."""
    path = next((PATHS[name] for k in (3, 2) if (name := " ".join(words[1:k])) in PATHS), None)
    if path is None:  # `tendon --help`, a group, or what tests/cli/test_mentions.py finds
        return []
    known = {argument.name for argument in ARGUMENTS}
    options = [word.split("=")[0] for word in words if word.startswith("--")]
    keys = [word.split(":=")[0] for word in words if re.match(r"[a-z_]+:=", word)]
    return [o for o in options if o not in options_of(path)] + [k for k in keys if k not in known]


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_option_in_a_document_exists(file: Path) -> None:
    wrong = [(" ".join(words), bad) for words in typed(file.read_text(encoding="utf-8")) if (bad := wrong_words(words))]
    assert not [line for line, bad in wrong if bad != ["robto"]], wrong


def test_a_wrong_option_would_be_found() -> None:
    assert wrong_words(["tendon", "eval", "run", "tabletop", "--seed", "3"]) == ["--seed"]
    assert wrong_words(["tendon", "run", "polcy:=none"]) == ["polcy"]
    assert wrong_words(["tendon", "policy", "steer", "speed", "-0.5"]) == []


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_argument_of_the_graph_in_a_document_exists(file: Path) -> None:
    """`arm:=true`, in a sentence too; what follows -p is a parameter of a node."""
    text = file.read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_]+):=", text))
    assert not named - {argument.name for argument in ARGUMENTS} - {"use_sim_time"}
    parameters = set(re.findall(r"-p ([a-z_.]+):=", text))
    assert not [name for name in parameters - {"use_sim_time"} if find_parameter(name) is None]


def test_the_reference_has_a_row_for_every_command() -> None:
    rows = re.findall(r"^\| `tendon ([^`]+)` \|", REFERENCE, re.MULTILINE)
    assert [name for name in PATHS if not any(f"{row} ".startswith(f"{name} ") for row in rows)] == []


def test_the_reference_has_a_row_for_every_environment_variable_of_ours() -> None:
    """But for those that `tendon run` sets for its processes."""
    folders = ("tendon", "ros2_nodes", "policies", "sim", "calibration")
    code = "".join(file.read_text(encoding="utf-8") for name in folders for file in (ROOT / name).rglob("*.py"))
    ours = set(re.findall(r'"(TENDON_[A-Z_]+)"', code)) - {"TENDON_PRIORITY", "TENDON_SUPERVISOR"}
    assert "TENDON_STATE" in ours
    assert [name for name in sorted(ours) if f"| `{name}` |" not in REFERENCE] == []

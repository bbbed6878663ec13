"""What an evaluation has shown goes into the residual that it was of, and into no other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tendon.commands.residual import trust
from tendon.control.residual.gate import Evidence, Tally
from tendon.control.residual.space import ResidualSpace
from tendon.core.errors import ConfigError, MismatchError
from tendon.policies.residual.bundle import load_residual
from tests.policies.residual.tiny import write_constant

BASE = "a" * 64


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_constant(tmp_path / "residual", [0.0, 0.0, 0.0, 0.0], BASE, ResidualSpace())


def shown(folder: Path, **changes: object) -> Path:
    episodes = [{"a": {"success": k < 2}, "b": {"success": k < 3}} for k in range(4)]
    digest = load_residual(folder).manifest.digest
    file = folder.parent / "shown.json"
    file.write_text(json.dumps({"a": BASE, "b": f"{BASE}+{digest}", "episodes": episodes, **changes}))
    return file


def test_its_counts_are_written_and_nothing_else_changes(folder: Path) -> None:
    before = load_residual(folder)
    assert trust.command(folder, shown(folder)) == 0
    after = load_residual(folder)
    assert after.manifest.evidence == Evidence(base=Tally(successes=2, total=4), residual=Tally(successes=3, total=4))
    assert (after.graph, after.manifest.space, after.manifest.joints) == (
        before.graph,
        before.manifest.space,
        before.manifest.joints,
    )


def test_a_comparison_of_something_else_is_refused(folder: Path) -> None:
    with pytest.raises(MismatchError, match="compares bbbbbbbbbbbb with"):
        trust.command(folder, shown(folder, a="b" * 64))


def test_a_comparison_that_ended_when_it_looked_good_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match="compare again without"):
        trust.command(folder, shown(folder, until_shown=True))


def test_a_comparison_that_somebody_ended_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"was ended early .Ctrl-C after 5 of 200.: run the same comparison again"):
        trust.command(folder, shown(folder, ended_early="Ctrl-C after 5 of 200"))


@pytest.mark.parametrize("episodes", [None, [{"a": {}}], 3])
def test_what_is_no_comparison_is_said(folder: Path, episodes: object) -> None:
    with pytest.raises(ConfigError, match="is no result of `tendon eval compare --out`"):
        trust.command(folder, shown(folder, episodes=episodes))
    with pytest.raises(ConfigError, match="cannot be read"):
        trust.command(folder, folder / "none.json")

"""What an evaluation has shown goes into the residual that it was of, and into no other."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tendon.commands.residual import trust
from tendon.control.residual.gate import Evidence, Tally
from tendon.control.residual.space import ResidualSpace
from tendon.core.errors import ConfigError, MismatchError
from tendon.policies.bundle.signature import generate_keys
from tendon.policies.residual.bundle import SIGNATURE_FILE, load_residual, sign_residual
from tests.policies.residual.tiny import write_constant

BASE = "a" * 64


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_constant(tmp_path / "residual", [0.0, 0.0, 0.0, 0.0], BASE, ResidualSpace())


def shown(folder: Path, **changes: object) -> Path:
    episodes = pairs([{"a": k < 2, "b": k < 3} for k in range(4)])
    digest = load_residual(folder).manifest.digest
    file = folder.parent / "shown.json"
    whole = {"a": BASE, "b": f"{BASE}+{digest}", "robot": "panda", "episodes": episodes, **changes}
    file.write_text(json.dumps(whole))
    return file


def pairs(successes: Sequence[Mapping[str, object]]) -> list[dict[str, dict[str, object]]]:
    """Episodes of A and B as a comparison writes them, of one scene after the other."""
    return [
        {side: {"seed": 200_000 + k, "success": success} for side, success in each.items()}
        for k, each in enumerate(successes)
    ]


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


def test_a_signature_that_is_gone_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generate_keys(folder.parent / "mine")
    sign_residual(folder, folder.parent / "mine")
    assert trust.command(folder, shown(folder)) == 0
    assert "its signature was removed: sign it again" in capsys.readouterr().out
    assert not (folder / SIGNATURE_FILE).exists()


@pytest.mark.parametrize("seed", [29, None, 300_000])
def test_scenes_that_may_have_been_trained_on_are_no_evidence(folder: Path, seed: int | None) -> None:
    episode = {side: {"seed": seed, "success": True} for side in ("a", "b")}
    with pytest.raises(ConfigError, match=rf"is of scene {seed}, and residuals are trained on those before 100000"):
        trust.command(folder, shown(folder, episodes=[episode]))


def test_a_comparison_of_something_else_is_refused(folder: Path) -> None:
    with pytest.raises(MismatchError, match=r"compares bbbbbbbbbbbb with \w{12}\+\w{12}, not"):
        trust.command(folder, shown(folder, a="b" * 64))


def test_a_comparison_on_another_robot_is_refused(folder: Path) -> None:
    with pytest.raises(MismatchError, match=r"shown.json is of robot so101, .* is for panda: compare on that"):
        trust.command(folder, shown(folder, robot="so101"))


ONE = pairs([{"a": True, "b": True}])
OTHER = [{**ONE[0], "b": {"seed": 200_001, "success": True}}]


@pytest.mark.parametrize(
    ("episodes", "said"),
    [
        ([], "has no episodes"),
        (ONE * 500, "counts scene 200000 twice"),
        (OTHER, "pairs scene 200000 with scene 200001"),
        (pairs([{"a": True, "b": "false"}]), "says success 'false' of scene 200000, which must be true or false"),
        (pairs([{"a": float("nan"), "b": True}]), "says success nan of scene 200000"),
        (pairs([{"a": True, "b": 1}]), "says success 1 of scene 200000"),
    ],
)
def test_what_is_no_evidence_is_refused(folder: Path, episodes: object, said: str) -> None:
    before = (folder / "residual.yaml").read_bytes()
    with pytest.raises(ConfigError, match=f"{said}.*: run the comparison again"):
        trust.command(folder, shown(folder, episodes=episodes))
    assert (folder / "residual.yaml").read_bytes() == before


def test_a_comparison_that_ended_when_it_looked_good_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match="compare again without"):
        trust.command(folder, shown(folder, until_shown=True))


def test_a_comparison_that_somebody_ended_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"was ended early .Ctrl-C after 5 of 200.: run the same comparison again"):
        trust.command(folder, shown(folder, ended_early="Ctrl-C after 5 of 200"))


@pytest.mark.parametrize("episodes", [None, [{"a": {}}], 3, [1]])
def test_what_is_no_comparison_is_said(folder: Path, episodes: object) -> None:
    with pytest.raises(ConfigError, match="is no result of `tendon eval compare --out`"):
        trust.command(folder, shown(folder, episodes=episodes))
    with pytest.raises(ConfigError, match="cannot be read"):
        trust.command(folder, folder / "none.json")

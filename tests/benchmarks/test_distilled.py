"""Rows of distillation come from the recipe's folder, and from the scenes that both policies did."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import distilled
import pytest
from harness.rows import Number, Row, read_rows

from tendon.evaluation.statistics import wilson
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.bundle.places import find_bundle
from tendon.policies.inference.identity import policy_digest
from tendon.policies.residual.bundle import load_residual

RESIDUAL = Path(__file__).resolve().parents[2] / "bundles" / "residuals" / "tabletop"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Of ten scenes with wrong zeros two more are done, of five others each by both."""
    for suite, alone, after in (("tabletop_hard", 5, 7), ("tabletop", 5, 5)):
        for name, done in (("alone", alone), ("distilled", after)):
            scenes = range(2 * alone if alone < after else 5)
            families = ["stack" if k in (4, 6) else "pick" for k in scenes]
            episodes = [{"seed": 200_000 + k, "family": families[k], "success": k < done} for k in scenes]
            (tmp_path / f"{suite}-{name}.json").write_text(json.dumps({"episodes": episodes}))
    tried = [{"suite": "tabletop_hard", "frames": 40}, {"suite": "tabletop_hard", "frames": 0}]
    tried.append({"suite": "tabletop", "frames": 30})
    (tmp_path / "tried.jsonl").write_text("".join(json.dumps(row) + "\n" for row in tried))
    return tmp_path


def rows(work: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> list[Row]:
    out = work / "rows"
    monkeypatch.setattr(sys, "argv", ["distilled.py", str(work), "--busy", "--rows", str(out), *options])
    distilled.main()
    return read_rows("residual/distilled", out)


def test_the_distilled_policy_is_compared_with_the_one_that_it_was(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hard, stacked, nominal, _ = rows(work, monkeypatch)
    assert dict(hard.case) == {"suite": "tabletop_hard", "tasks": "all", "A": "policy alone"}
    assert stacked.case["tasks"] == "stack" and stacked.values["success of A"] == wilson(1, 2)
    assert hard.note == "learned from 70 frames of 1 of 2 scenes of tabletop_hard, 1 of 1 scenes of tabletop"
    assert hard.values["success of A"] == wilson(5, 10)
    assert hard.values["success of the distilled policy"] == wilson(7, 10)
    change, p = hard.values["distilled - A"], hard.values["p (McNemar)"]
    assert isinstance(change, Number) and change.value == pytest.approx(20.0) and p == Number(0.5)
    assert nominal.values["success of A"] == wilson(5, 5)


def test_with_a_residual_only_scenes_that_both_did_count(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = policy_digest(load_bundle(find_bundle("tabletop")).manifest)
    file = work / "gain" / "tabletop_hard" / digest[:12] / f"{load_residual(RESIDUAL).manifest.digest[:12]}.jsonl"
    file.parent.mkdir(parents=True)
    done = [{"seed": seed, "success": seed != 200_000} for seed in (199_999, 200_000, 200_001, 200_009)]
    file.write_text("".join(json.dumps(row) + "\n" for row in done))
    found = rows(work, monkeypatch, "--gain", str(work / "gain"), "--residual", str(RESIDUAL))
    with_it = [row for row in found if row.case["A"] == "policy and residual"]
    assert [row.case["suite"] for row in with_it] == ["tabletop_hard"], "of the other suite nothing is there"
    assert with_it[0].values["success of A"] == wilson(2, 3)
    assert with_it[0].values["success of the distilled policy"] == wilson(2, 3)

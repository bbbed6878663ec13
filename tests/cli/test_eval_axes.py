"""`tendon eval axes`: every episode counts where it belongs, also where scenes have perturbations of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tendon.cli import main
from tendon.evaluation import pool
from tendon.evaluation.episode import Episode
from tendon.evaluation.pool import Job
from tests.cli.test_eval_compare import episode

SUITE = """\
suite: tabletop
cases:
  - {seed: 200000, perturbations: {dynamics: 1.0}}
  - {seed: 200001, perturbations: {dynamics: 0.5}}
  - {seed: 200002, perturbations: {pose: 1.0}}
"""


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """Episodes that fail where there is another friction."""
    seen: list[Job] = []

    def run_jobs(jobs: Sequence[Job], workers: int, engine: str) -> Iterator[tuple[Job, Episode]]:
        for job in jobs:
            seen.append(job)
            yield job, episode(job, "dynamics" not in dict(job.setting.perturbations))

    monkeypatch.setattr(pool, "run_jobs", run_jobs)
    monkeypatch.setenv("COLUMNS", "200")
    return seen


def test_a_scene_with_perturbations_of_its_own_is_no_cell_of_an_axis(ran: list[Job], tmp_path: Path) -> None:
    suite, out = tmp_path / "cases.yaml", tmp_path / "out.json"
    suite.write_text(SUITE)
    options = ["--suite", str(suite), "--axes", "dynamics,pose", "--strengths", "0.5,1", "--out", str(out)]
    assert main(["eval", "axes", "expert", *options]) == 0
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["nominal"]["total"] == 3 and found["nominal"]["successes"] == 1
    cells = {name: {k: v["success"] for k, v in of.items()} for name, of in found["axes"].items()}
    assert {name: {k: (v["successes"], v["total"]) for k, v in of.items()} for name, of in cells.items()} == {
        "dynamics": {"0.5": (0, 3), "1": (0, 3)},
        "pose": {"0.5": (1, 3), "1": (1, 3)},
    }
    assert len(ran) == len(set(ran)), "what is the same episode is run once"
    assert len(found["episodes"]) == 5 * 3

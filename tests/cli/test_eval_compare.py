"""`tendon eval compare`: the order in which episodes end changes nothing, and it ends when something is shown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from tendon.cli import main
from tendon.core.paths import share_folder
from tendon.evaluation import pool
from tendon.evaluation.episode import Episode
from tendon.evaluation.pool import Job
from tendon.policies.bundle.places import EXPERT

BUNDLE = str(share_folder() / "bundles" / "tabletop")


def episode(job: Job, success: bool) -> Episode:
    return Episode(
        seed=job.seed,
        family="pick",
        instruction="",
        success=success,
        progress=float(success),
        duration_s=3.0 if success else 12.0,
        peak_acceleration=0.5,
        rms_jerk=1.0,
        peak_jump=0.0,
        stopped_share=0.0,
    )


def does(job: Job) -> bool:
    """The expert always, the bundle every other scene."""
    return job.bundle == EXPERT or job.seed % 2 == 0


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Episodes that end as they like: good ones first."""
    seeds: list[int] = []

    def run_jobs(jobs: Sequence[Job], workers: int, engine: str) -> Iterator[tuple[Job, Episode]]:
        rng = np.random.default_rng(workers)
        left = list(jobs)
        while left:
            some, left = left[:8], left[8:]
            for job in sorted(some, key=lambda job: (not does(job), rng.random())):
                seeds.append(job.seed)
                yield job, episode(job, does(job))

    monkeypatch.setattr(pool, "run_jobs", run_jobs)
    monkeypatch.setenv("COLUMNS", "200")
    return seeds


def compare(*options: str) -> int:
    return int(main(["eval", "compare", BUNDLE, "expert", "--seeds", "200000:200040", *options]))


def test_what_is_found_does_not_depend_on_which_episode_ends_first(
    ran: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = []
    for workers in ("1", "2", "3"):
        out = tmp_path / f"{workers}.json"
        assert compare("--workers", workers, "--out", str(out)) == 0
        found.append(json.loads(out.read_text(encoding="utf-8")))
        del found[-1]["origin"]  # says when
    assert found[0] == found[1] == found[2]
    assert found[0]["only_b"] == 20 and found[0]["only_a"] == 0 and found[0]["scenes"] == 40
    assert [pair["a"]["seed"] for pair in found[0]["episodes"]] == list(range(200_000, 200_040))
    said = capsys.readouterr().out
    assert "50.0 %" in said and "100.0 %" in said and "+50.0 points" in said
    assert "B succeeds more often" in said and "B gets further" in said


def test_it_ends_when_one_is_shown_to_be_better(ran: list[int], capsys: pytest.CaptureFixture[str]) -> None:
    assert compare("--until-shown") == 0
    assert len(ran) < 2 * 40 - 8, "it went on"
    assert "B succeeds more often" in capsys.readouterr().out


def test_what_cannot_be_compared_is_one_line(ran: list[int], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "compare", "expert", "expert"]) != 0
    assert "are the same policy" in capsys.readouterr().err
    assert main(["eval", "compare", "expert"]) != 0
    assert "name two policies" in capsys.readouterr().err
    assert main(["eval", "compare", "--plan", "0"]) != 0
    assert "--plan is 0" in capsys.readouterr().err
    for small in ("0.0199", "nan", "-0.1"):
        assert main(["eval", "compare", f"--plan={small}"]) != 0
        assert f"--plan is {small}, must be a finite number at least 0.02 and at most 0.9" in capsys.readouterr().err
    assert not ran


def test_the_verdict_says_what_does_not_hold_where_somebody_looked(
    ran: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.html"
    assert compare("--until-shown", "--report", str(report), "--videos", "0") == 0
    said = capsys.readouterr().out
    assert "intervals and McNemar's p are for a number of scenes that was fixed beforehand" in said
    assert "do not hold where one looked and ended early" in said
    assert "do not hold where one looked and ended early" in " ".join(report.read_text().split())


def test_a_plan_runs_nothing(ran: list[int], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "compare", "--plan", "0.2"]) == 0
    said = capsys.readouterr().out
    assert "a difference of 20 points, 80 % of the time" in said and "61" in said and not ran

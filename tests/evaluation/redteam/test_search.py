"""The search finds what there is to find, goes on where it was cut as if it had not been, and its worst is a suite."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tendon.cli import main
from tendon.core.errors import ConfigError, InvalidDataError, TendonError
from tendon.evaluation.episode import Episode, Setting
from tendon.evaluation.pool import Job
from tendon.evaluation.redteam import search as module
from tendon.evaluation.redteam.attack import Attack, Space
from tendon.evaluation.redteam.search import Search
from tendon.evaluation.redteam.worst import worst_of
from tendon.evaluation.suite_file import read_suite_file

SPACE = Space(scenes=range(200_000, 200_008), axes=("pose", "dynamics", "delay"), most=2.0)
LIKE = Job(bundle="expert", robot="panda", seed=0, setting=Setting())
COUNT = 96


def came_of(job: Job) -> Episode | TendonError:
    """Scene 3 is easily failed by pose with dynamics, a delay alone does nothing; one corner is no scene."""
    strengths = dict(job.setting.perturbations)
    hard = strengths.get("pose", 0.0) + strengths.get("dynamics", 0.0) > (0.6 if job.seed == 200_003 else 3.0)
    if strengths.get("pose", 0.0) > 1.95:
        return ConfigError("a starts 9 mm inside b")
    if strengths.get("dynamics", 0.0) > 1.95:
        return InvalidDataError("chunk is NaN")
    return Episode(
        seed=job.seed,
        family="pick",
        instruction="",
        success=not hard,
        progress=0.2 if hard else 1.0,
        duration_s=12.0 if hard else 3.0,
        peak_acceleration=0.5,
        rms_jerk=1.0,
        peak_jump=0.0,
        stopped_share=0.0,
        broken=5 if strengths.get("delay", 0.0) == 99 else 0,
    )


class Here:
    """In place of processes."""

    def __init__(self, function: object, count: int) -> None:
        pass

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, tasks: Sequence[tuple[int, Job]]) -> Iterator[tuple[int, Job, Any]]:
        for number, job in reversed(tasks):
            yield number, job, came_of(job)


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Workers", Here)


def search(log: Path, **other: Any) -> Search:
    given = {"space": SPACE, "like": LIKE, "size": 12, "seed": 3, "said": {"policy": "x"}, **other}
    return Search(given.pop("space"), given.pop("like"), log, **given)


def told(attacks: Sequence[Attack]) -> set[tuple[object, ...]]:
    return {(each.seed, each.point, each.found) for each in attacks}


def test_it_finds_failures_and_then_ones_that_take_less(tmp_path: Path) -> None:
    found = list(search(tmp_path / "log").run(COUNT, 1))
    assert len(found) == COUNT
    failed = [each for each in found if each.failed]
    first, last = failed[: len(failed) // 3], failed[-len(failed) // 3 :]
    assert sum(e.effort for e in last) / len(last) < sum(e.effort for e in first) / len(first)
    worst = worst_of(found, 5)
    assert len({each.seed for each in worst}) == len(worst) <= 5
    assert worst[0].effort == min(each.effort for each in failed)
    assert all(0 <= strength <= 2 for each in found for strength in each.perturbations.values())
    assert all(each.seed in SPACE.scenes for each in found)


@pytest.mark.parametrize("cut", [1, 11, 12, 13, 40])
def test_a_search_that_was_cut_goes_on_as_if_it_had_not_been(cut: int, tmp_path: Path) -> None:
    whole = list(search(tmp_path / "whole").run(COUNT, 1))
    running = search(tmp_path / "log").run(COUNT, 1)
    for _ in range(cut):
        next(running)
    running.close()  # type: ignore[attr-defined]
    file = tmp_path / "log"
    file.write_text(file.read_text() + '{"number": 99, "poi')  # killed while it wrote
    again = search(file)
    assert len(again.known) == cut
    assert told(list(again.run(COUNT, 1))) == told(whole)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"seed": 4}, "whose seed is 3"),
        ({"said": {"policy": "y"}}, "whose policy is 'x'"),
        ({"space": Space(scenes=SPACE.scenes, axes=("pose",), most=2.0)}, "whose axes"),
    ],
)
def test_the_log_of_another_search_is_refused_and_kept(other: dict[str, object], said: str, tmp_path: Path) -> None:
    next(search(tmp_path / "log").run(COUNT, 1))
    before = (tmp_path / "log").read_bytes()
    with pytest.raises(ConfigError, match=said):
        search(tmp_path / "log", **other)
    assert (tmp_path / "log").read_bytes() == before


@pytest.mark.parametrize("text", ["", "no log\n", "{}\nno log\n{}\n"])
def test_what_is_no_log_is_refused_and_kept(text: str, tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text(text)
    with pytest.raises(ConfigError):
        search(file)
    assert file.read_text() == text


def test_a_log_whose_points_were_edited_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "log"
    next(search(file).run(COUNT, 1))
    head, row = file.read_text().splitlines()
    edited = json.loads(row)
    edited["point"][1] = 0.123
    file.write_text(f"{head}\n{json.dumps(edited)}\n")
    with pytest.raises(ConfigError, match="is not what this search tries"):
        list(search(file).run(COUNT, 1))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda row: {"foo": 1}, "it has no number"),
        (lambda row: [1], "it has no number"),
        (lambda row: None, "it has no number"),
        (lambda row: {**row, "number": "x"}, "number is 'x', must be a whole number"),
        (lambda row: {**row, "number": True}, "number is True"),
        (lambda row: {"number": 0}, "attack lacks point"),
        (lambda row: {**row, "foo": 1}, "unknown key foo"),
        (lambda row: {**row, "point": 3}, "point is 3, must be 4 numbers"),
        (lambda row: {**row, "point": row["point"][:2]}, "must be 4 numbers"),
        (lambda row: {**row, "point": [0, "a", 0, 0]}, "a number of point is 'a'"),
        (lambda row: {**row, "badness": None}, "badness is None, must be a finite number"),
        (lambda row: {**row, "failed": "no"}, "failed is 'no'"),
        (lambda row: {**row, "perturbations": [1]}, "perturbations is"),
        (lambda row: {**row, "perturbations": {"pose": "much"}}, "perturbation pose is 'much'"),
    ],
)
def test_a_row_that_is_no_attack_is_named_by_its_line(
    change: Callable[[dict[str, Any]], object], said: str, tmp_path: Path
) -> None:
    file = tmp_path / "log"
    running = search(file).run(COUNT, 1)
    for _ in range(2):
        next(running)
    running.close()  # type: ignore[attr-defined]
    lines = file.read_text().splitlines()
    lines[2] = json.dumps(change(json.loads(lines[2])))
    file.write_text("\n".join(lines) + "\n")
    with pytest.raises(ConfigError, match=f"log line 3 is no attack .*{said}.*: move it away, or take another --out"):
        search(file)
    assert file.read_text().splitlines() == lines


def test_the_command_writes_a_suite_that_can_be_run_and_says_no_when_a_limit_was_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["eval", "redteam", "expert", "--out", str(tmp_path), "--axes", "pose,dynamics,delay", "--most", "2"]
    asked += ["--seeds", "200000:200008", "--episodes", "48", "--timing", "overwrite"]
    assert main(asked) == 0
    said = capsys.readouterr().out
    assert "0 broke a limit" in said and "suite.yaml" in said
    suite = read_suite_file(tmp_path / "suite.yaml")
    assert suite.suite == "tabletop" and suite.timing == "overwrite" and suite.cases
    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()[1:]]
    for case in suite.cases:
        (job,) = {json.dumps(row["perturbations"]) for row in log if row["perturbations"] == dict(case.perturbations)}
        assert list(json.loads(job)) == list(case.perturbations), "their order is a part of what was drawn"
    assert main(asked) == 0, "all is in the log"

    usual = came_of

    def broken(job: Job) -> Episode | TendonError:
        came = usual(job)
        return came if isinstance(came, TendonError) else Episode(**{**vars(came), "broken": 3})

    monkeypatch.setitem(globals(), "came_of", broken)
    assert main([*asked, "--out", str(tmp_path / "other")]) == 1
    assert (
        "samples beyond a limit" in yaml.safe_load((tmp_path / "other" / "suite.yaml").read_text())["cases"][0]["found"]
    )

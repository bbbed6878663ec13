"""What `tendon eval` leaves behind: reports, and what was run before Ctrl-C or a killed worker."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tendon.cli import main, outputs
from tendon.cli.root import EXIT_ERROR
from tendon.core.errors import InvalidDataError, WorkerError
from tendon.core.paths import share_folder
from tendon.evaluation import pool
from tendon.evaluation.episode import Episode
from tendon.evaluation.pool import Job
from tests.cli.test_eval_compare import episode

BUNDLE = str(share_folder() / "bundles" / "tabletop")
SEEDS = ["--seeds", "200000:200012"]


def does(job: Job) -> bool:
    """Every third scene is failed, and all with more than a little less friction."""
    return job.seed % 3 > 0 and dict(job.setting.perturbations).get("dynamics", 0.0) < 0.5


def ends(
    monkeypatch: pytest.MonkeyPatch, after: int | None = None, error: BaseException | signal.Signals | None = None
) -> None:
    """Episodes end in any order, of one policy the fifth behind the sixth; after so many an error or signal comes."""

    def run_jobs(jobs: Sequence[Job], workers: int, engine: str) -> Iterator[tuple[Job, Episode]]:
        one = len({job.bundle for job in jobs}) == 1 and len({job.setting for job in jobs}) == 1
        for number, job in enumerate([*jobs[:4], jobs[5], jobs[4], *jobs[6:]] if one else reversed(jobs)):
            if number == after and isinstance(error, signal.Signals):
                os.kill(os.getpid(), error)
            elif number == after and error is not None:
                raise error
            yield job, episode(job, does(job))

    monkeypatch.setattr(pool, "run_jobs", run_jobs)
    monkeypatch.setenv("COLUMNS", "200")


def test_a_report_is_one_file_that_needs_nothing_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ends(monkeypatch)
    for command in (["run", "expert"], ["compare", BUNDLE, "expert"], ["axes", "expert", "--axes", "dynamics,pose"]):
        report = tmp_path / f"{command[0]}.html"
        videos = [] if command[0] == "axes" else ["--videos", "0"]
        assert main(["eval", *command, *SEEDS, "--report", str(report), *videos]) == 0
        page, found = report.read_text(), json.loads(report.with_suffix(".json").read_text())
        for outside in ("http://", "https://", "src='", 'src="/', "<link", "<script", "@import"):
            rest = page.replace("http://www.w3.org/", "").replace("http://purl.org/", "")
            assert outside not in rest.replace("http://creativecommons.org/", ""), (command, outside)
        assert found["origin"]["command"] and found["origin"]["versions"] and not found["ended_early"]
        assert all(len(digest) == 64 or digest == "expert" for digest in found["origin"]["sha256"].values())
        assert {"profile", "suite"} <= set(found["origin"]["sha256"]) and found["origin"]["sha256"]["profile"] in page
        assert str(report) in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "5 of 12 episodes: Ctrl-C"),
        (signal.SIGTERM, 143, "5 of 12 episodes: SIGTERM"),
        (WorkerError("a worker process ended (-9)"), 2, "5 of 12 episodes: a worker process ended (-9)"),
        (InvalidDataError("scene 200006: chunk is NaN"), 2, "5 of 12 episodes: scene 200006: chunk is NaN"),
    ],
)
def test_what_was_run_before_it_ended_is_kept(
    error: BaseException | signal.Signals,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ends(monkeypatch, 5, error)
    for command, count in ((["run", "expert"], 4), (["compare", BUNDLE, "expert"], 0), (["axes", "expert"], 0)):
        out, report = tmp_path / "found.json", tmp_path / "page.html"
        out.unlink(missing_ok=True)
        options = ["--out", str(out), "--report", str(report)]
        junit = ["--junit", str(tmp_path / "junit.xml")] if command[0] == "run" else []
        assert main(["eval", *command, *SEEDS, *options, *junit]) == code
        printed = capsys.readouterr().out
        if count:
            found = json.loads(out.read_text())
            assert len(found["episodes"]) == count and found["ended_early"] == said
            assert f"ended early, {said}" in printed and "of these the first 4 count" in printed
            told = (tmp_path / "junit.xml").read_text()
            assert said in told and 'tests="5" failures="2"' in told, "one failed, and not all were run"
            assert "Not all episodes were run" in report.read_text()
        else:
            assert not out.exists(), "nothing was complete: there is nothing to report"
            assert "none of them counts" in printed and "nothing was written" in printed


def test_a_slip_replaces_no_policy_and_no_robot(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--out` replaced the manifest of a bundle, the network and profile.yaml, with exit code 0."""
    ends(monkeypatch, 0, AssertionError("it began"))
    for name, option in (
        ("manifest.json", "--out"),
        ("profile.yaml", "--out"),
        ("policy.onnx", "--out"),
        ("robot.urdf", "--junit"),
        ("index.html", "--report"),
    ):
        file = tmp_path / name
        file.write_text('{"robot": "mine"}')
        commands = (["run", "expert"], ["compare", BUNDLE, "expert"], ["axes", "expert"])
        for command in commands[:1] if option == "--junit" else commands:
            assert main(["eval", *command, *SEEDS, option, str(file)]) == EXIT_ERROR
            assert f"{option} {file} is there, and this command did not write it" in capsys.readouterr().err
        assert file.read_text() == '{"robot": "mine"}'


@pytest.mark.parametrize("command", [["run", "expert"], ["compare", BUNDLE, "expert"], ["axes", "expert"]])
def test_a_full_disk_leaves_the_results_before(
    command: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out, report = tmp_path / "found.json", tmp_path / "page.html"
    options = ["eval", *command, *SEEDS, "--out", str(out), "--report", str(report)]
    options += [] if command[0] == "axes" else ["--videos", "0"]
    ends(monkeypatch)
    assert main(options) == main(options) == 0, "whole ones replace each other"
    whole, page = out.read_bytes(), report.read_bytes()

    def refuse(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(outputs, "replace_file", refuse)
    assert main(options) == EXIT_ERROR
    assert (out.read_bytes(), report.read_bytes()) == (whole, page)


def test_a_run_that_is_cut_leaves_the_results_before_beside_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, report = tmp_path / "found.json", tmp_path / "page.html"
    options = ["eval", "run", "expert", *SEEDS, "--out", str(out), "--report", str(report), "--videos", "0"]
    ends(monkeypatch)
    assert main(options) == 0
    whole, page = out.read_bytes(), report.read_bytes()
    ends(monkeypatch, 8, KeyboardInterrupt())
    assert main(options) == 130
    assert f"the one before: {tmp_path / 'found.before.json'}" in capsys.readouterr().out
    assert (tmp_path / "found.before.json").read_bytes() == whole
    assert (tmp_path / "page.before.html").read_bytes() == page
    assert len(json.loads(out.read_text())["episodes"]) == 8


@pytest.mark.parametrize("command", [["run", "expert"], ["compare", BUNDLE, "expert"], ["axes", "expert"]])
def test_an_engine_that_is_none_is_refused_before_the_bar_begins(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ends(monkeypatch, 0, AssertionError("it began"))
    assert main(["eval", *command, *SEEDS, "--engine", "rays"]) == EXIT_ERROR
    said = capsys.readouterr().err
    assert "engine is 'rays'; did you mean ray?" in said and said.count("\n") == 1


@pytest.mark.parametrize("command", [["run", "expert"], ["compare", BUNDLE, "expert"], ["axes", "expert"]])
def test_an_engine_that_is_not_installed_is_told_before_the_bar_begins(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ends(monkeypatch, 0, AssertionError("it began"))
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["eval", *command, *SEEDS, "--engine", "ray"]) == EXIT_ERROR
    said = capsys.readouterr()
    assert "engine ray needs Ray: pip install 'tendon-vla[ray]'" in said.err and not said.out


def test_a_search_without_its_library_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "cma", None)
    assert main(["eval", "redteam", "expert", "--out", str(tmp_path)]) == EXIT_ERROR
    said = capsys.readouterr()
    assert "the search needs cma" in said.err and not said.out
    assert not list(tmp_path.iterdir())


@pytest.mark.laws
def test_ctrl_c_in_a_terminal_ends_it_with_what_there_is(tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    command = [
        sys.executable,
        "-m",
        "tendon.cli",
        "eval",
        "run",
        "expert",
        "--seeds",
        "100000:101000",
        "--workers",
        "1",
    ]
    process = subprocess.Popen([*command, "--out", str(out)], stdout=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + 120
    while not (started := subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True).stdout):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    while not out.exists() and time.monotonic() < deadline:
        time.sleep(8.0)
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(20)
            break
        except subprocess.TimeoutExpired:
            continue
    assert process.returncode == 130
    places = [Path(f"/proc/{int(pid)}") for pid in started.split()]
    deadline = time.monotonic() + 20
    while any(place.exists() for place in places):
        assert time.monotonic() < deadline, "a worker has outlived it"
        time.sleep(0.1)
    if out.exists():
        found = json.loads(out.read_text())
        assert 0 < len(found["episodes"]) < 1000 and "Ctrl-C" in found["ended_early"]


def test_axes_are_told_apart_and_paired_with_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ends(monkeypatch)
    out = tmp_path / "axes.json"
    asked = ["--axes", "dynamics,pose", "--strengths", "1,0.25", "--out", str(out)]
    assert main(["eval", "axes", "expert", *SEEDS, *asked]) == 0
    found = json.loads(out.read_text())
    rates = {
        name: {k: cell["success"]["successes"] for k, cell in cells.items()} for name, cells in found["axes"].items()
    }
    assert found["nominal"]["successes"] == 8
    assert rates == {"dynamics": {"0.25": 8, "1": 0}, "pose": {"0.25": 8, "1": 8}}
    assert len(found["episodes"]) == 5 * 12 and found["axes"]["dynamics"]["1"]["difference"].startswith("-66.7 points")
    assert "dynamics" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["axes", "expert", "--axes", "dynamcs"], "did you mean dynamics"),
        (["axes", "expert", "--strengths", "4"], "at most 3"),
        (["axes", "expert", "--strengths", "0"], "above 0"),
        (["axes", "expert", "--strengths", "nan"], "--strengths has nan"),
        (["axes", "expert", "--strengths", "one"], "give numbers"),
        (["run", "expert", "--report", "page.pdf"], "must end in .html"),
        (["run", "expert", "--report", "/proc/page.html"], "cannot be written"),
        (["run", "expert", "--engine", "rya"], "did you mean ray"),
        (["redteam", "expert", "--out", "/proc/here"], "cannot be written"),
        (["redteam", "expert", "--out", "x", "--most", "9"], "--most is 9"),
        (["redteam", "expert", "--out", "x", "--generation", "1"], "--generation is 1"),
        (["redteam", "expert", "--out", "x", "--axes", "gravity"], "perturbation is 'gravity'"),
        (["redteam", "expert", "--out", "x", "--seeds", "200000:200001"], "at least two"),
        (["live", "tabletop", "tabletop", "--task", "left"], "are the same policy"),
        (["live", "tabletop", "other", "--task", " "], "name the tasks"),
        (["live", "tabletop", "other", "--task", "left", "--limit-s", "0"], "--limit-s is 0"),
        (["live", "tabletop", "other", "--task", "left"], "run it in a terminal"),
    ],
)
def test_what_has_no_meaning_is_one_line(
    options: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["eval", *options]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1, error


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["run", "expert", "--out", "a.xml", "--junit", "a.xml"], "--out and --junit are one file"),
        (["run", "expert", "--out", "a.html", "--report", "a.html"], "--report and --out are one file"),
        (["run", "expert", "--report", "a.html", "--junit", "a.json"], "--report and --junit are one file"),
        (["run", "expert", "--suite", "mine.yaml", "--out", "./mine.yaml"], "--out and --suite are one file"),
        (["compare", BUNDLE, "expert", "--suite", "mine.yaml", "--out", "mine.yaml"], "--out and --suite are one file"),
        (["axes", "expert", "--suite", "mine.yaml", "--out", "mine.yaml"], "--out and --suite are one file"),
        (
            ["live", "a", "b", "--task", "left", "--session", "a.json", "--report", "a.html"],
            "--report and --session are one file",
        ),
        (["run", "expert", "--perturb", "blur="], "'' is no strength"),
    ],
)
def test_nothing_replaces_what_is_asked_for_or_given(
    options: list[str], said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    suite = tmp_path / "mine.yaml"
    suite.write_text("suite: tabletop\n")
    assert main(["eval", *options]) == EXIT_ERROR
    assert said in capsys.readouterr().err
    assert suite.read_text() == "suite: tabletop\n" and list(tmp_path.iterdir()) == [suite]

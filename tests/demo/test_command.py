"""`tendon demo` as a command: its options, exit codes and messages."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tendon import cli
from tendon.cli.tree import EXIT_ERROR
from tendon.commands import demo
from tendon.demo import video
from tendon.demo.recording import Outcome, Recording
from tendon.graph.description import describe
from tendon.ros2_nodes.demo import performance as demo_performance
from tendon.ros2_nodes.demo.performance import Performance
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_tiny_bundle(tmp_path_factory.mktemp("tiny")))


@pytest.fixture
def performed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Performance], None]:
    """Replaces the graph by a given performance, and the video by an empty file."""
    for name, value in describe({"policy": "none"}).environment.items():
        monkeypatch.setenv(name, os.environ.get(name, value))  # so that the command changes nothing for other tests
    monkeypatch.setattr(demo, "_own_domain", contextlib.nullcontext)
    monkeypatch.setattr(demo, "prepare_process", lambda: None)
    monkeypatch.setattr(demo, "clean_shared_memory", lambda: None)
    monkeypatch.setattr(video, "write_video", lambda recording, scene, profile, path, *_, **__: path.touch())

    def perform(performance: Performance) -> None:
        def performing(*args: object) -> Performance:
            log = args[4]
            log.write("policy_node | refused: something\n")  # type: ignore[attr-defined]
            return performance

        monkeypatch.setattr(demo_performance, "perform", performing)

    return perform


def _run(bundle: str, out: Path, *more: str) -> int:
    return cli.main(["demo", "--bundle", bundle, "--out", str(out), *more])


@pytest.mark.parametrize(
    ("last", "code", "word"), [(Outcome.DONE, 0, "DONE"), (Outcome.NOT_DONE, 1, "DEMO FAILED: 1 of 3")]
)
def test_the_exit_code_says_whether_every_task_was_done(
    performed: Callable[[Performance], None],
    make_recording: Callable[..., Recording],
    bundle: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    last: Outcome,
    code: int,
    word: str,
) -> None:
    performed(Performance(problem="", interrupted=False, recording=make_recording(last=last)))
    assert _run(bundle, tmp_path) == code
    assert word in capsys.readouterr().out
    assert json.loads((tmp_path / "summary.json").read_text())["done"] is (code == 0)
    assert {file.name for file in tmp_path.iterdir()} >= {"demo.mp4", "timeline.png", "summary.json", "graph.log"}


@pytest.mark.parametrize(("interrupted", "code"), [(False, 1), (True, 130)])
def test_a_graph_that_dies_is_a_failure_with_its_last_words(
    performed: Callable[[Performance], None],
    bundle: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    interrupted: bool,
    code: int,
) -> None:
    performed(Performance(problem="a process has died", interrupted=interrupted, recording=None))
    assert _run(bundle, tmp_path) == code
    text = capsys.readouterr().out
    assert "DEMO FAILED: a process has died" in text
    assert ("refused: something" in text) is not interrupted, "whoever pressed Ctrl-C knows why"
    assert not (tmp_path / "demo.mp4").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--seed", "99999"], "validation scenes, 100000-199999"),
        (["--seed", "200000"], "validation scenes, 100000-199999"),
        (["--bundle", "/nowhere"], "no policy bundle at /nowhere"),
        (["--gui"], "needs a display"),
    ],
)
def test_a_wrong_option_is_one_clear_line(
    options: list[str],
    words: str,
    bundle: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    assert _run(bundle, tmp_path, *options) == EXIT_ERROR
    assert words in capsys.readouterr().err


def test_a_domain_that_the_user_set_must_be_free(
    bundle: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    monkeypatch.setattr(demo, "in_use", lambda domain: True)
    assert _run(bundle, tmp_path) == EXIT_ERROR
    assert "ROS domain 7 is busy" in capsys.readouterr().err


def test_demos_that_start_at_once_take_domains_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    domains = []
    with contextlib.ExitStack() as demos:
        for _ in range(3):
            monkeypatch.delenv("ROS_DOMAIN_ID", raising=False)
            demos.enter_context(demo._own_domain())
            domains.append(os.environ["ROS_DOMAIN_ID"])
    assert len(set(domains)) == 3


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo", "--help"]) == 0
    assert "tendon demo --gui" in capsys.readouterr().out


def test_a_robot_without_a_gripper_is_shown_the_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The suite reach helps nobody here: the demo has the tabletop only."""
    assert cli.main(["demo", "--robot", "ur5e", "--out", str(tmp_path)]) == EXIT_ERROR
    said = capsys.readouterr().err
    assert "see this robot by `tendon run robot:=ur5e policy:=expert`" in said and "suite:=" not in said

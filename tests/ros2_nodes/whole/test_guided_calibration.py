"""A rig calibrated on a running graph, from nothing: looked at, planned, killed, gone on with, solved and verified."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tendon.calibration.left_out import LeftOut
from tendon.calibration.results.keeping import named_record
from tendon.calibration.session import Session
from tendon.calibration.verify import verify
from tendon.cli.root import run
from tendon.core.modes import Source
from tendon.demo.calibration.practice import Practice, compare, new_practice
from tendon.graph import topics
from tendon.robots.profile import load_profile
from tests.ros2_nodes.running_graph import RunningGraph

pytestmark = pytest.mark.graph
SEED = 100_003
FORGOTTEN_S = 3.0
"""By which the monitor may forget one who was killed later than the test does, on a busy machine."""
SURE = 0.9999
"""Confidence of a drift that no chance explains: of a camera that holds one in 10 000 runs has it."""
COUNT = 8
"""Poses of the plan; those that were looked from count besides."""
FEWEST = 3
"""That `tendon calibrate guide` plans."""


RATE_HZ = 1.0
"""Of the cameras, for pictures take a simulator most of its time, and each pose needs one."""


@pytest.fixture
def practice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Practice:
    monkeypatch.setattr("tendon.demo.calibration.practice.RATE_HZ", RATE_HZ)
    return new_practice(tmp_path / "practice", "panda", SEED)


@contextlib.contextmanager
def graph_of(practice: Practice, log: Path, speed: float = 2.0) -> Iterator[RunningGraph]:
    rig = (f"robot:={practice.profile}", "suite:=calibration", "simulator:=mujoco")
    running = RunningGraph(log, *rig, "policy:=none", f"speed:={speed}", profile=load_profile(practice.profile))
    try:
        running.ready()
        yield running
        running.check_limits()
    finally:
        running.end()


def guide(session: Path, count: int) -> list[str]:
    return ["calibrate", "guide", str(session), "--environment", "tabletop", "--count", str(count)]


def killed_when(graph: RunningGraph, words: list[str], reached: Callable[[], bool], what: str) -> None:
    """Runs a guide in a process of its own and kills it once something is reached, in motion if it can be."""
    process = subprocess.Popen([sys.executable, "-m", "tendon.cli", *words], env=dict(os.environ))
    try:
        graph.wait(lambda: reached() or process.poll() is not None, what, 300.0)
        graph.operator.wait(graph.moving, 5.0)
        assert process.poll() is None, "it ended before it was killed"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    # Until it is forgotten it is one of two who publish chunks, which is a fault that stops the robot, and rightly so.
    topic = topics.action_chunk(Source.POLICY)
    graph.wait(lambda: not graph.operator.node.count_publishers(topic), "whoever was killed is forgotten")
    time.sleep(FORGOTTEN_S)


def test_a_guide_that_is_killed_goes_on_to_a_calibration(
    practice: Practice, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """From nothing to the end with the fewest poses and one kill; the whole takes minutes, `make test-laws` runs it.

    Cameras were off by 20 to 50 mm, and zeros by 1 to 3 deg.
    """
    session, words = Session(practice.session), guide(practice.session, FEWEST)
    with graph_of(practice, tmp_path / "log", speed=1.0) as graph:
        graph.wait(lambda: not graph.reason(), "nothing else keeps it from moving")
        assert run(words) == 2 and "it is not armed" in capfd.readouterr().err
        graph.arm()
        killed_when(graph, words, lambda: any(shot.pose == 1 for shot in session.shots()), "a pose of the plan")
        planned, before = (practice.session / "plan.jsonl").read_bytes(), list(session.shots())
        assert any(not shot.pose for shot in before) and not any(shot.pose == FEWEST for shot in before)
        graph.arm()
        assert run(words) == 0, capfd.readouterr().err
    after = list(session.shots())
    assert (practice.session / "plan.jsonl").read_bytes() == planned and after[: len(before)] == before
    assert sorted((shot.pose, shot.camera) for shot in after if shot.pose) == [
        (pose, camera) for pose in range(1, FEWEST + 1) for camera in ("scene", "wrist")
    ]
    assert run(["calibrate", "solve", str(practice.session), "--anyway"]) == 1  # so few tell little of one camera
    assert "not good: camera scene" in capfd.readouterr().out
    off = compare(practice.profile.parents[1], SEED)
    assert off.camera_mm["wrist"] < 0.5 and off.camera_deg["wrist"] < 0.1, off
    assert off.camera_mm["scene"] < 6.0 and off.camera_deg["scene"] < 0.3, off
    assert off.zero_deg < 0.2, off
    assert run(["calibrate", "verify", str(practice.session)]) in (0, 1)  # by its own views
    said = capfd.readouterr().out
    assert "camera scene" in said and "camera wrist" in said, said


@pytest.mark.laws
def test_from_nothing_to_a_calibration_that_is_true(
    practice: Practice, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Killed while it looks around and again while it follows its plan; nothing is asked twice.

    It takes minutes, so `make test` has the same way with fewer poses, above.
    """
    words = guide(practice.session, COUNT)
    with graph_of(practice, tmp_path / "log") as graph:
        take_views(graph, practice, words, capfd)
    assert run(["calibrate", "solve", str(practice.session)]) == 0, capfd.readouterr().out
    off = compare(practice.profile.parents[1], SEED)
    assert off.camera_mm["wrist"] < 0.5 and off.camera_deg["wrist"] < 0.1
    assert off.camera_mm["scene"] < 1.5 and off.camera_deg["scene"] < 0.1
    assert off.zero_deg < 0.1
    with graph_of(practice, tmp_path / "log_again") as graph:  # with the calibration, and at the scene's start
        graph.arm()
        assert run(guide(practice.check, 3)) == 0, capfd.readouterr().err
    capfd.readouterr()
    assert run(["calibrate", "verify", str(practice.check)]) in (0, 1)  # 3 % of alarms are false
    profile, check = load_profile(practice.profile), Session(practice.check)
    rig, record = check.rig(profile), named_record(profile)
    assert record is not None
    drifts = verify(record, rig, check.views(rig, LeftOut().add)).cameras
    assert [drift.camera for drift in drifts] == ["scene", "wrist"]
    assert all(drift.confidence < SURE for drift in drifts), drifts


def take_views(graph: RunningGraph, practice: Practice, words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    session = Session(practice.session)
    graph.wait(lambda: not graph.reason(), "nothing else keeps it from moving")
    assert run(words) == 2 and "it is not armed" in capfd.readouterr().err
    graph.arm()
    killed_when(graph, words, lambda: sum(1 for _ in session.shots()) >= 4, "four pictures of looking around")
    looked = [shot for shot in session.shots() if not shot.pose]
    assert looked and not session.plan(load_profile(practice.profile).joint_names)
    graph.arm()
    killed_when(graph, words, lambda: any(shot.pose == 2 for shot in session.shots()), "two poses of the plan")
    planned = (practice.session / "plan.jsonl").read_bytes()
    before = [shot for shot in session.shots() if shot.pose]
    assert len(before) < 2 * COUNT
    graph.arm()
    assert run(words) == 0, capfd.readouterr().err
    assert (practice.session / "plan.jsonl").read_bytes() == planned
    after = [shot for shot in session.shots() if shot.pose]
    assert after[: len(before)] == before
    assert sorted((shot.pose, shot.camera) for shot in after) == [
        (pose, camera) for pose in range(1, COUNT + 1) for camera in ("scene", "wrist")
    ]

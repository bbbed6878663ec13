"""`tendon data replay`: real processes do again what was recorded, through the filter, and a person can end it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tendon.core.modes import Source
from tendon.data.convert.from_mcap import Options, convert
from tendon.data.convert.to_mcap import _Messages, roles_of, write_recording
from tendon.data.lerobot.reader import LeRobotDataset
from tendon.data.lerobot.writer import Frame
from tendon.data.recording.episode import EpisodeBegin, EpisodeEnd
from tendon.data.recording.writer import EpisodeWriter
from tendon.graph import topics
from tendon.safety.reports import ControlState
from tests.data.samples import MS, text, texts, write
from tests.ros2_nodes.running_graph import PROFILE, RunningGraph
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle

pytestmark = pytest.mark.graph

JOINT = PROFILE.joint_names[0]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGraph]:
    """A mock robot at home, which swung while episode 0 was recorded."""
    folder = tmp_path_factory.mktemp("replayed")
    arguments = ["robot:=panda", "backend:=mock", "policy:=none", "record:=manual", f"recordings:={folder / 'files'}"]
    running = RunningGraph(folder / "log", *arguments)
    try:
        running.ready()
        running.arm()
        running.operator.trigger(topics.RECORD_START)
        running.set_in_motion()
        running.pause(4.0)
        running.hold_still()
        running.pause(1.5)
        running.operator.trigger(topics.RECORD_SUCCESS)
        running.wait((folder / "files" / "episode-000000.mcap").exists, "the recording")
        running.operator.node.destroy_publisher(running.chunks)
        running.operator.home()
        running.wait(running.operator.at_home, "home")
        yield running
    finally:
        running.end()


@pytest.fixture
def episode(graph: RunningGraph) -> Path:
    return graph.log.parent / "files" / "episode-000000.mcap"


def replay(file: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end."""
    return subprocess.run(_line(file, *options), capture_output=True, text=True, timeout=120)


def _line(file: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "tendon.cli", "data", "replay", str(file), *options]


def test_a_recording_is_done_again_as_it_was(graph: RunningGraph, episode: Path) -> None:
    """The robot swings again, and is where it was at the same time."""
    seen = len(graph.states)
    done = replay(episode, "--go")
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no more than 0.05" in done.stdout and JOINT in done.stdout
    assert np.ptp([state[1][0] for state in graph.states[seen:]]) > 0.3
    graph.check_limits()
    control = graph.operator.reports.newest(ControlState)
    assert control is not None and control.source is Source.HOLD


def test_a_dataset_that_was_turned_back_is_done_again(graph: RunningGraph, episode: Path, tmp_path: Path) -> None:
    """It has 20 commands a second and straight lines between them, so that fast motions differ more."""
    convert(episode, tmp_path / "set", Options(codec="png"))
    back = tmp_path / "back.mcap"
    write_recording(LeRobotDataset(tmp_path / "set"), 0, PROFILE, back)
    seen = len(graph.states)
    done = replay(back, "--go", "--within", "0.15")
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert np.ptp([state[1][0] for state in graph.states[seen:]]) > 0.3


def test_ctrl_c_brakes_the_robot(graph: RunningGraph, episode: Path) -> None:
    graph.operator.home()
    graph.wait(graph.operator.at_home, "home")
    child = subprocess.Popen(_line(episode, "--go"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    graph.wait(graph.moving, "motion")
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 130 and "Traceback" not in said, said
    assert np.abs(graph.states[-1][2]).max() < 0.02
    at = graph.states[-1][1]
    graph.pause(0.5)
    np.testing.assert_allclose(graph.states[-1][1], at, atol=1e-2)


def test_a_replay_that_is_killed_leaves_a_robot_that_brakes_when_its_plan_ends(
    graph: RunningGraph, episode: Path
) -> None:
    graph.operator.home()
    graph.wait(graph.operator.at_home, "home")
    child = subprocess.Popen(_line(episode, "--go"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    graph.wait(graph.moving, "motion")
    child.kill()
    child.wait()
    graph.pause(2.5)
    assert np.abs(graph.states[-1][2]).max() < 0.02
    graph.check_limits()


def test_a_graph_with_a_policy_is_refused_and_goes_on(graph: RunningGraph, episode: Path, tmp_path: Path) -> None:
    """A second publisher of chunks would latch it."""
    bundle = write_tiny_bundle(tmp_path / "tiny")
    arguments = ["backend:=mock", f"policy:={bundle}", "instruction:=left", "namespace:=/other"]
    other = RunningGraph(tmp_path / "log", *arguments)
    try:
        other.ready()
        other.arm()
        line = [*_line(episode)[:3], "--namespace", "/other", *_line(episode)[3:]]
        done = subprocess.run(line, capture_output=True, text=True, timeout=120)
        assert done.returncode == 2 and "a policy leads this graph" in done.stderr, done.stderr
        other.pause(2.0)
        mode = other.mode()
        assert mode is not None and mode.moving, other.reason()
    finally:
        other.end()


def test_what_cannot_be_replayed_is_one_clear_error(graph: RunningGraph, episode: Path, tmp_path: Path) -> None:
    cases = [
        (write(tmp_path / "other.mcap", texts(10)), "with joints a; the graph runs panda: start it with robot:="),
        (tmp_path / "none.mcap", "No such file"),
        (_recording(tmp_path / "idle.mcap", 0.0, frames=0), "nothing was executed"),
        (_recording(tmp_path / "far.mcap", 0.3, frames=20), "is 0.300 from where the recording begins"),
    ]
    graph.operator.home()
    graph.wait(graph.operator.at_home, "home")
    for file, reason in cases:
        done = replay(file)
        assert done.returncode == 2 and reason in done.stderr and "Traceback" not in done.stderr, done.stderr
    graph.stop()
    done = replay(episode)
    assert done.returncode == 2 and "the robot is latched" in done.stderr and "tendon safety arm" in done.stderr
    graph.arm()


def _recording(path: Path, away: float, frames: int) -> Path:
    """Writes a recording that stands still near home."""
    roles, at = roles_of(PROFILE, []), PROFILE.vector("home") + away * np.eye(len(PROFILE.joints))[1]
    writer = EpisodeWriter(path, EpisodeBegin(robot="panda", started_ns=0, roles=roles))
    messages = _Messages(writer, PROFILE, roles)
    for k in range(frames):
        frame = Frame(stamp_ns=(k + 1) * 50 * MS, state=at, velocity=0 * at, action=at, images={}, task="")
        messages.write(frame, (k + 2) * 50 * MS)
    writer.write(text(0))
    return writer.finish(EpisodeEnd())

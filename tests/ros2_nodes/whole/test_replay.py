"""`tendon data replay`: real processes do again what was recorded, through the filter, and a person can end it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tendon.cli.root import run
from tendon.core.modes import Source
from tendon.data.convert.from_mcap import Options, convert
from tendon.data.convert.to_mcap import write_recording
from tendon.data.lerobot.reader import LeRobotDataset
from tendon.graph import topics
from tendon.safety.reports import ControlState
from tests.data.samples import texts, write
from tests.ros2_nodes.running_graph import PROFILE, RunningGraph
from tests.ros2_nodes.standing_recording import standing_recording

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
        running.pause(2.5)
        running.hold_still()
        running.pause(1.0)
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


def replay(file: Path, *options: str) -> int:
    """Runs the command to its end, in this process: to start one costs as much as a replay."""
    return run(["data", "replay", str(file), *options])


def process(file: Path) -> list[str]:
    return [sys.executable, "-m", "tendon.cli", "data", "replay", str(file), "--go"]


def test_a_recording_is_done_again_as_it_was(graph: RunningGraph, episode: Path) -> None:
    """The robot swings again, and is where it was at the same time; as a process of its own says."""
    seen = len(graph.states)
    done = subprocess.run(process(episode), capture_output=True, text=True, timeout=120)
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
    assert replay(back, "--go", "--within", "0.15") == 0
    assert np.ptp([state[1][0] for state in graph.states[seen:]]) > 0.3


def test_ctrl_c_brakes_the_robot(graph: RunningGraph, episode: Path) -> None:
    graph.operator.home()
    graph.wait(graph.operator.at_home, "home")
    child = subprocess.Popen(process(episode), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
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
    child = subprocess.Popen(process(episode), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    graph.wait(graph.moving, "motion")
    child.kill()
    child.wait()
    graph.pause(2.5)
    assert np.abs(graph.states[-1][2]).max() < 0.02
    graph.check_limits()


def test_what_cannot_be_replayed_is_one_clear_error(
    graph: RunningGraph, episode: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A policy that leads the graph is one more, see `test_policy_graph.py`."""
    cases = [
        (write(tmp_path / "other.mcap", texts(10)), "with joints a; the graph runs panda: start it with robot:="),
        (tmp_path / "none.mcap", "No such file"),
        (standing_recording(tmp_path / "idle.mcap", 0.0, frames=0), "nothing was executed"),
        (standing_recording(tmp_path / "far.mcap", 0.3, frames=20), "is 0.300 from where the recording begins"),
    ]
    graph.operator.home()
    graph.wait(graph.operator.at_home, "home")
    for file, reason in cases:
        code, said = replay(file), capfd.readouterr().err
        assert code == 2 and reason in said and "Traceback" not in said, said
    graph.stop()
    code, said = replay(episode), capfd.readouterr().err
    assert code == 2 and "the robot is latched" in said and "tendon safety arm" in said, said
    graph.arm()

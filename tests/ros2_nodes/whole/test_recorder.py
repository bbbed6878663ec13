"""A recorded run: others read it, observations come out bit for bit, and the robot does not care who records it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from rosbags.highlevel import AnyReader
from trajectory_msgs.msg import JointTrajectory

from tendon.core.errors import StoppedError
from tendon.core.modes import PermissionState
from tendon.core.node_status import RecorderStatus
from tendon.data.convert.from_mcap import Options, convert
from tendon.data.lerobot.check import problems
from tendon.data.lerobot.reader import LeRobotDataset
from tendon.data.reading.observations import observations, rebuilt
from tendon.data.reading.recording import McapRecording
from tendon.data.recording.episode import Outcome
from tendon.graph import topics
from tendon.observation.assembly import digest
from tendon.ros2_nodes.base import qos
from tests.ros2_nodes.running_graph import PROFILE, RunningGraph
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle

pytestmark = pytest.mark.graph


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recorded")


@pytest.fixture(scope="module")
def episode(folder: Path) -> Iterator[Path]:
    """Two seconds of the armed robot, the end of which is a success; then the recorder is killed in another episode."""
    bundle = write_tiny_bundle(folder / "tiny")
    graph = RunningGraph(
        folder / "log", f"policy:={bundle}", "instruction:=left", "record:=true", f"recordings:={folder / 'files'}"
    )
    try:
        graph.ready()
        status = lambda: graph.operator.reports.newest(RecorderStatus)  # noqa: E731
        graph.wait(lambda: status() is not None and status().messages > 1000, "a recording under way")
        chunks: list[JointTrajectory] = []
        graph.operator.node.create_subscription(JointTrajectory, "policy/action_chunk", chunks.append, qos.NEWEST)
        graph.arm()
        graph.pause(2.0)
        graph.wait(lambda: len(chunks) > 5, "chunks of the policy")
        graph.operator.note("it went well")
        assert "success" in graph.operator.trigger(topics.RECORD_SUCCESS)
        graph.wait(lambda: not status().episode, "the end of the episode")
        with pytest.raises(StoppedError, match="no episode is being recorded"):
            graph.operator.note("nobody takes it")
        graph.operator.trigger(topics.RECORD_START)
        graph.operator.note("it was cut")
        graph.pause(2.0)
        os.kill(graph.pid("recorder_node"), signal.SIGKILL)
        recovered = folder / "files" / "episode-000001.mcap"
        graph.wait(recovered.exists, "the recorder comes back and recovers its file")
        graph.wait(lambda: "000002" in (status().episode if status() else ""), "the next episode")
        graph.pause(1.0)
        assert graph.state() is PermissionState.ARMED, graph.reason()
    finally:
        graph.end()
    yield folder / "files" / "episode-000000.mcap"


def test_an_episode_says_what_it_is_of(episode: Path) -> None:
    recording = McapRecording(episode)
    begin, end = recording.begin, recording.end
    assert begin is not None and begin.robot == "panda" and begin.simulated and begin.seed == "100003"
    assert set(begin.hashes) == {"profile", "policy", "suite"}
    assert end is not None and end.outcome is Outcome.SUCCESS and end.notes == ("it went well",)
    assert not end.bad, end


def test_every_topic_that_has_a_publisher_is_there_and_rosbags_reads_each_message(episode: Path) -> None:
    count = 0
    with AnyReader([episode]) as reader:
        for connection, _, data in reader.messages():
            reader.deserialize(data, connection.msgtype)
            count += 1
    recording = McapRecording(episode)
    assert count == sum(each.count for each in recording.topics.values())
    for name in ("/joint_states", "/camera/scene/image_raw", "/policy/action_chunk", "/safety/permission", "/clock"):
        assert recording.topics[name].count > 3, name
    for controller in PROFILE.controllers:
        assert recording.topics["/" + topics.commands(controller)].count > 20


def test_what_the_policy_was_given_comes_out_of_the_recording_bit_for_bit(episode: Path) -> None:
    recording = McapRecording(episode)
    found = list(rebuilt(recording, PROFILE))
    assert len(found) > 5 and all(each.same for each in found)
    made = {each.observation.stamp_ns: digest(each.observation) for each in observations(recording, PROFILE)}
    assert {each.given.sources.stamp_ns: each.given.digest for each in found}.items() <= made.items()


def test_a_dataset_of_it_is_whole(episode: Path, tmp_path: Path) -> None:
    converted = convert(episode, tmp_path / "set", Options(proposed=True))
    dataset = LeRobotDataset(tmp_path / "set")
    assert converted.frames > 5 and not converted.gaps and not list(problems(dataset))
    rows = dataset.rows(0)
    assert abs(rows["action"] - rows["observation.state"]).max() < 0.2
    assert dataset.tasks[int(rows["task_index"][-1])] == "left"


def test_a_killed_recorder_leaves_its_episode_and_the_robot_alone(episode: Path) -> None:
    """It stays armed, see the fixture."""
    ends = [McapRecording(episode.with_name(f"episode-00000{k}.mcap")).end for k in (1, 2)]
    assert [end and end.outcome for end in ends] == [Outcome.INCOMPLETE, Outcome.UNKNOWN]
    assert [end and end.notes for end in ends] == [("it was cut",), ()]
    recording = McapRecording(episode.with_name("episode-000001.mcap"))
    assert recording.seconds > 1.0 and all(each.same for each in rebuilt(recording, PROFILE))


def test_a_video_has_each_frame_that_the_policy_was_given(tmp_path: Path) -> None:
    """Recorded as H.264 beside the policy, whose word of each observation names the exposures."""
    bundle = write_tiny_bundle(tmp_path / "tiny")
    graph = RunningGraph(
        tmp_path / "log",
        *("backend:=mock", f"policy:={bundle}", "instruction:=left"),
        *("record:=true", f"recordings:={tmp_path / 'files'}", "images:=h264"),
    )
    try:
        graph.ready()
        graph.arm()
        graph.pause(2.0)
        assert "success" in graph.operator.trigger(topics.RECORD_SUCCESS)
    finally:
        graph.end()
    path = tmp_path / "files" / "episode-000000.mcap"
    recording = McapRecording(path)
    assert recording.end is not None and not recording.end.bad, recording.end
    assert recording.topics["/camera/scene/image_raw/foxglove"].kind == "foxglove_msgs/msg/CompressedVideo"
    assert "/camera/scene/image_raw" not in recording.topics
    found = list(rebuilt(recording, PROFILE))
    assert len(found) > 5 and all(each.observation is not None for each in found)
    converted = convert(path, tmp_path / "set", Options())
    assert converted.frames > 5 and not converted.gaps

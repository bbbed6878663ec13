"""The recorder says that nothing is recorded, or kept, where the disk takes nothing: a line and no success."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import rclpy
from std_srvs.srv import Trigger

from tendon.data.recording import writer
from tendon.graph import topics
from tendon.ros2_nodes import recorder_node
from tendon.ros2_nodes.recorder_node import RecorderNode

NO_SPACE = os.strerror(errno.ENOSPC)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[RecorderNode]:
    words = ("robot:=panda", f"recordings:={tmp_path}", "at_once:=false")
    rclpy.init(args=["--ros-args", *(word for each in words for word in ("-p", each))])
    made = RecorderNode()
    yield made
    if rclpy.ok():
        made.close()
        rclpy.shutdown()


def ask(node: RecorderNode, service: str) -> tuple[bool, str]:
    """Calls a service of the node."""
    (found,) = (each for each in node.services if each.service_name.endswith(f"/{service}"))
    answer = found.callback(Trigger.Request(), Trigger.Response())
    return answer.success, answer.message


def fail(number: int, data: bytes) -> int:
    raise OSError(errno.ENOSPC, NO_SPACE)


def test_a_full_disk_is_no_recording_and_then_it_goes_on(
    node: RecorderNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as full:
        full.setattr(writer.os, "write", fail)
        success, said = ask(node, topics.RECORD_START)
        assert not success and said.startswith("nothing is recorded: ") and f"{NO_SPACE}: make room" in said
        assert not list(tmp_path.iterdir()), "not even an empty file"
    success, said = ask(node, topics.RECORD_START)
    assert success and said == f"recording {tmp_path}/episode-000001.mcap"
    with monkeypatch.context() as full:
        full.setattr(writer.os, "write", fail)
        success, said = ask(node, topics.RECORD_SUCCESS)
        assert not success and said.startswith("NOT kept as success: ") and f"{NO_SPACE}; the episode is inc" in said
    assert ask(node, topics.RECORD_START)[0]
    success, said = ask(node, topics.RECORD_SUCCESS)
    assert success and said == f"kept {tmp_path}/episode-000002.mcap: success"


def test_a_disk_that_stands_still_holds_nobody_up(
    node: RecorderNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_node, "DISK_S", 0.2)
    go, whole = threading.Event(), os.write

    def late(number: int, data: bytes) -> int:
        assert go.wait(20.0)
        return whole(number, data)

    monkeypatch.setattr(writer.os, "write", late)
    success, said = ask(node, topics.RECORD_START)
    assert not success and "the disk opened no file within 0.2 s" in said
    go.set()
    assert node._session.wait(20.0) and not list(tmp_path.iterdir())
    assert ask(node, topics.RECORD_START)[0]
    go.clear()
    success, said = ask(node, topics.RECORD_KEEP)
    assert success and "the disk is still writing it" in said
    go.set()
    assert node._session.wait(20.0) and [each.suffix for each in tmp_path.iterdir()] == [".mcap"]


def test_the_end_of_the_node_says_what_becomes_of_an_open_episode(
    node: RecorderNode, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert ask(node, topics.RECORD_START)[0]
    node.close()
    rclpy.shutdown()
    assert f"kept {tmp_path}/episode-000000.mcap: unknown" in "".join(capfd.readouterr())


def test_so_it_does_where_the_disk_takes_nothing(
    node: RecorderNode, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask(node, topics.RECORD_START)[0]
    monkeypatch.setattr(writer.os, "write", fail)
    node.close()
    rclpy.shutdown()
    said = "".join(capfd.readouterr())
    assert "NOT kept as unknown: " in said and NO_SPACE in said

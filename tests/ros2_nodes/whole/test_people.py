"""People on a topic, from a real publisher to the robot: who is near, or might be, keeps it at rest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from geometry_msgs.msg import Point, Pose, PoseArray
from rclpy.node import Node

from tendon.core.causes import Cause
from tendon.core.modes import PermissionState
from tendon.robots.profile import load_profile
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.safety.reports import ControlState
from tests import ROOT
from tests.ros2_nodes.running_graph import RunningGraph

pytestmark = pytest.mark.graph
FAR, NEAR = Point(x=8.0, y=0.0, z=0.5), Point(x=1.0, y=0.0, z=0.5)


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[RunningGraph]:
    """A UR5e on the mock whose profile has a topic of people."""
    shipped = ROOT / "robots" / "ur5e" / "profile.yaml"
    values = yaml.safe_load(shipped.read_text())
    for key in ("urdf", "collisions"):
        if isinstance(values.get(key), str) and not values[key].startswith(("/", "package:")):
            values[key] = str(shipped.parent / values[key])
    path = tmp_path / "profile.yaml"
    path.write_text(yaml.safe_dump({**values, "human": {"topic": "people"}}))
    running = RunningGraph(
        tmp_path / "log", f"robot:={path}", "backend:=mock", "policy:=none", profile=load_profile(str(path))
    )
    yield running
    running.end()


def test_it_moves_while_nobody_is_near_and_rests_for_who_is_or_might_be(graph: RunningGraph) -> None:
    graph.ready()
    publisher = graph.operator.node.create_publisher(PoseArray, "people", qos.STREAM)
    frame = graph.profile.base_frame

    def publish(*where: Point, ahead_ns: int = 0, frame: str = frame) -> None:
        message = PoseArray(poses=[Pose(position=point) for point in where])
        message.header.stamp, message.header.frame_id = wire.time_message(graph.now_ns() + ahead_ns), frame
        publisher.publish(message)

    def seen(*where: Point, ahead_ns: int = 0, frame: str = frame, moving: bool, why: str = "") -> None:
        """Publishes ten times a second until the robot does what it should."""

        def done() -> bool:
            publish(*where, ahead_ns=ahead_ns, frame=frame)
            graph.pause(0.1)
            state = graph.operator.reports.newest(ControlState)
            return graph.moving() is moving and state is not None and why in state.reason

        graph.wait(done, f"moving is {moving}, because of {why!r}")

    graph.arm()
    graph.wave()
    seen(FAR, moving=True)
    seen(NEAR, moving=False, why="too close to a person")
    seen(moving=True)
    hour_ns = 3600 * 10**9
    seen(ahead_ns=hour_ns, moving=False, why="in the future")
    seen(moving=True)
    seen(frame="camera_link", moving=False, why=f"must be '{frame}'")
    seen(FAR, moving=True)
    graph.pause(0.8)
    assert not graph.moving(), "nothing was heard of people for longer than they may be unseen"
    graph.check_limits()
    other = Node("other_detector", context=graph.operator.node.context)
    try:
        other.create_publisher(PoseArray, "people", qos.STREAM)
        graph.wait(lambda: "both publish on people" in graph.reason(), "a second one who says where people are")
        assert graph.state() is PermissionState.LATCHED and graph.cause() is Cause.SENDER
    finally:
        other.destroy_node()

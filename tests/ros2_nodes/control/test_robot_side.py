"""Who takes the commands: what the middleware says of the robot side's subscriptions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import rclpy
from rclpy.node import Node
from rclpy.qos import ReliabilityPolicy
from rclpy.topic_endpoint_info import TopicEndpointInfo
from trajectory_msgs.msg import JointTrajectory

from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.control import robot_side
from tendon.ros2_nodes.control.robot_side import RobotSide
from tests.ros2_nodes.hardware.system_defaults import SYSTEM_DEFAULTS

TOPIC = "/panda_arm_controller/joint_trajectory"
PATIENCE_S = 20.0
HERE, THERE, OTHERS = "010f78fd", "010f7f01", "01107f01"


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch) -> Iterator[rclpy.Context]:
    monkeypatch.setattr(robot_side, "LOOK_S", 0.0)
    made = rclpy.Context()
    made.init(args=[])
    yield made
    made.try_shutdown()


@pytest.mark.parametrize(
    ("backend", "listeners", "acknowledges"),
    [
        ("sim", {"sim_node": qos.NEWEST, "safety_monitor": qos.EACH}, True),
        ("sim", {"sim_node": qos.NEWEST, "recorder_node": qos.RECORDED}, True),
        ("hardware", {"panda_arm_controller": SYSTEM_DEFAULTS, "safety_monitor": qos.EACH}, False),
        ("hardware", {"panda_arm_controller": SYSTEM_DEFAULTS, "teleop_node": qos.NEWEST}, False),
        ("hardware", {"safety_monitor": qos.EACH, "teleop_node": qos.NEWEST}, False),
    ],
)
def test_a_controller_of_ros2_control_acknowledges_nothing(
    context: rclpy.Context, backend: str, listeners: dict[str, Any], acknowledges: bool
) -> None:
    """Others may listen as they like."""
    node: Any = Node("control_node", context=context)
    node.declare_parameter("backend", backend)
    side = RobotSide(node, [node.create_publisher(JointTrajectory, TOPIC, qos.NEWEST)])
    assert not side.acknowledges and TOPIC in side.unheard()
    others = [Node(name, context=context) for name in listeners]
    for other, quality in zip(others, listeners.values(), strict=True):
        other.create_subscription(JointTrajectory, TOPIC, lambda _: None, quality)
    deadline_s = time.monotonic() + PATIENCE_S
    while named(node) != set(listeners) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    side.look()
    assert (named(node), side.unheard(), side.acknowledges) == (set(listeners), "", acknowledges)


def named(node: Node) -> set[str]:
    return {each.node_name for each in node.get_subscriptions_info_by_topic(TOPIC)}


class Looking:
    """A control node whose middleware knows endpoints by their ids."""

    def __init__(self, **listeners: str) -> None:
        self.said: list[str] = []
        self._listeners = listeners

    def get_parameter(self, _: str) -> Any:
        return SimpleNamespace(value="hardware")

    def resolve_topic_name(self, name: str) -> str:
        return f"/{name}"

    def get_name(self) -> str:
        return "control_node"

    def get_namespace(self) -> str:
        return "/"

    def get_logger(self) -> Any:
        return SimpleNamespace(warning=self.said.append)

    def get_publishers_info_by_topic(self, topic: str) -> list[TopicEndpointInfo]:
        return [endpoint("control_node", HERE)] if topic == TOPIC else [endpoint("driver", THERE)]

    def get_subscriptions_info_by_topic(self, _: str) -> list[TopicEndpointInfo]:
        return [endpoint(name, host) for name, host in self._listeners.items()]


def endpoint(name: str, host: str) -> TopicEndpointInfo:
    quality = SimpleNamespace(reliability=ReliabilityPolicy.RELIABLE)
    gid = list(bytes.fromhex(host + 12 * "00"))
    made: Any = SimpleNamespace(node_name=name, node_namespace="/", qos_profile=quality, endpoint_gid=gid)
    return made


@pytest.mark.parametrize(
    ("listeners", "warns"),
    [
        ({"panda_arm_controller": HERE, "safety_monitor": HERE}, False),
        ({"panda_arm_controller": THERE, "safety_monitor": HERE}, True),
        ({"panda_arm_controller": HERE, "safety_monitor": THERE, "recorder_node": THERE}, False),
        ({"driver": THERE, "teleop_node": THERE}, True),  # it publishes the joint states
        ({"panda_arm_controller": HERE, "teleop_node": THERE}, False),
        ({"panda_arm_controller": OTHERS}, False),  # of another middleware, whose ids mean nothing here
        ({"_NODE_NAME_UNKNOWN_": THERE}, False),
    ],
)
def test_a_robot_on_another_machine_is_warned_of_once(
    monkeypatch: pytest.MonkeyPatch, listeners: dict[str, str], warns: bool
) -> None:
    monkeypatch.setattr(robot_side, "LOOK_S", 0.0)
    node: Any = Looking(**listeners)
    side = RobotSide(node, [SimpleNamespace(topic_name=TOPIC)])  # type: ignore[list-item]
    side.look()
    side.look()
    assert len(node.said) == warns
    assert not warns or node.said[0].startswith(f"{next(iter(listeners))} takes {TOPIC} on another machine")

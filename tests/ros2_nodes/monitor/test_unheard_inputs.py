"""Stop inputs of real publishers that are not heard, or whose one `false` may be lost: nobody requires them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from std_msgs.msg import Bool, UInt8

from tendon.core.clock import AwakeClock, SteadyClock
from tendon.robots.profile import StopInput, load_profile
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.base.batch import Batch
from tendon.ros2_nodes.base.guard import GuardedNode
from tendon.ros2_nodes.monitor.stop_inputs import StopInputs

DOOR = StopInput(name="door", topic="door/closed", permits=(True,), required=False)
PATIENCE_S, FLOOD_S = 20.0, 0.3


class Listener:
    """A node with one input, and a driver that publishes it; each has a context of its own, as two processes have."""

    def __init__(self) -> None:
        self._contexts = Context(), Context()
        for context in self._contexts:
            rclpy.init(context=context)
        self.node = GuardedNode("listener", context=self._contexts[0])
        self.node.batch = Batch()
        self.node.profile = replace(load_profile("panda"), stop_inputs=(DOOR,))
        self.inputs = StopInputs(self.node, AwakeClock(SteadyClock(), 10**9, 10**9, 10**9))  # type: ignore[arg-type]
        self.driver = Node("door_driver", context=self._contexts[1])

    def publish(self, kind: type, quality: QoSProfile) -> Publisher:
        return self.driver.create_publisher(kind, DOOR.topic, quality)

    def found(self) -> str:
        self.node.take_messages()
        self.inputs.look()
        return " ".join(finding.reason for finding in self.inputs.watches[0].findings(time.monotonic_ns()))

    def wait(self, done: Callable[[str], bool]) -> str:
        """Returns what is found when it is what is waited for."""
        deadline = time.monotonic() + PATIENCE_S
        while not done(said := self.found()):
            assert time.monotonic() < deadline, said
            time.sleep(0.02)
        return said

    def close(self) -> None:
        for node in (self.node, self.driver):
            node.destroy_node()
        for context in self._contexts:
            rclpy.shutdown(context=context)


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.close()


@pytest.mark.parametrize(
    ("kind", "quality", "says"),
    [
        (Bool, qos.STREAM, "publishes best effort, must be reliable, or the input needs max_age_s"),
        (UInt8, qos.EACH, "publishes std_msgs/msg/UInt8, must be std_msgs/msg/Bool"),
    ],
    ids=["best effort", "another type"],
)
def test_who_publishes_and_cannot_be_heard_is_named(
    kind: type, quality: QoSProfile, says: str, listener: Listener
) -> None:
    """A pressed button at 50 Hz, best effort: not one message came, and nothing was found."""
    assert listener.found() == ""
    listener.publish(kind, quality)
    found = listener.wait(lambda said: bool(said) and "without a name" not in said)
    assert found == f"stop input door cannot be heard on door/closed: door_driver {says}"


@pytest.mark.parametrize("quality", [qos.EACH, qos.LATCHED], ids=["volatile", "transient local"])
def test_who_publishes_reliably_is_heard(quality: QoSProfile, listener: Listener) -> None:
    publisher = listener.publish(Bool, quality)
    listener.wait(lambda _: publisher.get_subscription_count() >= 1)
    publisher.publish(Bool(data=True))
    listener.wait(lambda said: not said and listener.inputs.watches[0]._value is True)
    publisher.publish(Bool(data=False))
    assert "door is false" in listener.wait(bool)


def test_one_false_in_a_flood_of_true_is_not_lost(listener: Listener) -> None:
    publisher = listener.publish(Bool, qos.NEWEST)
    listener.wait(lambda _: publisher.get_subscription_count() >= 1)
    for k in range(600):
        publisher.publish(Bool(data=k != 10))
    time.sleep(FLOOD_S)
    assert "at once, must be fewer than 256: a value that stops may be lost" in listener.found()

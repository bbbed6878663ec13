"""Announcements are heard from every publisher, once each, and what was said before stays said."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
import rclpy
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from std_msgs.msg import String

from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.base.announcements import Announcements, overhear

PATIENCE_S = 20.0
QUIET_S = 0.5
"""How long to look for something that must not come."""


class Listener:
    """A node that hears announcements, and publishers that make them."""

    def __init__(self) -> None:
        self._context = rclpy.Context()
        self._context.init(args=[])
        self.node = Node("listener", context=self._context, use_global_arguments=False)
        self._executor = EventsExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.heard: list[str] = []

    def listen(self) -> None:
        Announcements(self.node, "instruction", self.heard.append)

    def publisher(self, quality: QoSProfile) -> Publisher:
        return self.node.create_publisher(String, "instruction", quality)

    def spin(self, until: Callable[[], bool], patience_s: float = PATIENCE_S) -> bool:
        deadline = time.monotonic() + patience_s
        while not until() and time.monotonic() < deadline:
            self._executor.spin_once(0.02)
        return until()

    def hears(self, *texts: str) -> None:
        """Fails unless exactly these were heard, with nothing more after them."""
        self.spin(lambda: len(self.heard) >= len(texts))
        self.spin(lambda: len(self.heard) > len(texts), QUIET_S)
        assert self.heard == list(texts)

    def close(self) -> None:
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.close()


@pytest.mark.parametrize("quality", [qos.NEWEST, qos.LATCHED], ids=["volatile", "transient local"])
def test_what_is_said_now_is_heard_once_from_either_kind_of_publisher(listener: Listener, quality: QoSProfile) -> None:
    """`ros2 topic pub --once` is volatile and waits until a subscription matches; `tendon say` is transient local."""
    listener.listen()
    publisher = listener.publisher(quality)
    expected = 1 if quality is qos.NEWEST else 2
    assert listener.spin(lambda: publisher.get_subscription_count() == expected)
    publisher.publish(String(data="left"))
    listener.hears("left")


def test_the_same_words_said_again_are_heard_again(listener: Listener) -> None:
    """Only the two subscriptions' copies of one message are one: a task may be given twice."""
    listener.listen()
    publisher = listener.publisher(qos.LATCHED)
    assert listener.spin(lambda: publisher.get_subscription_count() == 2)
    for count in (1, 2, 3):
        publisher.publish(String(data="left"))
        listener.hears(*["left"] * count)


def test_of_several_in_a_row_each_is_heard_once_and_the_last_one_holds(listener: Listener) -> None:
    """A copy of an older message, taken after a newer one, does not bring the older one back."""
    listener.listen()
    publisher = listener.publisher(qos.EACH_LATCHED)
    assert listener.spin(lambda: publisher.get_subscription_count() == 2)
    for burst in range(5):
        said = [f"task {number} of {burst}" for number in range(10)]
        for text in said:
            publisher.publish(String(data=text))
        listener.hears(*said)
        listener.heard.clear()


def test_what_was_said_before_is_heard_by_who_comes_late(listener: Listener) -> None:
    """A policy node that restarts knows its task, when whoever gave it is still there."""
    listener.publisher(qos.LATCHED).publish(String(data="left"))
    time.sleep(QUIET_S)
    listener.listen()
    listener.hears("left")


def test_a_node_that_overhears_does_not_match_a_volatile_publisher(listener: Listener) -> None:
    """`ros2 topic pub --once` goes as soon as one subscription matches: that must be the one it is for."""
    overhear(listener.node, "instruction", listener.heard.append)
    volatile, kept = listener.publisher(qos.NEWEST), listener.publisher(qos.LATCHED)
    assert listener.spin(lambda: kept.get_subscription_count() == 1)
    assert volatile.get_subscription_count() == 0
    kept.publish(String(data="left"))
    listener.hears("left")

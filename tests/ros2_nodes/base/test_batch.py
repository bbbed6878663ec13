"""A loop that takes its messages itself, of real publishers: all, in the order in which they came, and no flood."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
import rclpy
from rclpy.context import Context
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import String

from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.base.batch import LONGEST, Batch
from tendon.ros2_nodes.base.guard import GuardedNode
from tendon.ros2_nodes.base.message_info import MessageInfo
from tendon.safety.input_watch import QUEUE

PATIENCE_S = 20.0
ONCE_S = 0.3


class Pair:
    """A node that takes in batches and one that publishes to it, in a context of their own."""

    def __init__(self) -> None:
        self._context = Context()
        rclpy.init(context=self._context)
        self.taker = GuardedNode("taker", context=self._context)
        self.taker.batch = Batch()
        self.publisher = Node("publisher", context=self._context)
        self.executor = EventsExecutor(context=self._context)
        self.executor.add_node(self.taker)

    def connect(
        self, topic: str, take: Callable[..., None], informed: bool = False, quality: QoSProfile = qos.EACH
    ) -> Callable[[str], None]:
        """Returns what publishes a text to a subscription of the taker."""
        self.taker.create_subscription(String, topic, take, quality, informed=informed)
        publisher = self.publisher.create_publisher(String, topic, qos.EACH)
        deadline = time.monotonic() + PATIENCE_S
        while not publisher.get_subscription_count():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return lambda text: publisher.publish(String(data=text))

    def take_until(self, done: Callable[[], bool]) -> None:
        """Takes until something holds."""
        deadline = time.monotonic() + PATIENCE_S
        while not done():
            assert time.monotonic() < deadline
            time.sleep(0.01)
            self.taker.take_messages()

    def close(self) -> None:
        for node in (self.taker, self.publisher):
            node.destroy_node()
        rclpy.shutdown(context=self._context)


@pytest.fixture
def pair() -> Iterator[Pair]:
    found = Pair()
    yield found
    found.close()


def test_messages_of_two_topics_are_handed_on_in_the_order_in_which_they_came(pair: Pair) -> None:
    heard: list[str] = []
    say = [pair.connect(topic, lambda message: heard.append(message.data)) for topic in ("b", "a")]
    wanted = [str(k) for k in range(12)]
    for k, text in enumerate(wanted):
        say[k % 2](text)
        time.sleep(0.01)
    assert heard == []
    pair.take_until(lambda: len(heard) >= len(wanted))
    assert heard == wanted


def test_a_system_clock_that_is_set_back_does_not_turn_the_order_of_a_topic_round() -> None:
    """An emergency stop that was pressed would be heard as released last."""

    class Queue:
        msg_type = String

        def __init__(self) -> None:
            self.handle, self._waiting = self, [("permitted", 1000), ("pressed", 900)]

        def take_message(self, _: type, __: bool) -> tuple[str, dict[str, int]] | None:
            if not self._waiting:
                return None
            text, received_ns = self._waiting.pop(0)
            return text, {"received_timestamp": received_ns}

    batch, heard = Batch(), []
    batch.add(Queue(), lambda message: heard.append(message[0]))  # type: ignore[arg-type]
    batch.take()
    assert heard == ["permitted", "pressed"]


def test_the_executor_takes_none_of_them(pair: Pair) -> None:
    heard: list[str] = []
    say = pair.connect("a", lambda message: heard.append(message.data))
    say("one")
    end = time.monotonic() + ONCE_S
    while time.monotonic() < end:
        pair.executor.spin_once(0.05)
    assert heard == []
    pair.take_until(lambda: heard == ["one"])


def test_a_flood_is_cut_and_its_newest_are_kept(pair: Pair) -> None:
    heard: list[str] = []
    say = pair.connect("a", lambda message: heard.append(message.data))
    for k in range(500):
        say(str(k))
    time.sleep(ONCE_S)
    pair.taker.take_messages()
    assert 0 < len(heard) <= LONGEST and heard[-1] == "499"


def test_what_waits_in_a_deeper_queue_is_all_taken_at_once(pair: Pair) -> None:
    """A stop input's: of 500 the last 256, and not twenty of those, so that a flood shows."""
    heard: list[str] = []
    say = pair.connect("a", lambda message: heard.append(message.data), quality=qos.INPUT)
    for k in range(500):
        say(str(k))
    time.sleep(ONCE_S)
    pair.taker.take_messages()
    assert len(heard) >= QUEUE and heard[-1] == "499"


def test_a_callback_that_fails_costs_no_other_its_message(pair: Pair) -> None:
    heard: list[str] = []

    def fail(message: String) -> None:
        raise ZeroDivisionError(message.data)

    say = pair.connect("a", fail), pair.connect("b", lambda message: heard.append(message.data))
    for each in say:
        each("one")
    pair.take_until(lambda: heard == ["one"] and pair.taker.faults == 1)


def test_what_the_middleware_says_of_a_message_is_handed_on(pair: Pair) -> None:
    heard: list[MessageInfo] = []
    say = pair.connect("a", lambda _, info: heard.append(info), informed=True)
    before_ns = time.time_ns()
    for _ in range(2):
        say("one")
    pair.take_until(lambda: len(heard) == 2)
    assert before_ns <= heard[0].sent_ns <= heard[0].received_ns <= time.time_ns()
    assert heard[1].number in (0, heard[0].number + 1)

"""Every topic of the graph as bytes, with when each message was received, and how many never came."""

from __future__ import annotations

import importlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from rclpy.serialization import serialize_message
from rclpy.subscription import Subscription
from std_msgs.msg import String

from tendon.core.errors import InvalidDataError
from tendon.data.recording.schemas import definition
from tendon.data.recording.writer import Sample
from tendon.graph import topics
from tendon.graph.recorded import ANNOUNCED, CLOCK, IMAGE, STAMPED, RecordedTopic
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.base.announcements import overhear
from tendon.ros2_nodes.base.message_info import MessageInfo
from tendon.ros2_nodes.base.shell import NodeShell
from tendon.ros2_nodes.recorder.losses import Losses
from tendon.ros2_nodes.wire.cdr import deserialize

LISTENERS = 2
"""Who must be connected to a command topic before the recorder is, which must not be taken for one of them."""
QUALITIES = {IMAGE: qos.RECORDED_IMAGES, topics.RECORD_NOTE: qos.EACH}
"""By type, or by name: who writes a note is a publisher that is just being discovered."""


class RecordedInputs:
    """Subscribes to topics and hands on what comes. The node is batched: its thread takes the messages.

    Args:
        node: subscribes.
        wanted: the topics.
        take: called with each message.
        lose: called with a topic and how many of its messages never came.
        now_ns: wall time.
    """

    def __init__(
        self,
        node: NodeShell,
        wanted: Iterable[RecordedTopic],
        take: Callable[[Sample], None],
        lose: Callable[[str, int], None],
        now_ns: Callable[[], int],
    ) -> None:
        self._node, self._take, self._lose, self._now_ns = node, take, lose, now_ns
        self._losses: defaultdict[str, Losses] = defaultdict(Losses)
        self._waiting: list[RecordedTopic] = []
        self.newest: dict[str, Sample] = {}
        """What was announced last on each topic of announcements."""
        self.heard: Counter[str] = Counter()
        self.unknown: dict[str, str] = {}
        for each in wanted:
            if each.name in ANNOUNCED:
                overhear(node, each.name, partial(self._announced, self.resolve(each.name)))
            elif each.command:
                self._waiting.append(each)
            else:
                self._subscribe(each)

    def resolve(self, name: str) -> str:
        """Returns the absolute name of a topic."""
        return str(self._node.resolve_topic_name(name))

    def text(self, topic: str) -> str:
        """Returns what was announced last on an absolute topic; empty when nothing was."""
        sample = self.newest.get(topic)
        return "" if sample is None else str(deserialize(sample.data, String).data)

    def look(self) -> None:
        """Subscribes to commands when robot and monitor have: nobody may take the recorder for one of these."""
        for each in tuple(self._waiting):
            if self._node.count_subscribers(self.resolve(each.name)) >= LISTENERS:
                self._waiting.remove(each)
                self._subscribe(each)

    def _subscribe(self, each: RecordedTopic) -> Subscription | None:
        try:
            kind = message_type(each.kind)
            definition(each.kind)  # a file says what its messages are: without that nobody could read them
        except InvalidDataError as error:
            self.unknown[each.name] = str(error)
            return None
        quality = QUALITIES.get(each.kind) or QUALITIES.get(each.name, qos.RECORDED)
        take = partial(self._heard, self.resolve(each.name), each)
        return self._node.create_subscription(kind, each.name, take, quality, raw=True, informed=True)

    def _heard(self, topic: str, each: RecordedTopic, data: bytes, info: MessageInfo) -> None:
        if each.own and info.number:
            lost = self._losses[topic].before(info.number, partial(self._node.count_publishers, topic))
            if lost:
                self._lose(topic, lost)
        received_ns = info.received_ns or self._now_ns()
        stamp_ns = _stamp_ns(data) if each.kind in STAMPED or each.kind == CLOCK else 0
        self.heard[topic] += 1
        self._take(
            Sample(
                topic=topic,
                kind=each.kind,
                log_ns=received_ns,
                publish_ns=stamp_ns if stamp_ns > 0 else info.sent_ns or received_ns,
                number=info.number,
                data=bytes(data),
            )
        )

    def _announced(self, topic: str, text: str) -> None:
        now_ns = self._now_ns()
        data = bytes(serialize_message(String(data=text)))
        sample = Sample(topic=topic, kind="std_msgs/msg/String", log_ns=now_ns, publish_ns=now_ns, number=0, data=data)
        self.newest[topic] = sample
        self.heard[topic] += 1
        self._take(sample)


def _stamp_ns(data: bytes) -> int:
    """Returns the stamp of a message; 0 where it is no time: what is recorded is not judged."""
    try:
        return wire.read_stamp_ns(data)
    except InvalidDataError:
        return 0


def message_type(kind: str) -> Any:
    """Returns the class of a message type such as `sensor_msgs/msg/Image`.

    Raises:
        InvalidDataError: it is not installed.
    """
    package, *_, name = kind.split("/")
    try:
        return getattr(importlib.import_module(f"{package}.msg"), name)
    except (ImportError, AttributeError) as error:
        raise InvalidDataError(f"{kind} is not installed ({error}): its topic is not recorded") from error

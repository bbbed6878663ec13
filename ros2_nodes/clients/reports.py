"""What nodes say of themselves on `diagnostics` and `safety/state`, for whoever only looks now and then.

Forty such messages come in a second, and reading one costs rclpy half a millisecond. So bytes are kept, the newest of
each node and topic, and read when somebody asks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node

from tendon.core.errors import InvalidDataError
from tendon.core.node_status import Level, NodeStatus
from tendon.graph.running.state import RunState
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.wire.status.first_name import first_name
from tendon.safety.reports import ControlState, MonitorState

TOPICS: tuple[wire.StatusTopic[Any], ...] = (wire.DIAGNOSTICS, wire.STATE)

REMEMBERED = 256
"""Nodes and topics of which a report is kept, those heard last: anybody may report under any name."""

T = TypeVar("T")


@dataclass(eq=False)
class _Report:
    """The newest message of a node on a topic, and what is in it once it was read."""

    topic: wire.StatusTopic[Any]
    data: bytes
    heard_s: float
    value: object = None
    problem: str = ""

    def read(self) -> _Report:
        """Reads it, at the first time; a message that is not Tendon's has neither value nor problem."""
        if self.data:
            try:
                self.value = self.topic.decode_bytes(self.data)
            except wire.ForeignMessageError:
                pass
            except InvalidDataError as error:
                self.problem = str(error)
            self.data = b""
        return self


class Reports:
    """Keeps the newest report of each node. Any thread may ask.

    Args:
        node: subscribes.
    """

    def __init__(self, node: Node) -> None:
        self._lock = threading.Lock()
        self._newest: dict[tuple[str, str], _Report] = {}
        for topic in TOPICS:
            node.create_subscription(DiagnosticArray, topic.name, partial(self._heard, topic), qos.EACH, raw=True)

    def _heard(self, topic: wire.StatusTopic[Any], data: bytes) -> None:
        report = _Report(topic, data, time.monotonic())
        with self._lock:
            key = topic.name, first_name(data)
            self._newest.pop(key, None)
            self._newest[key] = report
            if len(self._newest) > REMEMBERED:
                del self._newest[next(iter(self._newest))]

    def newest(self, kind: type[T]) -> T | None:
        """Returns the newest value of a kind, such as `ControlState`; `None` while there is none that can be read."""
        with self._lock:
            reports = [each.read() for each in self._newest.values() if kind in each.topic]
        found = [each for each in reports if isinstance(each.value, kind)]
        newest = max(found, key=lambda report: report.heard_s, default=None)
        return None if newest is None or not isinstance(newest.value, kind) else newest.value

    def status(self, node: str) -> NodeStatus | None:
        """Returns how a node is; an error when what it said last cannot be read, `None` when it said nothing."""
        with self._lock:
            reports = [self._newest[topic.name, node].read() for topic in TOPICS if (topic.name, node) in self._newest]
        for report in reports:
            if report.problem:
                return NodeStatus(node=node, level=Level.ERROR, text=report.problem)
        return next((report.value for report in reports if isinstance(report.value, NodeStatus)), None)

    def age_s(self, node: str) -> float | None:
        """Returns how long ago a node last said something [s]; `None` if it never has."""
        with self._lock:
            heard = [report.heard_s for (_, name), report in self._newest.items() if name == node]
        return time.monotonic() - max(heard) if heard else None

    def nodes(self) -> set[str]:
        """Returns who has said something."""
        with self._lock:
            return {name for _, name in self._newest}

    def state(self, nodes: Sequence[str], ending: bool = False) -> RunState:
        """Returns what is known of a graph of these nodes."""
        statuses = {node: status for node in nodes if (status := self.status(node)) is not None}
        return RunState(
            nodes=tuple(nodes),
            statuses=statuses,
            monitor=self.newest(MonitorState),
            control=self.newest(ControlState),
            age_s={node: age_s for node in nodes if (age_s := self.age_s(node)) is not None},
            ending=ending,
        )

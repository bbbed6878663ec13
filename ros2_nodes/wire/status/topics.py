"""The topics of type DiagnosticArray: each message holds one typed value, in one status.

The status has the value's node as its name, its level, and as its message a text for `ros2 topic echo` that nobody
reads back, but for the `text` of a value. All else is in key-value pairs (`pairs`), with `type` and `version` before
them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Generic, Protocol, TypeVar

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.serialization import serialize_message

from tendon.core.errors import InvalidDataError
from tendon.core.node_status import (
    ControlStatus,
    Level,
    MockStatus,
    MonitorStatus,
    NodeStatus,
    PolicyStatus,
    RecorderStatus,
    SimulationStatus,
)
from tendon.core.permission import Permission
from tendon.core.phrases import beginning
from tendon.graph import topics
from tendon.ros2_nodes.wire.cdr import deserialize, with_stamp, without_stamp
from tendon.ros2_nodes.wire.status.forms import LONGEST, short
from tendon.ros2_nodes.wire.status.pairs import HEADER, read_pairs, write_pairs
from tendon.ros2_nodes.wire.times import time_message
from tendon.ros2_nodes.wire.version import VERSION, check_version
from tendon.safety.reports import ControlState, MonitorState, ResponseRequest, TaskState

MAX_PAIRS, LONGEST_KEY = 1000, 256
REMEMBERED = 8
"""Messages whose values are kept: each node says the same again and again, several of them in turn."""


class Stated(Protocol):
    """What can be said in a status."""

    @property
    def node(self) -> str:
        """Who says it."""

    @property
    def level(self) -> Level:
        """How well that is."""

    @property
    def text(self) -> str:
        """It in words, for a person."""


T = TypeVar("T", bound=Stated)


class ForeignMessageError(InvalidDataError):
    """A message that does not say that it is Tendon's; on `diagnostics` any driver publishes such."""


class StatusTopic(Generic[T]):
    """A topic whose messages hold one value each.

    Args:
        name: relative.
        kinds: what a message may hold, by the word for it.
    """

    def __init__(self, name: str, **kinds: type[T]) -> None:
        self.name, self._kinds = name, kinds
        self._words: dict[type, str] = {kind: word for word, kind in kinds.items()}
        self._written: tuple[T, bytes] | None = None
        self._read_before: OrderedDict[bytes, T] = OrderedDict()

    def __contains__(self, kind: type) -> bool:
        """Whether values of a type, or of one of its subclasses, are on it."""
        return any(issubclass(each, kind) for each in self._words)

    def encode(self, value: T, stamp_ns: int) -> DiagnosticArray:
        """Returns the message of a value."""
        pairs = [("type", self._words[type(value)]), ("version", str(VERSION)), *write_pairs(value)]
        status = DiagnosticStatus(name=value.node, level=bytes([value.level]), message=value.text[:LONGEST])
        status.values = [KeyValue(key=key, value=text) for key, text in pairs]
        message = DiagnosticArray(status=[status])
        message.header.stamp = time_message(stamp_ns)
        return message

    def encode_bytes(self, value: T, stamp_ns: int) -> bytes:
        """Returns the same as bytes, at once for the value of the last call: a permission is said 50 times a second."""
        written = self._written
        if written is None or written[0] != value:
            self._written = written = value, bytes(serialize_message(self.encode(value, 0)))
        return with_stamp(written[1], stamp_ns)

    def decode(self, message: DiagnosticArray) -> T:
        """Returns the value in a message.

        Raises:
            ForeignMessageError: it is none of Tendon's.
            InvalidDataError: it is of another version or broken; topic, node, key, value and what was expected are
                named.
        """
        if len(message.status) != 1:
            raise ForeignMessageError(f"{self.name}: {len(message.status)} statuses in a message, expected 1")
        (status,) = message.status
        where = f"{self.name}, status {short(status.name)}"
        pairs = {pair.key: pair.value for pair in status.values}
        word, version = pairs.pop("type", None), pairs.pop("version", None)
        if word is None or version is None:
            raise ForeignMessageError(f"{where}: key {'version' if word else 'type'} is missing, it is not Tendon's")
        check_version(where, version)
        if word not in self._kinds:
            raise InvalidDataError(f"{where}: type is {short(word)}, expected one of {', '.join(self._kinds)}")
        if len(pairs) + 2 != len(status.values):
            raise InvalidDataError(f"{where}: a key is there twice")
        if len(pairs) > MAX_PAIRS or any(len(key) > LONGEST_KEY for key in pairs):
            raise InvalidDataError(
                f"{where}: {len(pairs)} keys, expected at most {MAX_PAIRS} of {LONGEST_KEY} characters"
            )
        try:
            return self._read(self._kinds[word], status, pairs)
        except InvalidDataError as error:
            raise InvalidDataError(f"{where}: {error}") from None

    def decode_bytes(self, data: bytes) -> T:
        """Returns the value in the bytes of a message, at once for those of the last few; see `decode`."""
        said = without_stamp(data)
        if (known := self._read_before.get(said)) is not None:
            return known
        try:
            message = deserialize(data, DiagnosticArray)
        except InvalidDataError as error:
            raise InvalidDataError(f"{self.name}: {error}") from error
        self._read_before[said] = value = self.decode(message)
        if len(self._read_before) > REMEMBERED:
            self._read_before.popitem(last=False)
        return value

    def _read(self, kind: type[T], status: DiagnosticStatus, pairs: Mapping[str, str]) -> T:
        given: dict[str, Any] = {}
        if kind.__dataclass_fields__.keys() >= set(HEADER):  # type: ignore[attr-defined]
            if status.level[0] not in Level.__members__.values():
                raise InvalidDataError(f"level is {status.level[0]}, expected 0 to 3")
            if len(status.name) > LONGEST_KEY or len(status.message) > LONGEST:
                raise InvalidDataError(f"message has {len(status.message)} characters, expected at most {LONGEST}")
            given = {"node": status.name, "level": Level(status.level[0]), "text": status.message}
        elif status.name != kind.node:
            raise InvalidDataError(f"it is said by another node, expected {kind.node}")
        return read_pairs(kind, pairs, **given)


PERMISSION = StatusTopic[Permission](topics.PERMISSION, permission=Permission)
STATE = StatusTopic[ControlState | MonitorState | ResponseRequest](
    topics.STATE, control=ControlState, monitor=MonitorState, request=ResponseRequest
)
DIAGNOSTICS = StatusTopic[NodeStatus](
    topics.DIAGNOSTICS,
    node=NodeStatus,
    control=ControlStatus,
    monitor=MonitorStatus,
    policy=PolicyStatus,
    simulation=SimulationStatus,
    mock=MockStatus,
    recorder=RecorderStatus,
)
TASK = StatusTopic[TaskState](topics.TASK, task=TaskState)


def unreadable_request(message: DiagnosticArray) -> str:
    """Returns the name of the node whose message on `safety/state` asks for a response, readable or not; else "".

    It is the beginning of one that is too long to be read.
    """
    asks = (status for status in message.status if any(pair.key == "response" for pair in status.values))
    return next((beginning(str(status.name)) or "?" for status in asks), "")

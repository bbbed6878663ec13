"""What was commanded, and what was proposed, at any time of a recording."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tendon.core.errors import InvalidDataError
from tendon.core.stamps import nanoseconds_of
from tendon.core.types import Array
from tendon.data.reading.observations import require_begin
from tendon.data.reading.recording import McapRecording, decode
from tendon.observation.messages import stamp_ns
from tendon.robots.profile import RobotProfile

TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"


class Commands:
    """Where the commands of each controller let its joints be at a time.

    A command is in force from when its first point is due until that of the next one: what was executed at a time is
    the first point of the command due last.

    Args:
        recording: of a run.
        profile: of its robot.

    Raises:
        InvalidDataError: a command cannot be read, or names joints that the controller does not have.
    """

    def __init__(self, recording: McapRecording, profile: RobotProfile) -> None:
        topics = require_begin(recording).roles.commands
        self._columns: list[list[int]] = []
        self._due: list[list[int]] = []
        self._positions: list[list[Array]] = []
        for controller in profile.controllers:
            topic = topics.get(controller.name, "")
            due, positions = list[int](), list[Array]()
            for sample in recording.samples([topic] if topic in recording.topics else []):
                message: Any = decode(sample)
                if sample.kind == TRAJECTORY:
                    if not message.points:
                        continue
                    point = message.points[0]
                    order = _order(controller.joints, message.joint_names, topic)
                    positions.append(np.asarray(point.positions)[order])
                    after = nanoseconds_of(int(point.time_from_start.sec), int(point.time_from_start.nanosec))
                    due.append(stamp_ns(message) + after)
                else:
                    positions.append(np.asarray(message.data, dtype=np.float64))
                    due.append(sample.publish_ns)
            self._columns.append([profile.joint_names.index(joint) for joint in controller.joints])
            self._due.append(due)
            self._positions.append(positions)
        self._count = len(profile.joint_names)

    @property
    def begin_ns(self) -> int | None:
        """When every controller has had a command; `None` when one never had any."""
        return None if not all(self._due) else max(due[0] for due in self._due)

    @property
    def end_ns(self) -> int | None:
        """When the last command is due; `None` when there was none."""
        return max((due[-1] for due in self._due if due), default=None)

    def between(self, at_ns: npt.NDArray[np.int64]) -> Array:
        """Returns (k, n) where the joints were commanded to be at (k,) times, linear between commands, rad or m."""
        found = np.zeros((len(at_ns), self._count))
        for columns, due, positions in zip(self._columns, self._due, self._positions, strict=True):
            rows = np.array(positions)
            for place, column in enumerate(columns):
                found[:, column] = np.interp(at_ns, due, rows[:, place])
        return found

    def executed(self, at_ns: int) -> Array:
        """Returns (n,) where the joints were commanded to be at a time, rad or m; there must have been commands."""
        found = np.zeros(self._count)
        for columns, due, positions in zip(self._columns, self._due, self._positions, strict=True):
            found[columns] = positions[max(0, bisect_right(due, at_ns) - 1)]
        return found


class Proposals:
    """What the action chunks wanted at a time, linear between their rows: the newest one that covers it.

    Args:
        recording: of a run.
        profile: of its robot.
    """

    def __init__(self, recording: McapRecording, profile: RobotProfile) -> None:
        topics = [topic for topic in require_begin(recording).roles.chunks.values() if topic in recording.topics]
        self._sent: list[int] = []
        self._chunks: list[tuple[list[int], Array]] = []
        for sample in recording.samples(topics):
            message: Any = decode(sample)
            begin = stamp_ns(message)
            order = _order(profile.joint_names, message.joint_names, sample.topic)
            times = [
                begin + nanoseconds_of(int(p.time_from_start.sec), int(p.time_from_start.nanosec))
                for p in message.points
            ]
            if times:
                self._sent.append(begin)
                self._chunks.append((times, np.array([p.positions for p in message.points])[:, order]))

    def at(self, seen_ns: int, at_ns: int) -> Array | None:
        """Returns (n,) what was wanted at a time by what was inferred of observations until another; or `None`."""
        for k in range(bisect_right(self._sent, seen_ns) - 1, -1, -1):
            times, rows = self._chunks[k]
            if times[0] <= at_ns <= times[-1]:
                return np.array([np.interp(at_ns, times, column) for column in rows.T])
            if times[-1] < at_ns and k < bisect_right(self._sent, seen_ns) - 8:
                break
        return None


def _order(wanted: Sequence[str], given: Sequence[str], topic: str) -> list[int]:
    if sorted(wanted) != sorted(given):
        raise InvalidDataError(f"{topic} has joints {', '.join(given)}, must be {', '.join(wanted)}")
    return [list(given).index(name) for name in wanted]

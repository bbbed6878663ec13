"""What was seen on the topics of a graph during a run, as plain arrays: the source of its numbers and pictures.

All times are ROS time [ns]. `stamp` is what a message says of itself, `sent` when it was published.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from tendon.core.modes import Mode
from tendon.core.node_status import NodeStatus
from tendon.core.types import Array
from tendon.demo.story import Approach
from tendon.sim.world_state import WorldState

Times = npt.NDArray[np.int64]
Status = TypeVar("Status", bound=NodeStatus)


class Outcome(Enum):
    """What came of an instruction. SWITCHED: replaced while the arm was on its way, as the story wants it."""

    DONE = "done"
    SWITCHED = "switched"
    NOT_DONE = "not done"

    @property
    def good(self) -> bool:
        """Whether the story went as it should."""
        return self is not Outcome.NOT_DONE


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One instruction that was given.

    Attributes:
        instruction: in words.
        begin_ns: when it was given.
        end_ns: when it was done, replaced or given up.
        outcome: what came of it.
        reason: why it was not done; empty otherwise.
        approach: for an interrupted instruction, how the arm moved when it was replaced.
    """

    instruction: str
    begin_ns: int
    end_ns: int
    outcome: Outcome
    reason: str = ""
    approach: Approach | None = None

    @property
    def duration_s(self) -> float:
        """From the instruction to its end."""
        return (self.end_ns - self.begin_ns) * 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class Stream:
    """When messages of one topic were stamped and sent; both (k,)."""

    stamp_ns: Times
    sent_ns: Times


@dataclass(frozen=True, kw_only=True, eq=False)
class Motion(Stream):
    """Joint vectors of a stream.

    Attributes:
        due_ns: (k,) when each row holds.
        position: (k, n) in the profile's joint order, rad or m.
        velocity: (k, n) rad/s or m/s.
    """

    due_ns: Times
    position: Array
    velocity: Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Recording:
    """One run of the graph.

    Attributes:
        begin_ns: when the robot was armed: time zero of every picture.
        end_ns: when recording ended.
        joint_names: columns of the motions.
        acceleration_limit: (n,) rad/s^2 or m/s^2.
        measured: joint states.
        commanded: first point of every command.
        chunks: action chunks; the stamp is that of their observation.
        cameras: camera name to its frames.
        worlds: every published state of the simulated world, in order of time; `time_ns` is ROS time.
        modes: (time, control node's mode) at each change.
        statuses: what nodes said of themselves, the newest last.
        attempts: the instructions, in order.
    """

    begin_ns: int
    end_ns: int
    joint_names: tuple[str, ...]
    acceleration_limit: Array
    measured: Motion
    commanded: Motion
    chunks: Stream
    cameras: Mapping[str, Stream]
    worlds: tuple[WorldState, ...]
    modes: tuple[tuple[int, Mode], ...]
    statuses: tuple[NodeStatus, ...]
    attempts: tuple[Attempt, ...]

    def mode_at(self, at_ns: int) -> Mode | None:
        """Returns the control node's mode at a time; `None` before the first report."""
        return next((mode for since_ns, mode in reversed(self.modes) if since_ns <= at_ns), None)

    def said(self, kind: type[Status]) -> tuple[Status, ...]:
        """Returns what nodes of a kind said of themselves, the newest last."""
        return tuple(status for status in self.statuses if isinstance(status, kind))

    def attempt_at(self, at_ns: int) -> Attempt | None:
        """Returns the last instruction that had been given at a time."""
        return next((attempt for attempt in reversed(self.attempts) if attempt.begin_ns <= at_ns), None)

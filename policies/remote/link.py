"""What a `RemotePolicy` needs of a server, whatever language it speaks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tendon.core.errors import InstructionError, InvalidDataError
from tendon.core.pace import Pace
from tendon.core.types import Array, Observation, freeze
from tendon.policies.remote.served.keys import LONGEST_PROMPT
from tendon.policies.spec.manifest import CameraInput
from tendon.policies.spec.steering import Steering


@dataclass(frozen=True, kw_only=True, eq=False)
class RemoteAnswer:
    """One answer, in the robot's words.

    Attributes:
        actions: (T, n) in the profile's joint order, rad or m.
        server_ns: how long the server says that it took; `None` when it does not tell.
        clamped_rows: rows moved to the border of the workspace or of the joints' limits on this side.
        held_rows: rows that hold the last reachable one.
    """

    actions: Array
    server_ns: int | None
    clamped_rows: tuple[int, ...] = ()
    held_rows: tuple[int, ...] = ()


class Link(Protocol):
    """A server that was reached and found to fit the robot. One thread.

    Attributes:
        name: of the policy, for messages.
        url: of the server.
        cameras: images it sees, in the size that the robot's cameras give.
        rows: of an answer.
        step_ns: time between them.
        prefix_rows: most frozen rows of a plan that it continues.
        overlap_rows: rows after those that it is led by.
        pace: how long its plans are kept.
        steering: what it is steered by.
    """

    name: str
    url: str
    cameras: tuple[CameraInput, ...]
    rows: int
    step_ns: int
    prefix_rows: int
    overlap_rows: int
    pace: Pace
    steering: Steering

    def check_instruction(self, instruction: str) -> None:
        """Raises InstructionError for an instruction that the policy cannot read, as far as that is known here."""

    def observe(self, observation: Observation) -> None:
        """Takes an observation that is not sent, for a policy that is told its past. Any thread."""

    def ask(self, observation: Observation, given: Array, frozen: int, timeout_s: float) -> RemoteAnswer:
        """Sends an observation once and returns the answer.

        Args:
            observation: checked.
            given: (k, n) rows of the running plan from the answer's first row on.
            frozen: leading rows of it that are not to change.
            timeout_s: longest time for all of it.

        Raises:
            RemoteError: there is no answer.
            InvalidDataError: the answer is malformed, of another size, or not finite.
        """

    def close(self) -> None:
        """Drops the connection."""


def read_rows(answer: Mapping[Any, Any], key: str, shape: tuple[int, int]) -> Array:
    """Returns the rows under a key of a server's answer.

    Raises:
        InvalidDataError: there are none, or they have another shape or are not finite.
    """
    if key not in answer:
        raise InvalidDataError(f"the answer lacks {key}, it has: {', '.join(map(str, answer)) or 'nothing'}"[:500])
    value = answer[key]
    if not isinstance(value, np.ndarray):
        raise InvalidDataError(f"{key} of the answer is {type(value).__name__}, must be an array")
    return freeze(f"{key} of the answer", value, shape)


def check_length(instruction: str) -> None:
    """Raises InstructionError for an instruction that is no sentence any more."""
    if len(instruction) > LONGEST_PROMPT:
        raise InstructionError(f"an instruction has {len(instruction)} characters, at most {LONGEST_PROMPT} are sent")


def server_ns(answer: Mapping[Any, Any]) -> int | None:
    """Returns how long the server says that its inference took; `None` when it says nothing of use."""
    timing = answer.get("server_timing")
    taken = timing.get("infer_ms") if isinstance(timing, Mapping) else None
    return round(1e6 * taken) if isinstance(taken, int | float) and 0 <= taken < 1e9 else None

"""The graded response: every watch says what it found and what that calls for; the most restrictive one counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from tendon.core.causes import Cause
from tendon.core.phrases import beginning
from tendon.robots.safety_settings import SafetySettings, nanoseconds


class Response(IntEnum):
    """What is done about a finding, the most restrictive last."""

    FULL = 0
    SLOW = 1
    HOLD = 2
    STOP = 3

    def speed(self, settings: SafetySettings) -> float:
        """Returns the share of the velocity limits that remains."""
        return {Response.FULL: 1.0, Response.SLOW: settings.slow_share}.get(self, 0.0)

    @property
    def word(self) -> str:
        """Its name for messages and logs."""
        return self.name.lower()


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What a watch found.

    Attributes:
        source: which watch, such as "camera wrist", "command panda_arm_controller" or the node that asks.
        response: what it calls for.
        cause: why, as a code.
        reason: why, for a person; the beginning of a text that is too long to be read, as in a `Reason`.
    """

    source: str
    response: Response
    cause: Cause
    reason: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", beginning(self.source))
        object.__setattr__(self, "reason", beginning(self.reason))


class Watch(Protocol):
    """Something the monitor looks at. Times are of one monotonic clock; called from one thread."""

    def findings(self, now_ns: int) -> Iterable[Finding]:
        """Returns what is wrong now; nothing when all is well."""


NODES = 16
"""Nodes whose requests are told apart, each by the beginning of its name; a graph has one or two that ask."""
OTHERS = "other nodes"


class Requests:
    """What nodes ask for themselves, by the `response` they give on `safety/state`.

    Args:
        settings: how long a request counts.
    """

    def __init__(self, settings: SafetySettings) -> None:
        self._fresh_ns = nanoseconds(settings.request_s)
        self._asked: dict[str, tuple[Finding, int]] = {}

    def ask(self, node: str, response: Response, reason: str, now_ns: int) -> None:
        """Takes a node's wish; one that cannot be read is to be given as a stop: it was meant to restrict."""
        self._asked = {name: kept for name, kept in self._asked.items() if now_ns - kept[1] <= self._fresh_ns}
        node = beginning(node)
        if node not in self._asked and len(self._asked) >= NODES:
            node = OTHERS
            if OTHERS in self._asked:  # theirs is the most restrictive wish of all of them
                response = max(response, self._asked[OTHERS][0].response)
        text = f"{node}: {reason or response.name}"
        finding = Finding(source=node, response=response, cause=Cause.NODE_REQUEST, reason=text)
        self._asked[node] = (finding, now_ns)

    def findings(self, now_ns: int) -> Iterable[Finding]:
        """Returns the wishes that are fresh."""
        return [
            finding
            for finding, asked_ns in self._asked.values()
            if finding.response is not Response.FULL and now_ns - asked_ns <= self._fresh_ns
        ]


class GradedResponse:
    """Restricts at once, and releases when a finding has been absent for a while.

    Args:
        settings: for how long.
    """

    def __init__(self, settings: SafetySettings) -> None:
        self._release_ns = nanoseconds(settings.release_s)
        self._active: dict[tuple[str, Response], tuple[Finding, int]] = {}

    def update(self, findings: Iterable[Finding], now_ns: int) -> Finding | None:
        """Takes what is wrong now; returns the most restrictive finding that counts, `None` when none does."""
        for finding in findings:
            self._active[finding.source, finding.response] = (finding, now_ns)
        self._active = {key: kept for key, kept in self._active.items() if now_ns - kept[1] <= self._release_ns}
        return max((kept[0] for kept in self._active.values()), key=lambda finding: finding.response, default=None)

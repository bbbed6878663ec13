"""What a recording says of its episode: at its begin in the first metadata record, at its end in the second."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from enum import Enum
from typing import Any, TypeVar

from tendon.core.checks import closest
from tendon.core.errors import InvalidDataError

BEGIN, END = "tendon.begin", "tendon.end"
"""Names of the metadata records."""
VERSION = 1
LONGEST_NOTE = 1000
"""Letters of a person's words about an episode that are kept."""

T = TypeVar("T", bound="EpisodeBegin | EpisodeEnd")


class Outcome(Enum):
    """What became of an episode."""

    SUCCESS = "success"
    FAILURE = "failure"
    UNKNOWN = "unknown"
    """Kept, and nobody said which."""
    INCOMPLETE = "incomplete"
    """The recorder or its disk failed: recovered up to the last chunk that was written."""


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Which recorded topic is what, by absolute name: a reader need not guess, whatever the namespace.

    Attributes:
        joint_names: the profile's order.
        joint_states: of the robot.
        cameras: name to topic.
        commands: controller to topic.
        chunks: source, such as policy, to topic of its action chunks.
        others: "instruction", "followed" (the task that the policy follows), "source", "given" (what each
            observation was made of) and "note" (a person's words) to their topics.
    """

    joint_names: tuple[str, ...] = ()
    joint_states: str = ""
    cameras: Mapping[str, str] = field(default_factory=dict)
    commands: Mapping[str, str] = field(default_factory=dict)
    chunks: Mapping[str, str] = field(default_factory=dict)
    others: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class EpisodeBegin:
    """What is known when an episode begins.

    Attributes:
        robot: profile, as it was named.
        started_ns: wall time.
        simulated: stamps and times of the graph are those of `/clock`.
        roles: which topic is what.
        hashes: what was used (profile, policy, residual, calibration, suite) to its SHA-256.
        names: what was used (policy, residual, suite) to how it was called.
        instruction: the task in words.
        operator: who recorded.
        seed: of the simulated scene; empty without one.
        version: of this form.
    """

    robot: str
    started_ns: int
    simulated: bool = False
    roles: Roles = field(default_factory=Roles)
    hashes: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    instruction: str = ""
    operator: str = ""
    seed: str = ""
    version: int = VERSION


@dataclass(frozen=True, kw_only=True)
class EpisodeEnd:
    """What is known when it is over.

    Attributes:
        outcome: success, failure, or unknown.
        dropped: topic to messages that found the queue full.
        lost: topic to messages that never reached the recorder, by the numbers of their publisher.
        notes: what a person said of it.
        problem: why the recording is bad; empty when it is whole.
        ended_ns: wall time.
    """

    outcome: Outcome = Outcome.UNKNOWN
    dropped: Mapping[str, int] = field(default_factory=dict)
    lost: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    problem: str = ""
    ended_ns: int = 0

    @property
    def bad(self) -> bool:
        """Whether messages are missing."""
        return bool(self.dropped or self.lost or self.problem or self.outcome is Outcome.INCOMPLETE)

    def with_outcome(self, outcome: Outcome) -> EpisodeEnd:
        """Returns the same with another outcome."""
        return replace(self, outcome=outcome)


def _maps_to(kind: type) -> Callable[[Any], bool]:
    return lambda given: isinstance(given, dict) and all(type(each) is kind for each in given.values())


FORMS: dict[str, Callable[[Any], bool]] = {
    "str": lambda given: isinstance(given, str),
    "int": lambda given: type(given) is int,
    "bool": lambda given: isinstance(given, bool),
    "tuple[str, ...]": lambda given: isinstance(given, list) and all(isinstance(each, str) for each in given),
    "Mapping[str, str]": _maps_to(str),
    "Mapping[str, int]": _maps_to(int),
}
"""Declared type of a field to whether JSON is of it."""


def to_metadata(value: EpisodeBegin | EpisodeEnd) -> dict[str, str]:
    """Returns a value as MCAP metadata: what is no text is JSON."""
    return {each.name: _to_text(getattr(value, each.name)) for each in fields(value)}


def _to_text(given: Any) -> str:
    if isinstance(given, Outcome):
        return given.value
    if isinstance(given, Roles):
        return json.dumps(asdict(given))
    return given if isinstance(given, str) else json.dumps(given)


def from_metadata(kind: type[T], given: Mapping[str, str]) -> T:
    """Returns the value that metadata hold.

    Raises:
        InvalidDataError: a key is unknown or missing, or its value is of another form.
    """
    known = {each.name: str(each.type) for each in fields(kind)}
    values: dict[str, Any] = {}
    for name, text in given.items():
        if name not in known:
            raise InvalidDataError(f"metadata of the recording: unknown key {name}{closest(name, list(known))}")
        try:
            values[name] = _from_text(known[name], text)
        except (ValueError, TypeError) as error:
            raise InvalidDataError(f"metadata of the recording: {name} is {text[:80]!r}: {error}") from error
    try:
        return kind(**values)
    except TypeError as error:
        raise InvalidDataError(f"metadata of the recording: {error}") from error


def _from_text(declared: str, text: str) -> Any:
    if declared == "str":
        return text
    if declared == "Outcome":
        return Outcome(text)
    value = json.loads(text)
    if declared != "Roles":
        return _of_form(declared, value)
    known = {each.name: str(each.type) for each in fields(Roles)}
    if not isinstance(value, dict) or not value.keys() <= known.keys():
        raise ValueError(f"must have no other keys than {', '.join(known)}")
    return Roles(**{name: _of_form(known[name], each) for name, each in value.items()})


def _of_form(declared: str, value: Any) -> Any:
    if not FORMS[declared](value):
        raise TypeError(f"{json.dumps(value)[:40]} is no {declared}")
    return tuple(value) if isinstance(value, list) else value

"""What was seen of a graph from outside, set against what it needs: per topic, between cameras, and who is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

import numpy as np

from tendon.core.node_status import Level
from tendon.graph import topics
from tendon.graph.expectations import CAMERA, CONTROLLER, ROBOT, Expectation
from tendon.graph.running.state import RunState
from tendon.robots.profile import RobotProfile

RATE_SHARE = 0.8
"""Part of the expected rate below which a topic is slow: a camera may lose one frame in five."""
AHEAD_MS, SIMULATED_AHEAD_MS = 5.0, 60_000.0
"""How far a stamp may be in the future. In simulated time /clock comes late to a process of a busy machine; whoever
stamps by the wall clock there is years ahead."""
STARTS = {
    ROBOT: "start the robot's driver (joint_state_broadcaster of ros2_control)",
    CAMERA: "start the camera's driver, or remap it to this topic",
    CONTROLLER: "start the controller of this name, or give its name in the profile",
}


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One publisher or subscription: its node and quality of service, such as "reliable"."""

    node: str
    qos: str


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What was seen of a topic.

    Attributes:
        types: of it; two that differ do not talk to each other.
        publishers: who sends.
        subscribers: who receives.
        mismatches: subscriptions that hear nothing of a publisher because of their quality of service, and why.
        count: messages that came.
        rate_hz: by their stamps, else by their arrival; `None` with fewer than two.
        ages_ms: of the messages on arrival, by the graph's clock.
        stamps_ns: of the messages.
    """

    types: tuple[str, ...] = ()
    publishers: tuple[Endpoint, ...] = ()
    subscribers: tuple[Endpoint, ...] = ()
    mismatches: tuple[str, ...] = ()
    count: int = 0
    rate_hz: float | None = None
    ages_ms: tuple[float, ...] = ()
    stamps_ns: tuple[int, ...] = ()

    @property
    def age_ms(self) -> float | None:
        """The median age; `None` without stamps."""
        return median(self.ages_ms) if self.ages_ms else None


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Something that is not as it should be.

    Attributes:
        where: topic or node.
        text: what is wrong.
        advice: what to do.
        serious: whether the graph cannot work like this.
    """

    where: str
    text: str
    advice: str = ""
    serious: bool = True


@dataclass(frozen=True, kw_only=True)
class Skew:
    """How far apart frames of two cameras are: median of the nearest ones, and what is allowed [ms]."""

    cameras: tuple[str, str]
    gap_ms: float
    allowed_ms: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Survey:
    """Everything that was seen.

    Attributes:
        profile: of the robot.
        state: what the nodes say.
        expected: of each topic.
        seen: of each topic.
        simulated: whether the graph lives by /clock.
        window_s: for how long it was looked.
    """

    profile: RobotProfile
    state: RunState
    expected: tuple[Expectation, ...]
    seen: Mapping[str, Seen] = field(default_factory=dict)
    simulated: bool = False
    window_s: float = 2.0

    def skews(self) -> list[Skew]:
        """Returns the skew of each camera and the next, of those whose frames came."""
        stamps = {c.name: self.seen[topics.image(c.name)].stamps_ns for c in self.profile.cameras}
        names = [name for name, frames in stamps.items() if frames]
        allowed_ms = 1e3 * self.profile.camera_skew(names)
        return [
            Skew(cameras=(a, b), gap_ms=_gap_ms(stamps[a], stamps[b]), allowed_ms=allowed_ms)
            for a, b in pairwise(names)
        ]

    def problems(self) -> list[Problem]:
        """Returns what is wrong, nodes first."""
        found = list(self._node_problems())
        for expectation in self.expected:
            seen = self.seen[expectation.topic]
            found += [*_wiring_problems(expectation, seen), *self._flow_problems(expectation, seen)]
        for skew in self.skews():
            if skew.gap_ms > skew.allowed_ms:
                text = f"frames are {skew.gap_ms:.1f} ms apart at best, at most {skew.allowed_ms:.1f} ms is used"
                advice = "trigger the cameras together, raise their rates, or set camera_skew_s in the profile"
                found.append(Problem(where=f"cameras {' and '.join(skew.cameras)}", text=text, advice=advice))
        return found

    def _node_problems(self) -> Iterator[Problem]:
        for node in self.state.silent():
            age_s = self.state.age_s.get(node)
            text = "is not heard" if age_s is None else f"has said nothing for {age_s:.0f} s"
            yield Problem(where=node, text=text, advice="it was not started, has ended or hangs: see its log")
        for node, status in self.state.statuses.items():
            if status.level is Level.ERROR:
                yield Problem(where=node, text=status.text)

    def _flow_problems(self, expected: Expectation, seen: Seen) -> Iterator[Problem]:
        topic, wanted_hz, age_ms = expected.topic, expected.rate_hz, seen.age_ms
        if expected.flows and seen.publishers and not seen.count:
            yield Problem(where=topic, text=f"has a publisher, but nothing came in {self.window_s:.0f} s")
        if wanted_hz is not None and seen.rate_hz is not None and seen.rate_hz < RATE_SHARE * wanted_hz:
            text = f"comes {seen.rate_hz:.1f} times a second, the profile says {wanted_hz:g}"
            yield Problem(where=topic, text=text, advice="set it at the driver, or in the profile", serious=False)
        if age_ms is not None and -age_ms > (SIMULATED_AHEAD_MS if self.simulated else AHEAD_MS):
            text = f"is stamped {-age_ms:.0f} ms in the future"
            yield Problem(where=topic, text=text, advice="synchronise the clocks of the machines")
        if age_ms is not None and expected.age_ms is not None and age_ms > expected.age_ms:
            text = f"is {age_ms:.0f} ms old on arrival, at most {expected.age_ms:.0f} ms is used"
            yield Problem(where=topic, text=text, advice="stamp with the time of measurement; synchronise the clocks")


def _wiring_problems(expected: Expectation, seen: Seen) -> Iterator[Problem]:
    topic = expected.topic
    for name in seen.types:
        if name != expected.type:
            yield Problem(where=topic, text=f"its type is {name}", advice=f"publish {expected.type}")
    if expected.sender and not seen.publishers:
        yield Problem(
            where=topic, text=f"nobody publishes it, expected {expected.sender}", advice=STARTS.get(expected.sender, "")
        )
    if expected.receiver and not seen.subscribers:
        start = STARTS.get(expected.receiver, "")
        yield Problem(where=topic, text=f"nobody takes it, expected {expected.receiver}", advice=start)
    if expected.alone and len(seen.publishers) > 1:
        names = " and ".join(endpoint.node for endpoint in seen.publishers)
        yield Problem(where=topic, text=f"has {len(seen.publishers)} publishers: {names}", advice="leave one of them")
    for mismatch in seen.mismatches:
        yield Problem(where=topic, text=mismatch, advice="give the publisher the quality of service that is asked for")


def _gap_ms(first_ns: Sequence[int], second_ns: Sequence[int]) -> float:
    """Returns the median distance of the frames of the camera with fewer to the nearest of the other."""
    few, many = sorted((np.array(first_ns), np.sort(second_ns)), key=len)
    inside = few[(few >= many.min()) & (few <= many.max())] if len(many) else few
    few = inside if len(inside) else few
    return float(np.median(np.abs(few[:, None] - np.asarray(many)[None]).min(axis=1))) / 1e6

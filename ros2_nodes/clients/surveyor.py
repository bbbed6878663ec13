"""Looks at a running graph from outside for a few seconds: who is there, what comes, how often and how old."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseArray
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    QoSCompatibility,
    QoSProfile,
    ReliabilityPolicy,
    qos_check_compatible,
)
from rclpy.subscription import Subscription
from rclpy.topic_endpoint_info import TopicEndpointInfo
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Image, JointState
from std_msgs.msg import Float64MultiArray, Header, String
from trajectory_msgs.msg import JointTrajectory

from tendon.core.errors import ConfigError, InvalidDataError, StoppedError
from tendon.graph import topics
from tendon.graph.domain import domain_id
from tendon.graph.expectations import Expectation, expected_nodes, expected_topics
from tendon.graph.running.state import ALWAYS
from tendon.graph.survey import Endpoint, Seen, Survey
from tendon.robots.profile import RobotProfile, load_profile
from tendon.ros2_nodes.clients.operator import Operator
from tendon.ros2_nodes.wire import read_stamp_ns, time_ns

TYPES = {
    f"{package}/msg/{kind.__name__}": kind
    for package, kinds in (
        ("sensor_msgs", (Image, JointState)),
        ("std_msgs", (Float64MultiArray, Header, String)),
        ("trajectory_msgs", (JointTrajectory,)),
        ("diagnostic_msgs", (DiagnosticArray,)),
        ("geometry_msgs", (PoseArray,)),
    )
    for kind in kinds
}
WINDOW_S = 2.0
SETTLE_S = 1.2
"""Endpoints become known after nodes do, reports come twice a second."""
LOOKS = 3
"""At most: a node that is found late, as on a busy machine, changes what is expected of the topics."""
WATCHED = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=100,
    reliability=ReliabilityPolicy.BEST_EFFORT,
    durability=DurabilityPolicy.VOLATILE,
)
"""It matches any publisher, and none has to wait for somebody who only watches."""


class Surveyor:
    """Surveys a graph with the operator's node.

    Args:
        operator: joined the ROS domain.
    """

    def __init__(self, operator: Operator) -> None:
        self._operator, self._node = operator, operator.node
        self._messages: dict[str, list[tuple[int, int | None]]] = {}
        self._clock: list[tuple[int, int]] = []

    def survey(self, robot: str | None, nodes: Iterable[str] | None) -> Survey:
        """Looks for about `WINDOW_S`, and again if a node was found meanwhile.

        Args:
            robot: the profile; by default what the nodes say.
            nodes: that the graph should have; by default what it has tells.

        Raises:
            StoppedError: there is no graph, and nothing else in the domain of which a graph could be made.
            ConfigError: the profile cannot be loaded here.
        """
        try:
            self._operator.require_graph()
        except StoppedError:
            if robot is None or not self._operator.nodes() - {self._node.get_name()}:
                raise
        self._operator.wait(lambda: self._operator.nodes() >= set(ALWAYS), WINDOW_S)
        self._operator.wait(lambda: False, SETTLE_S)
        name = robot or self._robot()
        try:
            profile = load_profile(name)
        except ConfigError as error:
            if robot is not None:
                raise
            raise ConfigError(f"the graph's robot {name} is not on this machine, give robot:=: {error}") from error
        for _ in range(LOOKS):
            wanted = self._expected_nodes(profile) if nodes is None else tuple(nodes)
            survey = self._look(profile, wanted)
            if nodes is not None or self._expected_nodes(profile) == wanted:
                break
        return survey

    def _expected_nodes(self, profile: RobotProfile) -> tuple[str, ...]:
        return expected_nodes(profile, self._operator.nodes() | self._operator.reports.nodes())

    def _look(self, profile: RobotProfile, wanted: tuple[str, ...]) -> Survey:
        self._messages.clear()
        expected = expected_topics(profile, wanted)
        known = self._types()
        watches = [self._watch(each) for each in expected if each.type in known.get(each.topic, ())]
        simulated = bool(self._node.get_publishers_info_by_topic(self._node.resolve_topic_name(topics.CLOCK)))
        if simulated:
            watches.append(self._watch_clock())
        self._operator.wait(lambda: False, WINDOW_S)
        for watch in watches:
            self._node.destroy_subscription(watch)
        state = self._operator.reports.state(wanted)
        known = self._types()
        seen = {each.topic: self._seen(each, known.get(each.topic, ()), simulated) for each in expected}
        return Survey(
            profile=profile, state=state, expected=expected, seen=seen, simulated=simulated, window_s=WINDOW_S
        )

    def _robot(self) -> str:
        reports = self._operator.reports
        robots = {status.robot for node in reports.nodes() if (status := reports.status(node)) and status.robot}
        if not robots:
            raise StoppedError(f"the nodes in domain {domain_id()} do not say which robot they run: give robot:=")
        return sorted(robots)[0]

    def _types(self) -> Mapping[str, tuple[str, ...]]:
        return {self._relative(name): tuple(types) for name, types in self._node.get_topic_names_and_types()}

    def _relative(self, name: str) -> str:
        prefix = self._node.get_namespace().rstrip("/") + "/"
        return name.removeprefix(prefix)

    def _watch(self, expected: Expectation) -> Subscription:
        heard = partial(self._heard, expected)
        return self._node.create_subscription(TYPES[expected.type], expected.topic, heard, WATCHED, raw=True)

    def _watch_clock(self) -> Subscription:
        return self._node.create_subscription(Clock, topics.CLOCK, self._tick, WATCHED)

    def _heard(self, expected: Expectation, data: bytes) -> None:
        try:
            stamp_ns = read_stamp_ns(data) if expected.stamped else None
        except InvalidDataError:
            stamp_ns = None
        self._messages.setdefault(expected.topic, []).append((time.time_ns(), stamp_ns))

    def _tick(self, message: Clock) -> None:
        self._clock.append((time.time_ns(), time_ns(message.clock)))

    def _seen(self, expected: Expectation, types: tuple[str, ...], simulated: bool) -> Seen:
        name = self._node.resolve_topic_name(expected.topic)
        here = self._node.get_name()
        publishers = [each for each in self._node.get_publishers_info_by_topic(name) if each.node_name != here]
        subscribers = [each for each in self._node.get_subscriptions_info_by_topic(name) if each.node_name != here]
        messages = self._messages.get(expected.topic, [])
        stamps = [stamp for _, stamp in messages if stamp is not None]
        return Seen(
            types=types,
            publishers=tuple(map(_endpoint, publishers)),
            subscribers=tuple(map(_endpoint, subscribers)),
            mismatches=tuple(_mismatches(publishers, subscribers)),
            count=len(messages),
            rate_hz=_rate_hz(sorted(stamps) if len(stamps) == len(messages) else [at for at, _ in messages]),
            ages_ms=tuple(
                (now - stamp) / 1e6 for at, stamp in messages if stamp and (now := self._time(at, simulated))
            ),
            stamps_ns=tuple(stamps),
        )

    def _time(self, wall_ns: int, simulated: bool) -> int | None:
        """Returns the graph's time at a moment; `None` while its clock was not heard."""
        if not simulated:
            return wall_ns
        heard = bisect_right(self._clock, wall_ns, key=lambda pair: pair[0])
        return self._clock[heard - 1][1] if heard else None


def _rate_hz(times_ns: list[int]) -> float | None:
    span_ns = times_ns[-1] - times_ns[0] if len(times_ns) > 1 else 0
    return (len(times_ns) - 1) * 1e9 / span_ns if span_ns else None


def _endpoint(info: TopicEndpointInfo) -> Endpoint:
    quality = info.qos_profile
    words = ["reliable" if quality.reliability is ReliabilityPolicy.RELIABLE else "best effort"]
    if quality.durability is DurabilityPolicy.TRANSIENT_LOCAL:
        words.append("latched")
    return Endpoint(node=info.node_name, qos=", ".join(words))


def _mismatches(publishers: list[TopicEndpointInfo], subscribers: list[TopicEndpointInfo]) -> Iterator[str]:
    for publisher in publishers:
        for subscriber in subscribers:
            result, reason = qos_check_compatible(publisher.qos_profile, subscriber.qos_profile)
            if result == QoSCompatibility.ERROR:  # rclpy makes another object of it
                why = reason.removeprefix("ERROR: ").strip("; ").lower()
                yield f"{subscriber.node_name} hears nothing of {publisher.node_name}: {why}"

"""Asserts that a robot was stopped for a reason, or never, or came to rest."""

from __future__ import annotations

import numpy as np

from tendon.core.causes import Cause
from tendon.core.checks import check_number, closest
from tendon.core.errors import ConfigError
from tendon.ros2_nodes.clients.witness import Sign
from tendon.testing.faults import Fault
from tendon.testing.graph import GraphUnderTest

BOTH_NS = 1_000_000_000
"""Until control node and safety monitor both have said why the robot was stopped."""


def assert_no_stop(graph: GraphUnderTest) -> None:
    """Fails when the robot was stopped since it was armed, but for stops that somebody asked for.

    A hold that ends by itself is no stop.

    Args:
        graph: that was armed.

    Raises:
        AssertionError: it was stopped; the message says when and why.
        ConfigError: it was never armed.
    """
    __tracebackhide__ = True
    found = [stop for stop in graph.witness.stops(_armed_ns(graph)) if stop.cause is not Cause.REQUESTED]
    if found:
        raise AssertionError(f"the robot was stopped for nothing: {_told(graph, found)}")


def assert_stop(graph: GraphUnderTest, cause: Cause | str, within_s: float, after: Fault | None = None) -> float:
    """Waits until the robot is stopped for a cause, and fails when it is not in time, or for another one.

    Args:
        graph: that was armed.
        cause: one of `tendon.core.causes.Cause`, or its value, such as "heartbeat".
        within_s: of the graph's time.
        after: counts from there; `None` from when the robot was armed.

    Returns:
        After how many seconds of the graph's time it was stopped.

    Raises:
        AssertionError: no such stop came; the message says which ones did.
        ConfigError: there is no such cause, or the robot was never armed.
        GraphError: the graph ended.
    """
    __tracebackhide__ = True
    wanted = _cause(cause)
    check_number("within_s", within_s, above=0)
    began_ns = _armed_ns(graph) if after is None else after.at_ns
    deadline_ns = began_ns + round(within_s * 1e9)

    def found() -> list[Sign]:
        return [stop for stop in graph.witness.stops(began_ns) if stop.at_ns <= deadline_ns and stop.cause is wanted]

    def settled() -> bool:
        """Whether both who speak of stops have spoken of another one."""
        others = graph.witness.stops(began_ns)
        return bool(others) and graph.now_ns() > others[0].at_ns + BOTH_NS

    graph.wait_until(lambda: bool(found()) or settled() or graph.now_ns() > deadline_ns, deadline_ns)
    if not found():
        told = _told(graph, graph.witness.stops(began_ns)) or "none came"
        since = "arming" if after is None else after.name
        raise AssertionError(f"no stop for {wanted.value} within {within_s:g} s of {since}: {told}")
    return (found()[0].at_ns - began_ns) * 1e-9


def assert_rest(graph: GraphUnderTest, within_s: float, after: Fault) -> None:
    """Waits until the robot is at rest, and fails when it is not in time.

    A robot whose policy has died comes to rest before anybody says that it was stopped.

    Args:
        graph: that was armed.
        within_s: of the graph's time.
        after: counts from there.

    Raises:
        AssertionError: it moves; the message says how fast.
        GraphError: the graph ended.
    """
    __tracebackhide__ = True
    check_number("within_s", within_s, above=0)
    deadline_ns = after.at_ns + round(within_s * 1e9)
    graph.wait_until(lambda: graph.at_rest() or graph.now_ns() > deadline_ns, deadline_ns)
    if not graph.at_rest():
        velocity = graph.witness.measured[-1][2]
        joint = int(np.abs(velocity).argmax())
        fastest = f"{graph.profile.joint_names[joint]} at {velocity[joint]:.3f} a second"
        raise AssertionError(f"the robot is not at rest within {within_s:g} s of {after.name}: {fastest}")


def _cause(cause: Cause | str) -> Cause:
    known = [each.value for each in Cause]
    if isinstance(cause, Cause):
        return cause
    if cause not in known:
        raise ConfigError(f"cause is {cause!r}{closest(cause, known)}")
    return Cause(cause)


def _armed_ns(graph: GraphUnderTest) -> int:
    if graph.armed_ns is None:
        raise ConfigError("the robot was never armed: call graph.arm() first")
    return graph.armed_ns


def _told(graph: GraphUnderTest, stops: list[Sign]) -> str:
    """Returns stops in words, each with its cause."""
    began_ns = _armed_ns(graph)
    lines = [
        f"{stop.cause.value} after {(stop.at_ns - began_ns) * 1e-9:.2f} s, says {stop.node}: {stop.why}"
        for stop in stops
        if stop.cause is not None
    ]
    return "; ".join(lines)

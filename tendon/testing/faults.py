"""Faults of a running graph, each there for as long as its `with` block: what Tendon's own fault bench does to it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tendon.core.checks import closest
from tendon.core.errors import ConfigError
from tendon.graph.running.state import STAND_INS
from tendon.ros2_nodes.clients.frozen_cameras import FrozenCameras
from tendon.testing.graph import GraphUnderTest

SIMULATOR = "sim_node"
SETTLE_S = 0.3
"""Until a joint that was freed is where its controller wants it. It snaps there: that is no motion of the robot's."""
REST_S = 5.0
"""Wall time for a robot that was stopped to be at rest."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault that is there.

    Attributes:
        name: what was done.
        at_ns: when, in the graph's time.
    """

    name: str
    at_ns: int


@contextmanager
def kill(graph: GraphUnderTest, node: str) -> Iterator[Fault]:
    """Kills a node's process (-9); at the end of the block it has been started again and is heard.

    Args:
        graph: to hurt. The simulator, which is the robot, cannot be killed: it would be another one.
        node: its name, such as "policy_node". `tendon run` restarts each three times a minute.

    Raises:
        ConfigError: the graph has no such node, or it is the robot.
        GraphError: it did not come back.
    """
    _require(graph, node)
    old = graph.process.pid(node)
    yield _signalled(graph, node, signal.SIGKILL, "killed")
    graph.wait(lambda: graph.process.pid(node) not in (None, old), f"{node} is started again")
    restarted = len(graph.witness.statuses)
    graph.wait(lambda: any(s.node == node for _, s in graph.witness.statuses[restarted:]), f"{node} is heard again")


@contextmanager
def pause(graph: GraphUnderTest, node: str) -> Iterator[Fault]:
    """Freezes a node's process (-STOP), as a node that hangs; it goes on at the end of the block.

    Args:
        graph: to hurt.
        node: its name, such as "camera_node".

    Raises:
        ConfigError: the graph has no such node, or it is the robot.
        GraphError: its process does not run.
    """
    _require(graph, node)
    pid = graph.process.pid(node)
    try:
        yield _signalled(graph, node, signal.SIGSTOP, "paused")
    finally:
        if pid is not None and graph.process.pid(node) == pid:
            os.kill(pid, signal.SIGCONT)


@contextmanager
def jam(graph: GraphUnderTest, joint: str) -> Iterator[Fault]:
    """Holds a joint of the simulated robot where it is, whatever is commanded; it is freed at the end of the block.

    Args:
        graph: to hurt, with `backend="sim"`.
        joint: its name in the profile.

    Raises:
        ConfigError: there is no such joint, or the robot is not simulated.
        StoppedError: the simulator does not answer.
    """
    if SIMULATOR not in graph.nodes:
        raise ConfigError(f"a joint is jammed in simulation only: backend is {graph.arguments['backend']!r}, take sim")
    if joint not in graph.profile.joint_names:
        raise ConfigError(f"{graph.profile.name} has no joint {joint!r}{closest(joint, graph.profile.joint_names)}")
    at_ns = graph.now_ns()
    graph.operator.set_parameter(SIMULATOR, "jammed", joint)
    try:
        yield Fault(name=f"{joint} jammed", at_ns=at_ns)
    finally:
        if graph.stopped():  # what is still commanded comes back to where the joint is
            graph.operator.wait(graph.at_rest, REST_S)
        freed_ns = graph.now_ns()
        graph.operator.set_parameter(SIMULATOR, "jammed", "")
        graph.run_for(SETTLE_S)
        graph.witness.forget_measured(freed_ns, graph.now_ns())


@contextmanager
def freeze_cameras(graph: GraphUnderTest) -> Iterator[Fault]:
    """Has every camera send its last picture again and again, with new stamps, until the end of the block.

    Args:
        graph: to hurt; its robot has a camera, and its policy looks at it.

    Raises:
        ConfigError: the robot has no camera.
        GraphError: no picture came of one.
    """
    node = next((STAND_INS[name] for name in graph.nodes if name in STAND_INS), "")
    if node not in graph.nodes:
        raise ConfigError(f"{graph.profile.name} has no camera in this graph: nothing to freeze")
    cameras = FrozenCameras(graph.operator, graph.profile)
    graph.wait(cameras.ready, "a picture of each camera")
    with pause(graph, node) as paused:
        cameras.begin()
        try:
            yield Fault(name="cameras frozen", at_ns=paused.at_ns)
        finally:
            cameras.end()


def _require(graph: GraphUnderTest, node: str) -> None:
    if node not in graph.nodes:
        raise ConfigError(f"the graph has no node {node!r}{closest(node, graph.nodes)}")
    if node in STAND_INS:
        raise ConfigError(f"{node} is the robot, and its time: kill or pause another node")


def _signalled(graph: GraphUnderTest, node: str, number: signal.Signals, done: str) -> Fault:
    at_ns = graph.now_ns()
    graph.process.signal(node, number)
    return Fault(name=f"{node} {done}", at_ns=at_ns)

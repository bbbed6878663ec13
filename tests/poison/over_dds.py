"""Sends a running graph any messages at all from another process, over DDS, to all that its nodes subscribe."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil
from rclpy.node import Node
from rclpy.publisher import Publisher
from std_msgs.msg import String

from tendon.core.modes import PermissionState
from tendon.core.node_status import ControlStatus
from tendon.graph import topics
from tendon.graph.parameters import EVERY
from tendon.ros2_nodes.base import qos
from tests.poison import messages
from tests.poison.mutation import Mutator
from tests.ros2_nodes.running_graph import PATIENCE_S, RunningGraph
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle

GRAPHS: dict[str, tuple[str, ...]] = {
    "mock, no policy": ("backend:=mock", "policy:=none", "clock:=realtime"),
    "simulator, a policy": ("clock:=realtime", "instruction:=left"),
}
PERIOD_S = 0.002
"""Between two messages: 500 a second, of which each is for another topic."""
BEFORE_S = 10.0
"""How long the graph is looked at before."""
CORPUS = 500
"""Messages that are made for each topic."""


@dataclass(kw_only=True)
class Found:
    """What they did to a graph.

    Attributes:
        messages: that were sent.
        topics: to how many topics.
        died: nodes whose process ended.
        late_before_ms: 99th percentile of how late the control tick was before, in the last 5 s.
        late_ms: the largest such meanwhile.
        missed_before: control ticks missed in `BEFORE_S` before.
        missed: meanwhile.
        grown_mib: node to memory that its process has more at the end than after the first third of the time.
        moves: whether the robot moves afterwards, after a reset and an arm.
    """

    messages: int = 0
    topics: int = 0
    died: list[str] = field(default_factory=list)
    late_before_ms: float = 0.0
    late_ms: float = 0.0
    missed_before: int = 0
    missed: int = 0
    grown_mib: dict[str, float] = field(default_factory=dict)
    moves: bool = False


def poison(name: str, folder: Path, seconds: float, seed: int) -> Found:
    """Starts a graph, sends it poison for a while, and looks whether it goes on.

    Args:
        name: of `GRAPHS`.
        folder: for log and bundle.
        seconds: how long.
        seed: of the messages.
    """
    arguments = GRAPHS[name]
    if "policy:=none" not in arguments:
        arguments = (*arguments, f"policy:={write_tiny_bundle(folder / 'tiny')}")
    graph = RunningGraph(folder / "log", *arguments)
    try:
        graph.ready()
        return _poison(graph, seconds, seed, sends="policy:=none" in arguments)
    finally:
        graph.end()


def subscribed(graph: RunningGraph) -> dict[str, str]:
    """Returns what the nodes of a graph are subscribed to: topic to type, as the middleware knows it."""
    node = graph.operator.node
    found: dict[str, str] = {}
    for name, namespace in node.get_node_names_and_namespaces():
        if name in EVERY and namespace == node.get_namespace():
            for topic, (kind, *_) in node.get_subscriber_names_and_types_by_node(name, namespace):
                found[topic.removeprefix(namespace.rstrip("/") + "/")] = kind
    return found


def _poison(graph: RunningGraph, seconds: float, seed: int, sends: bool) -> Found:
    nodes = {name: pid for name in EVERY if (pid := graph.pid(name)) is not None}
    if sends:
        graph.set_in_motion()
    else:
        graph.arm()
    found = Found()
    overruns = _control(graph).overruns
    time.sleep(BEFORE_S)
    found.missed_before, found.late_before_ms = _control(graph).overruns - overruns, _late_ms(graph)
    overruns = _control(graph).overruns
    publishers = _publishers(graph, seed)
    found.topics = len(publishers)
    begin_s, memory = time.monotonic(), {}
    mutator = Mutator(seed)
    while (passed_s := time.monotonic() - begin_s) < seconds:
        for publisher, corpus in publishers:
            data = corpus[found.messages % len(corpus)]
            data = mutator.restamped(data, graph.now_ns()) if found.messages % 3 else mutator.bytes(data)
            publisher.publish(data)
            found.messages += 1
            time.sleep(PERIOD_S)
        if not memory and passed_s > seconds / 3:
            memory = {name: _memory_mib(pid) for name, pid in nodes.items()}
        found.late_ms = max(found.late_ms, _late_ms(graph))
    found.missed = _control(graph).overruns - overruns
    found.died = [name for name, pid in nodes.items() if graph.pid(name) != pid]
    found.grown_mib = {name: _memory_mib(pid) - memory[name] for name, pid in nodes.items() if name not in found.died}
    _remove(graph, [publisher for publisher, _ in publishers])
    found.moves = _moves(graph, sends)
    return found


def _publishers(graph: RunningGraph, seed: int) -> list[tuple[Publisher, list[bytes]]]:
    made = []
    node: Node = graph.operator.node
    for k, (topic, kind) in enumerate(sorted(subscribed(graph).items())):
        package, _, name = kind.split("/")
        makers = messages.makers(topic, graph.profile, graph.now_ns())
        assert makers, f"{topic}: add to tests/poison/messages.py"
        publisher = node.create_publisher(getattr(import_module(f"{package}.msg"), name), topic, qos.NEWEST)
        made.append((publisher, Mutator(seed + k).corpus(makers, CORPUS, graph.now_ns())))
    return made


def _remove(graph: RunningGraph, publishers: list[Publisher]) -> None:
    """Destroys publishers in the thread that waits for the node's entities: rclpy has no lock for that."""
    node = graph.operator.node

    def remove() -> None:
        for publisher in publishers:
            node.destroy_publisher(publisher)

    graph.wait(node.executor.create_task(remove).done, "the publishers of poison to be gone")


def _moves(graph: RunningGraph, sends: bool) -> bool:
    """Has the policy lead again, resets and arms until the robot moves, or patience ends."""
    graph.operator.node.create_publisher(String, topics.CONTROL_SOURCE, qos.LATCHED).publish(String(data="policy"))
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if graph.state() is PermissionState.LATCHED or not graph.moving():
            graph.hold_still()
            graph.arm()
            if sends:
                graph.wave()
            else:
                graph.operator.say("left" if int(time.monotonic()) % 8 < 4 else "right")
        if graph.operator.wait(graph.moving if sends else lambda: _creeps(graph), 4.0):
            return True
    return False


def _creeps(graph: RunningGraph) -> bool:
    return bool(graph.states) and bool(abs(graph.states[-1][2]).max() > 0.02)


def _control(graph: RunningGraph) -> ControlStatus:
    status: Any = graph.operator.reports.newest(ControlStatus)
    return status if status is not None else ControlStatus(node="", level=0, text="", overruns=0, tracking={})  # type: ignore[arg-type]


def _late_ms(graph: RunningGraph) -> float:
    meter = _control(graph).meters.get("tick")
    return 0.0 if meter is None or meter.latency is None else meter.latency.p99_ms


def _memory_mib(pid: int) -> float:
    return float(psutil.Process(pid).memory_info().rss) / 2**20

"""Nodes that should not be there: a camera, a robot, a clock or a controller that is not the real one."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
import weakref
from collections.abc import Callable

from rclpy.publisher import Publisher
from rclpy.subscription import Subscription
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Image
from trajectory_msgs.msg import JointTrajectory

from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.clients.frozen_cameras import FrozenCameras
from tests.faults import chunks
from tests.faults.bench import Bench
from tests.ros2_nodes.running_graph import PATIENCE_S, PROFILE, RunningGraph

STATE_S = 0.01
SETTLE_S = 1.0
"""How long a new publisher is given to be discovered before the fault begins."""

ARM_TOPIC = "panda_arm_controller/joint_trajectory"

_running: dict[str, threading.Event] = {}


def _repeat(name: str, period_s: float, act: Callable[[], None]) -> None:
    _running[name] = going = threading.Event()
    going.set()

    def work() -> None:
        while going.is_set():
            with contextlib.suppress(Exception):  # the graph may have ended under it
                act()
            time.sleep(period_s)

    threading.Thread(target=work, daemon=True).start()


class Extras:
    """What impostors of a graph need, made once a graph, before any fault."""

    def __init__(self, bench: Bench) -> None:
        self.cameras: FrozenCameras | None = None
        if bench.graph.pid("policy_node") is not None:
            self.cameras = FrozenCameras(bench.graph.operator, PROFILE)
        time.sleep(SETTLE_S)


_extras: weakref.WeakKeyDictionary[RunningGraph, Extras] = weakref.WeakKeyDictionary()


def extras(bench: Bench) -> Extras:
    """Returns the extras of the graph that runs."""
    if bench.graph not in _extras:
        _extras[bench.graph] = Extras(bench)
    return _extras[bench.graph]


def set_simulator(bench: Bench, name: str, value: str | bool) -> None:
    """Sets a parameter of the simulator, a text or a switch."""
    bench.graph.operator.set_parameter("sim_node", name, value, PATIENCE_S)


def start_camera(kind: str) -> Callable[[Bench], None]:
    """Returns what replaces the cameras by one that keeps sending, at the same rate, but nothing new."""

    def start(bench: Bench) -> None:
        cameras = _cameras(bench)
        bench.graph.wait(cameras.ready, "a frame of each camera")
        bench.signal("camera_node", signal.SIGSTOP)
        change = _blacken if kind == "black" else _keep
        cameras.begin(change, bench.graph.now_ns() if kind == "of one stamp" else None)

    return start


def stop_camera(bench: Bench) -> None:
    """Brings the real cameras back."""
    _cameras(bench).end()
    bench.signal("camera_node", signal.SIGCONT)


def _cameras(bench: Bench) -> FrozenCameras:
    cameras = extras(bench).cameras
    if cameras is None:
        raise LookupError("a graph without a policy node looks at no camera")
    return cameras


def _keep(_frame: Image) -> None:
    """Changes nothing."""


def _blacken(frame: Image) -> None:
    frame.data = bytes(len(frame.data))


def start_clock(bench: Bench) -> None:
    """Publishes a `/clock` that jumps, and chunks of a machine whose clock is an hour off."""
    clock = bench.graph.operator.node.create_publisher(Clock, "clock", qos.NEWEST)  # not before: two are a fault
    _clocks.append(clock)
    _repeat("clock", STATE_S, lambda: clock.publish(Clock(clock=wire.time_message(_any_time_ns(bench)))))
    chunks.start_sending(bench, lambda: chunks.of_another_clock(bench), 0.05)


def _any_time_ns(bench: Bench) -> int:
    return bench.random.choice((0, bench.graph.now_ns() - chunks.HOUR_NS, bench.graph.now_ns() + chunks.HOUR_NS))


def stop_clock(bench: Bench) -> None:
    """Ends `start_clock`."""
    _running["clock"].clear()
    chunks.stop_sending(bench)
    _remove(bench, _clocks.pop())


def start_rival(bench: Bench) -> None:
    """A second publisher of arm commands repeats what the first one sends: harmless in content, but a second master."""
    node = bench.graph.operator.node
    rival = node.create_publisher(JointTrajectory, ARM_TOPIC, qos.NEWEST)
    own: set[bytes] = set()

    def repeat(message: JointTrajectory) -> None:
        key = bytes(memoryview(message.points[-1].positions)) + str(message.header.stamp).encode()
        if key not in own:
            own.add(key)
            rival.publish(message)

    listener = node.create_subscription(JointTrajectory, ARM_TOPIC, repeat, qos.STREAM)
    _rivals.append((rival, listener))


_rivals: list[tuple[Publisher, Subscription]] = []
_clocks: list[Publisher] = []


def stop_rival(bench: Bench) -> None:
    """Removes it."""
    _remove(bench, *_rivals.pop())


def _remove(bench: Bench, *entities: Publisher | Subscription) -> None:
    """Destroys publishers and subscriptions in the thread that waits for them: rclpy has no lock for that."""
    node = bench.graph.operator.node

    def remove() -> None:
        for entity in entities:
            destroy = node.destroy_publisher if isinstance(entity, Publisher) else node.destroy_subscription
            destroy(entity)

    bench.graph.wait(node.executor.create_task(remove).done, "what should not be there to be gone")

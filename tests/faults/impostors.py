"""Nodes that should not be there: a camera, a robot, a clock or a controller that is not the real one."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
import weakref
from collections.abc import Callable

from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.publisher import Publisher
from rclpy.subscription import Subscription
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Image
from trajectory_msgs.msg import JointTrajectory

from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tests.faults import chunks
from tests.faults.bench import Bench
from tests.faults.witness import PROFILE
from tests.ros2_nodes.running_graph import RunningGraph

FRAME_S, STATE_S = 0.05, 0.01
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
    """Publishers and last messages of a graph that impostors need, made once a graph, before any fault."""

    def __init__(self, bench: Bench) -> None:
        node = bench.graph.operator.node
        self.frames: dict[str, Image] = {}
        self.images = {}
        if bench.graph.pid("policy_node") is not None:
            for camera in PROFILE.cameras:
                topic = f"camera/{camera.name}/image_raw"
                self.images[camera.name] = node.create_publisher(Image, topic, qos.NEWEST)
                node.create_subscription(
                    Image, topic, lambda frame, name=camera.name: self.frames.setdefault(name, frame), qos.STREAM
                )
        client = node.create_client(SetParametersAtomically, "sim_node/set_parameters_atomically")
        self.simulator = client
        bench.graph.wait(client.service_is_ready, "the simulator's parameters")
        time.sleep(SETTLE_S)


_extras: weakref.WeakKeyDictionary[RunningGraph, Extras] = weakref.WeakKeyDictionary()


def extras(bench: Bench) -> Extras:
    """Returns the extras of the graph that runs."""
    if bench.graph not in _extras:
        _extras[bench.graph] = Extras(bench)
    return _extras[bench.graph]


def set_simulator(bench: Bench, name: str, value: str | bool) -> None:
    """Sets a parameter of the simulator, a text or a switch."""
    if isinstance(value, bool):
        text = ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=value)
    else:
        text = ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=value)
    request = SetParametersAtomically.Request(parameters=[Parameter(name=name, value=text)])
    future = extras(bench).simulator.call_async(request)
    bench.graph.wait(future.done, f"{name} to be set")
    if not future.result().result.successful:
        raise LookupError(f"{name} was not set: {future.result().result.reason}")


def start_camera(kind: str) -> Callable[[Bench], None]:
    """Returns what replaces the cameras by one that keeps sending, at the same rate, but nothing new."""

    def start(bench: Bench) -> None:
        more = extras(bench)
        bench.graph.wait(lambda: len(more.frames) == len(PROFILE.cameras), "a frame of each camera")
        frames = dict(more.frames)
        bench.signal("camera_node", signal.SIGSTOP)
        if kind == "black":
            for name, frame in frames.items():
                frames[name] = Image(
                    header=frame.header,
                    height=frame.height,
                    width=frame.width,
                    encoding=frame.encoding,
                    step=frame.step,
                    data=bytes(len(frame.data)),
                )

        stamp = wire.time_message(bench.graph.now_ns())

        def send() -> None:
            for name, frame in frames.items():
                frame.header.stamp = stamp if kind == "of one stamp" else wire.time_message(bench.graph.now_ns())
                more.images[name].publish(frame)

        _repeat("camera", FRAME_S, send)

    return start


def stop_camera(bench: Bench) -> None:
    """Brings the real cameras back."""
    _running["camera"].clear()
    extras(bench).frames.clear()
    bench.signal("camera_node", signal.SIGCONT)


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

"""Policies that misbehave: chunks that are late, wild, invalid, old, or of another clock."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory

from tendon.core.types import ActionChunk
from tendon.ros2_nodes import wire
from tests.faults.bench import Bench
from tests.ros2_nodes.running_graph import PROFILE

HOUR_NS = 3_600_000_000_000
SEND_S = 0.1
Source = Callable[[], "ActionChunk | JointTrajectory"]

_sending: dict[int, threading.Event] = {}


def start_sending(bench: Bench, source: Source, period_s: float = SEND_S) -> None:
    """Publishes what a source gives, every period, until `stop_sending`; the first at once."""
    _sending[id(bench)] = going = threading.Event()
    going.set()

    def publish() -> None:
        made = source()
        message = made if isinstance(made, JointTrajectory) else wire.chunk_bytes(made, PROFILE.joint_names)
        bench.graph.chunks.publish(message)

    def send() -> None:
        while going.is_set():
            with contextlib.suppress(ValueError):
                publish()
            time.sleep(period_s)

    threading.Thread(target=send, daemon=True).start()


def stop_sending(bench: Bench) -> None:
    """Ends `start_sending`."""
    _sending[id(bench)].clear()


def start_invalid(bench: Bench) -> None:
    """The policy goes mad: from now on every chunk is invalid, each in another way."""
    bench.hold_still()
    start_sending(bench, lambda: _invalid(bench))


def stop_invalid(bench: Bench) -> None:
    """The policy recovers: a valid chunk comes, without which a reset is refused."""
    stop_sending(bench)
    time.sleep(2 * SEND_S)
    bench.graph.chunks.publish(wire.chunk_bytes(bench.chunk(bench.graph.now_ns()), PROFILE.joint_names))


def start_wild(bench: Bench) -> None:
    """From now on every chunk is valid in form and random in content, far beyond every limit."""
    bench.hold_still()
    start_sending(bench, lambda: _wild(bench))


def start_replaying(bench: Bench) -> None:
    """Sends older and equal chunks between the true ones."""
    stamps = [bench.graph.now_ns() - round(1e9 * bench.random.random()) for _ in range(8)]
    start_sending(bench, lambda: bench.chunk(bench.random.choice(stamps)), 0.03)


def of_another_clock(bench: Bench) -> ActionChunk:
    """Returns the true chunk as a machine would stamp it whose clock is an hour off."""
    shift_ns = bench.random.choice((-HOUR_NS, HOUR_NS))
    chunk = bench.chunk(bench.graph.now_ns())
    return replace(
        chunk, start_ns=chunk.start_ns + shift_ns, observation_stamp_ns=chunk.observation_stamp_ns + shift_ns
    )


def _wild(bench: Bench) -> ActionChunk:
    chunk = bench.chunk(bench.graph.now_ns())
    generator = np.random.default_rng(bench.random.randrange(2**32))
    lower, upper = PROFILE.vector("lower"), PROFILE.vector("upper")
    kind = bench.random.choice(("bang-bang", "noise", "far outside", "huge"))
    shape = np.shape(chunk.actions)
    rows = {
        "bang-bang": lambda: np.where(generator.random(shape) < 0.5, lower, upper),
        "noise": lambda: chunk.actions + generator.normal(0, 1.0, shape),
        "far outside": lambda: upper + 5.0 + np.zeros(shape),
        "huge": lambda: generator.choice([-1e12, 1e12], shape),
    }[kind]()
    return replace(chunk, actions=rows)


def _invalid(bench: Bench) -> JointTrajectory:
    true = wire.chunk_bytes(bench.chunk(bench.graph.now_ns()), PROFILE.joint_names)
    message: JointTrajectory = deserialize_message(true, JointTrajectory)
    row = bench.random.randrange(len(message.points))
    column = bench.random.randrange(len(PROFILE.joint_names))
    kind = bench.random.choice(("nan", "inf", "-inf", "short", "long", "name", "missing", "twice", "uneven", "empty"))
    point = message.points[row]
    if kind in ("nan", "inf", "-inf"):
        point.positions[column] = float(kind)
    elif kind == "short":
        point.positions = point.positions[:-1]
    elif kind == "long":
        point.positions.append(0.0)
    elif kind == "name":
        message.joint_names[column] = "panda_joint9"
    elif kind == "missing":
        message.joint_names = message.joint_names[:-1]
    elif kind == "twice":
        message.joint_names[column] = message.joint_names[column - 1]
    elif kind == "uneven":
        message.points[-1].time_from_start.nanosec += 1_000_000
    else:
        message.points = []
    return message

"""Our graph, of `end_to_end.py`: real processes on ROS 2, for which this one plays the cameras."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from networks.random_policies import RATE_HZ, bundle_of
from peers.common import FRAMES, WARM_UP_S, Found, frames

from tendon.graph.domain import free_domain
from tendon.robots.profile import load_profile

START_S = 60.0
DRIVER_PRIORITY = 1
"""Of the processes that stand for the arm and the cameras: drivers of real ones are not held up by what runs here."""


def ours(seconds: float, folder: Path, engine: str) -> Found:
    """Runs our graph with cameras and an arm that this script plays."""
    os.environ |= {"ROS_DOMAIN_ID": str(free_domain()), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    _, bundle, profile = bundle_of("act", folder)
    settings = [f"robot:={profile}", "backend:=hardware", f"policy:={bundle}", f"engine:={engine}", "instruction:=go"]
    with tempfile.TemporaryDirectory() as state:
        environment = {**os.environ, "TENDON_STATE": state}
        commands = [
            [sys.executable, "-m", "tendon.ros2_nodes.mock_node", "--ros-args", "-p", f"robot:={profile}"],
            [sys.executable, "-m", "tendon.cli", "run", *settings],
        ]
        log = folder / "ours.log"
        with log.open("w") as output:
            children = [
                subprocess.Popen(each, env=environment, stdout=output, stderr=output, preexec_fn=prepared)
                for each, prepared in zip(commands, (as_driver, None), strict=True)
            ]
        try:
            return watch(profile, seconds, log)
        finally:
            for child in children[::-1]:
                child.send_signal(signal.SIGINT)
                child.wait(30.0)


def as_driver() -> None:
    """Lets the process go before those that are not urgent, where that is allowed."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(DRIVER_PRIORITY))


def watch(profile_file: Path, seconds: float, log: Path) -> Found:
    """Publishes images, arms when the policy is ready, and listens to chunks, commands and diagnostics."""
    from tendon.ros2_nodes.base.runtime import prepare_process

    as_driver()
    prepare_process(images=True)
    import rclpy
    from diagnostic_msgs.msg import DiagnosticArray
    from rclpy.experimental import EventsExecutor
    from sensor_msgs.msg import Image as ImageMessage
    from std_srvs.srv import Trigger
    from trajectory_msgs.msg import JointTrajectory

    from tendon.core.node_status import Level, MonitorStatus, PolicyStatus
    from tendon.core.types import Image
    from tendon.ros2_nodes import wire
    from tendon.ros2_nodes.base import qos

    profile, shown = load_profile(profile_file), frames()
    rclpy.init()
    node = rclpy.create_node("cameras")
    images = {name: node.create_publisher(ImageMessage, f"camera/{name}/image_raw", qos.NEWEST) for name in shown[0]}
    whole, network, arrivals = [], [], []
    count, start_s, asked_s = 0, float("inf"), 0.0
    arm = node.create_client(Trigger, "safety/arm")

    def expose() -> None:
        nonlocal count
        stamp_ns = time.time_ns()
        for name, publisher in images.items():
            image = Image(stamp_ns=stamp_ns, pixels=shown[count % FRAMES][name])
            publisher.publish(wire.image_message(image, profile.camera(name).frame))
        count += 1

    def take(data: bytes) -> None:
        now_ns = time.time_ns()
        if time.monotonic() > start_s:
            whole.append((now_ns - wire.read_stamp_ns(data)) / 1e6)

    def command(_: bytes) -> None:
        if time.monotonic() > start_s:
            arrivals.append(time.perf_counter_ns() / 1e6)

    def hear(message: DiagnosticArray) -> None:
        nonlocal start_s, asked_s
        status = wire.DIAGNOSTICS.decode(message)
        if isinstance(status, MonitorStatus) and status.level is Level.ERROR:
            raise SystemExit(f"our graph stopped: {status.text}")
        if not isinstance(status, PolicyStatus):
            return
        if status.level is Level.OK and status.model_ms is None and time.monotonic() > asked_s + 1.0:
            asked_s = time.monotonic()
            arm.call_async(Trigger.Request())
        if status.model_ms is not None:
            start_s = min(start_s, time.monotonic() + WARM_UP_S)
            if time.monotonic() > start_s:
                network.append(status.model_ms)

    node.create_timer(1.0 / RATE_HZ, expose)
    node.create_subscription(JointTrajectory, "policy/action_chunk", take, qos.NEWEST, raw=True)
    commands = f"{profile.controllers[0].name}/joint_trajectory"
    node.create_subscription(JointTrajectory, commands, command, qos.EACH, raw=True)
    node.create_subscription(DiagnosticArray, wire.DIAGNOSTICS.name, hear, qos.EACH)
    executor = EventsExecutor()
    executor.add_node(node)
    deadline_s = time.monotonic() + START_S
    while time.monotonic() < min(start_s, deadline_s) + (seconds if start_s < deadline_s else 0.0):
        executor.spin_once(0.1)
    node.destroy_node()
    rclpy.try_shutdown()
    if not whole:
        raise SystemExit(f"our graph gave no chunk within {START_S:.0f} s:\n{log.read_text()[-3000:]}")
    period_ms = 1e3 / profile.control_hz
    return Found(whole=whole, network=network, ticks=np.diff(arrivals).tolist(), period_ms=period_ms)

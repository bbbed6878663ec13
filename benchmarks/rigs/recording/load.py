"""The load: three cameras of 640x480 at 30 Hz and joint states at 500 Hz, of nothing that is there.

`main` publishes one kind of it: says "ready" when somebody has subscribed, begins with a line on its input,
and in the end writes when each message was sent. The bytes are ready but for their stamp, so that a measurement is of
the recorder, not of this.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import yaml

from tendon.robots.profile import RobotProfile, load_profile, profile_file

CAMERAS = ("left", "right", "overhead")
WIDTH, HEIGHT, CAMERA_HZ, JOINT_HZ = 640, 480, 30.0, 500.0
JOINTS = "load/joint_states"
"""Beside those of the graph, which come from its own robot."""
PICTURES = 8
"""Different ones of a camera."""
SETTLE_S = 1.0

Picture = npt.NDArray[np.uint8]


def picture(rng: np.random.Generator) -> Picture:
    """Returns a picture with what a sensor has: structure, and noise in which no packer finds repeats."""
    coarse = rng.integers(0, 255, (HEIGHT // 4, WIDTH // 4, 3), np.uint8)
    smooth: Picture = np.kron(coarse // 2, np.ones((4, 4, 1), np.uint8))
    smooth += rng.integers(0, 8, smooth.shape, np.uint8)
    return smooth


def write_profile(folder: Path) -> Path:
    """Returns the file of a Panda with its own cameras and those of the load, for a recorder that takes both."""
    source = profile_file("panda")
    values = yaml.safe_load(source.read_text())
    for key in ("urdf", "collisions"):
        values[key] = str(source.parent / values[key])
    size = {"width": WIDTH, "height": HEIGHT, "rate_hz": CAMERA_HZ}
    values["cameras"] += [{**values["cameras"][0], **size, "name": name} for name in CAMERAS]
    path = folder / "profile.yaml"
    path.write_text(yaml.safe_dump(values))
    return path


def at_rate(rate_hz: float, seconds: float, act: Callable[[int], None]) -> None:
    """Calls `act` with 0, 1, ... at absolute times for so long."""
    begin_s = time.monotonic()
    for k in range(round(rate_hz * seconds)):
        time.sleep(max(0.0, begin_s + k / rate_hz - time.monotonic()))
        act(k)


def _streams(node: Any, what: str, profile: RobotProfile) -> list[tuple[Any, list[bytes]]]:
    from rclpy.serialization import serialize_message
    from sensor_msgs.msg import Image, JointState

    from tendon.core.types import Image as Frame
    from tendon.ros2_nodes import wire
    from tendon.ros2_nodes.base import qos

    if what == "joints":
        home = profile.vector("home")
        message = wire.joint_state_message(0, profile.joint_names, home, 0 * home)
        return [(node.create_publisher(JointState, JOINTS, qos.NEWEST), [bytes(serialize_message(message))])]
    rng, found = np.random.default_rng(0), []
    for name in CAMERAS:
        frames = [Frame(stamp_ns=0, pixels=picture(rng)) for _ in range(PICTURES)]
        messages = [bytes(serialize_message(wire.image_message(frame, f"{name}_optical_frame"))) for frame in frames]
        found.append((node.create_publisher(Image, f"camera/{name}/image_raw", qos.NEWEST), messages))
    return found


def main() -> None:
    """Publishes; its arguments are joints or cameras, seconds, and a file for the stamps."""
    what, seconds, file = sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])
    from tendon.ros2_nodes.base.runtime import prepare_process, require_ros

    require_ros()
    prepare_process(images=True)
    import rclpy
    from rclpy.node import Node

    from tendon.ros2_nodes.wire.cdr import with_stamp

    rclpy.init()
    streams = _streams(Node(f"load_{what}"), what, load_profile("panda"))
    while any(publisher.get_subscription_count() < 1 for publisher, _ in streams):
        time.sleep(0.05)
    time.sleep(SETTLE_S)  # the other side has matched, too
    print("ready", flush=True)
    sys.stdin.readline()
    sent: dict[str, list[int]] = {publisher.topic_name: [] for publisher, _ in streams}

    def send(k: int) -> None:
        for publisher, messages in streams:
            stamp_ns = time.time_ns()
            publisher.publish(with_stamp(messages[k % len(messages)], stamp_ns))
            sent[publisher.topic_name].append(stamp_ns)

    at_rate(JOINT_HZ if what == "joints" else CAMERA_HZ, seconds, send)
    time.sleep(SETTLE_S)
    rows: dict[str, Any] = {topic: np.array(stamps) for topic, stamps in sent.items()}
    np.savez(file, **rows)
    print("done", flush=True)

"""What the recorder takes and loses: three cameras of 640x480 at 30 Hz and joint states at 500 Hz, synthetic.

The publishers send bytes that are ready but for their stamp, so that what is measured is the recorder: messages that
were sent and are not in the file, processor time, and bytes a second.

Examples:
  python benchmarks/recording_load.py
  python benchmarks/recording_load.py --seconds 20 --busy --rows /tmp/rows
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import harness
import psutil
import yaml

from tendon.graph.domain import free_domain
from tendon.robots.profile import profile_file

CAMERAS = ("left", "right", "wrist")
WIDTH, HEIGHT, CAMERA_HZ, JOINT_HZ = 640, 480, 30.0, 500.0

PUBLISH = """
import json, sys, time
import numpy as np
from tendon.ros2_nodes.base.runtime import prepare_process, require_ros
require_ros(); prepare_process(images=True)
import rclpy
from rclpy.node import Node
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Image, JointState
from tendon.core.types import Image as Frame
from tendon.robots.profile import load_profile
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.wire.cdr import with_stamp
what, profile, seconds = sys.argv[1], load_profile(sys.argv[2]), float(sys.argv[3])
rclpy.init()
node = Node("synthetic_" + what)
rng = np.random.default_rng(0)
streams = []
if what == "joints":
    home = profile.vector("home")
    message = wire.joint_state_message(0, profile.joint_names, home, 0 * home)
    publisher = node.create_publisher(JointState, "joint_states", qos.NEWEST)
    streams.append((publisher, [bytes(serialize_message(message))], %r))
else:
    for camera in profile.cameras:
        pictures = []
        for k in range(8):
            coarse = rng.integers(0, 255, (camera.height // 4, camera.width // 4, 3), np.uint8)
            smooth = np.kron(coarse // 2, np.ones((4, 4, 1), np.uint8))
            smooth += rng.integers(0, 8, smooth.shape, np.uint8)  # as a sensor has it: no packer finds repeats
            message = wire.image_message(Frame(stamp_ns=0, pixels=smooth), camera.frame)
            pictures.append(bytes(serialize_message(message)))
        publisher = node.create_publisher(Image, f"camera/{camera.name}/image_raw", qos.NEWEST)
        streams.append((publisher, pictures, %r))
while any(publisher.get_subscription_count() < 1 for publisher, _, _ in streams):
    time.sleep(0.05)
time.sleep(1.0)  # the other side has matched, too
print("ready", flush=True)
sys.stdin.readline()
begin, sent = time.monotonic(), {publisher.topic_name: 0 for publisher, _, _ in streams}
rate, k = streams[0][2], 0
while (due := begin + k / rate) - begin < seconds:
    time.sleep(max(0.0, due - time.monotonic()))
    for publisher, messages, _ in streams:
        publisher.publish(with_stamp(messages[k %% len(messages)], time.time_ns()))
        sent[publisher.topic_name] += 1
    k += 1
took = time.monotonic() - begin
time.sleep(1.0)
print(json.dumps({"sent": sent, "took": took}), flush=True)
"""


def write_profile(folder: Path) -> Path:
    """Returns the file of a Panda with three large cameras."""
    source = profile_file("panda")
    values = yaml.safe_load(source.read_text())
    for key in ("urdf", "collisions"):
        values[key] = str(source.parent / values[key])
    first = values["cameras"][0]
    size = {"width": WIDTH, "height": HEIGHT, "rate_hz": CAMERA_HZ}
    values["cameras"] = [{**first, **size, "name": name} for name in CAMERAS]
    path = folder / "profile.yaml"
    path.write_text(yaml.safe_dump(values))
    return path


def record(images: str, seconds: float) -> dict[str, harness.Value]:
    """Returns what one run came to.

    Raises:
        SystemExit: the recorder ended, or nothing was recorded.
    """
    from tendon.data.reading.recording import McapRecording

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        profile = write_profile(folder)
        parameters = {"robot": str(profile), "recordings": str(folder / "out"), "images": images}
        words = [word for key, value in parameters.items() for word in ("-p", f"{key}:={value}")]
        recorder = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tendon.ros2_nodes.recorder_node",
                "--ros-args",
                "-r",
                "__node:=recorder_node",
                *words,
            ]
        )
        code = PUBLISH % (JOINT_HZ, CAMERA_HZ)
        publishers = [
            subprocess.Popen(
                [sys.executable, "-c", code, what, str(profile), str(seconds)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for what in ("joints", "cameras")
        ]
        for each in publishers:
            assert each.stdout is not None and each.stdout.readline() == "ready\n"
        process = psutil.Process(recorder.pid)
        before, begin_s = process.cpu_times(), time.monotonic()
        for each in publishers:
            assert each.stdin is not None
            each.stdin.write("go\n")
            each.stdin.flush()
        said = [json.loads(each.stdout.readline()) for each in publishers if each.stdout is not None]
        after, took_s = process.cpu_times(), time.monotonic() - begin_s
        memory = process.memory_info().rss
        recorder.send_signal(signal.SIGINT)
        recorder.wait(60.0)
        (path,) = (folder / "out").glob("*.mcap")
        recording = McapRecording(path)
        sent = {topic: count for each in said for topic, count in each["sent"].items()}
        suffix = "/compressed" if images == "jpeg" else ""
        lost = {
            topic: count - recording.topics[topic + suffix * topic.endswith("image_raw")].count
            for topic, count in sent.items()
        }
        assert recording.end is not None
        cpu_s = after.user + after.system - before.user - before.system
        return {
            "sent": harness.Number(sum(sent.values())),
            "pictures lost": harness.Number(sum(n for topic, n in lost.items() if topic.endswith("image_raw"))),
            "joint states lost": harness.Number(sum(n for topic, n in lost.items() if not topic.endswith("image_raw"))),
            "dropped at the disk": harness.Number(sum(recording.end.dropped.values())),
            "told as lost": harness.Number(sum(recording.end.lost.values())),
            "processor": harness.Number(round(cpu_s / took_s, 3), "cores"),
            "file": harness.Number(round(path.stat().st_size / 1e6 / max(e["took"] for e in said), 1), "MB/s"),
            "memory": harness.Number(round(memory / 2**20), "MiB"),
            "publishers took": harness.Number(round(max(e["took"] for e in said), 2), "s"),
        }


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each run (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "recording/load")
    os.environ["ROS_DOMAIN_ID"] = os.environ.get("ROS_DOMAIN_ID") or str(free_domain())
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    for images in ("raw", "jpeg"):
        values = record(images, args.seconds)
        bench.add({"pictures": images, "for": f"{args.seconds:g} s"}, values)
        print(images, {name: f"{value.value} {value.unit}" for name, value in values.items()}, flush=True)


if __name__ == "__main__":
    main()

"""Image transport between two processes, by setting: latency from just before publish to the callback, and loss.

Settings: default Fast DDS; malloc told to keep large blocks; Tendon's shared-memory profile; and which executor takes
the images. 128+96 are the two cameras of the tabletop policy.

Examples:
  python benchmarks/studies/transport.py
  python benchmarks/studies/transport.py --seconds 20 --rate 30
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # benchmarks

import harness
import numpy as np
from harness import Number

SETTINGS = {
    "default, single-threaded": "single",
    "malloc, single-threaded": "malloc single",
    "SHM profile, single-threaded": "shm single",
    "SHM profile, malloc, single-threaded": "shm malloc single",
    "default, EventsExecutor": "events",
    "SHM profile, malloc, EventsExecutor": "shm malloc events",
}
SIZES = {"128x128 + 96x96": ((128, 128), (96, 96)), "640x480": ((640, 480),), "2 x 640x480": ((640, 480),) * 2}
PROFILE = Path(__file__).resolve().parents[2] / "ros2_nodes" / "base" / "transport_images.xml"
DOMAIN = 98
WARM_UP_S = 1.0


def main() -> None:
    """Runs every setting with every size and prints a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="per cell (%(default)s)")
    parser.add_argument("--rate", type=float, default=60.0, help="of each camera [Hz] (%(default)s)")
    parser.add_argument("--role", nargs=3, metavar=("ROLE", "SETTING", "SIZE"), help=argparse.SUPPRESS)
    harness.add_arguments(parser)
    args = parser.parse_args()
    if args.role:
        role, setting, size = args.role
        {"publish": publish, "subscribe": subscribe}[role](setting, size, args.rate, args.seconds)
        return
    bench = harness.begin(args, "transport/settings")
    print(f"{args.rate:g} Hz a camera")
    print("| setting | images | p50 ms | p99 ms | max ms | lost |")
    print("|---|---|---|---|---|---|")
    for size in SIZES:
        for name, setting in SETTINGS.items():
            found = measure(setting, size, args.rate, args.seconds)
            cells = [f"{found[column].value:.2f}" if column in found else "-" for column in ("p50", "p99", "max")]
            print(f"| {name} | {size} | {' | '.join(cells)} | {found['lost'].value:.1f} % |", flush=True)
            bench.add({"images": size, "setting": name}, found)


def measure(setting: str, size: str, rate: float, seconds: float) -> dict[str, Number]:
    """Returns p50, p99 and max, when anything arrived, and what was lost."""
    environment = {**os.environ, "ROS_DOMAIN_ID": str(DOMAIN), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    environment.pop("FASTRTPS_DEFAULT_PROFILES_FILE", None)
    if "shm" in setting:
        environment["FASTRTPS_DEFAULT_PROFILES_FILE"] = str(PROFILE)
    command = [sys.executable, __file__, "--rate", str(rate), "--seconds", str(seconds), "--role"]
    subscriber = subprocess.Popen(
        [*command, "subscribe", setting, size], env=environment, stdout=subprocess.PIPE, text=True
    )
    sent = subprocess.run([*command, "publish", setting, size], env=environment, stdout=subprocess.PIPE, text=True)
    received, _ = subscriber.communicate(timeout=60)
    first_ns, count = map(int, sent.stdout.split())
    latencies = np.array([(arrived - stamp) * 1e-6 for stamp, arrived in json.loads(received) if stamp >= first_ns])
    return {**harness.spread_of(latencies, "ms"), "lost": Number(100 * (1 - len(latencies) / count), "%")}


def start(setting: str) -> None:
    """Applies what a setting asks of its own process."""
    import rclpy

    if "malloc" in setting:
        spare = bytearray(31 << 20)
        del spare
    rclpy.init()


def publish(setting: str, size: str, rate: float, seconds: float) -> None:
    """Publishes stamped images at a rate, then prints the first stamp after the warm-up and how many there were."""
    start(setting)
    import rclpy
    from sensor_msgs.msg import Image as ImageMessage

    from tendon.core.types import Image
    from tendon.ros2_nodes import wire
    from tendon.ros2_nodes.base import qos

    node = rclpy.create_node("camera")
    topics = [node.create_publisher(ImageMessage, f"image{k}", qos.STREAM) for k in range(len(SIZES[size]))]
    rng = np.random.default_rng(0)
    frames = [rng.integers(0, 255, (height, width, 3), np.uint8) for width, height in SIZES[size]]
    while any(topic.get_subscription_count() == 0 for topic in topics):
        time.sleep(0.05)
    begin, stamps = time.monotonic() + 0.5, []
    for k in range(round((WARM_UP_S + seconds) * rate)):
        time.sleep(max(0.0, begin + k / rate - time.monotonic()))
        for topic, pixels in zip(topics, frames, strict=True):
            stamps.append(time.monotonic_ns())
            topic.publish(wire.image_message(Image(stamp_ns=stamps[-1], pixels=pixels), "camera"))
    counted = stamps[round(WARM_UP_S * rate) * len(topics) :]
    time.sleep(0.5)
    print(counted[0], len(counted))
    node.destroy_node()
    rclpy.shutdown()


def subscribe(setting: str, size: str, rate: float, seconds: float) -> None:
    """Takes images until none come any more, then prints each stamp and time of arrival [ns]."""
    start(setting)
    import rclpy
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.experimental import EventsExecutor
    from sensor_msgs.msg import Image as ImageMessage

    from tendon.ros2_nodes import wire
    from tendon.ros2_nodes.base import qos

    node = rclpy.create_node("policy")
    arrivals: list[tuple[int, int]] = []

    def take(message: ImageMessage) -> None:
        picture = wire.image(message)
        arrivals.append((picture.stamp_ns, time.monotonic_ns()))

    for k in range(len(SIZES[size])):
        node.create_subscription(ImageMessage, f"image{k}", take, qos.STREAM)
    executor = EventsExecutor() if "events" in setting else SingleThreadedExecutor()
    executor.add_node(node)
    deadline = time.monotonic() + 20.0 + seconds
    while time.monotonic() < deadline and not (arrivals and time.monotonic_ns() - arrivals[-1][1] > 1e9):
        executor.spin_once(0.1)
    print(json.dumps(arrivals))
    node.destroy_node()
    rclpy.shutdown()


if __name__ == "__main__":
    main()

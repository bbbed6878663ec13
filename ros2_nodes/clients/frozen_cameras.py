"""Takes the cameras' place: what they send goes on coming, at their rate, but nothing in it is new."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from rclpy.publisher import Publisher
from sensor_msgs.msg import Image

from tendon.graph import topics
from tendon.robots.profile import RobotProfile
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.clients.operator import Operator

FRAME_S = 0.05
Change = Callable[[Image], None]


class FrozenCameras:
    """Listens from its creation on, and sends between `begin` and `end`; whoever does so stops the real cameras.

    Args:
        operator: of the graph, whose node publishes.
        profile: says which cameras there are.
    """

    def __init__(self, operator: Operator, profile: RobotProfile) -> None:
        self._operator = operator
        self._frames: dict[str, Image] = {}
        self._publishers: dict[str, Publisher] = {}
        self._going = threading.Event()
        self._thread: threading.Thread | None = None
        node = operator.node
        for camera in profile.cameras:
            topic = topics.image(camera.name)
            self._publishers[camera.name] = node.create_publisher(Image, topic, qos.NEWEST)
            node.create_subscription(
                Image, topic, lambda frame, name=camera.name: self._frames.setdefault(name, frame), qos.STREAM
            )

    def ready(self) -> bool:
        """Returns whether a frame of each camera came, and all who look at a camera would see ours."""
        known = self._operator.node.count_subscribers
        return len(self._frames) == len(self._publishers) and all(
            publisher.get_subscription_count() >= known(publisher.topic_name) > 1
            for publisher in self._publishers.values()
        )

    def begin(self, change: Change = lambda frame: None, stamp_ns: int | None = None) -> None:
        """Sends the kept frame of each camera again and again.

        Args:
            change: is called with each kept frame once, before.
            stamp_ns: that all of them have; `None`: the time at which each is sent.
        """
        frames = dict(self._frames)
        for frame in frames.values():
            change(frame)
        self._going = threading.Event()
        self._going.set()
        self._thread = threading.Thread(target=self._send, args=(frames, stamp_ns, self._going), daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Sends no more; frames that came before are forgotten."""
        self._going.clear()
        if self._thread is not None:
            self._thread.join(1.0)
        self._frames.clear()

    def _send(self, frames: Mapping[str, Image], stamp_ns: int | None, going: threading.Event) -> None:
        while going.is_set():
            for name, frame in frames.items():
                frame.header.stamp = wire.time_message(self._operator.time.now_ns() if stamp_ns is None else stamp_ns)
                self._publishers[name].publish(frame)
            time.sleep(FRAME_S)

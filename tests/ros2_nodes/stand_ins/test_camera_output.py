"""A simulated camera draws for who takes its pictures, and for nobody else."""

from __future__ import annotations

import time
from pathlib import Path

from rclpy.node import Node
from sensor_msgs.msg import Image

from tendon.graph import topics
from tendon.ros2_nodes.base import qos
from tests.poison.cases import running

PATIENCE_S = 20.0


def test_a_camera_is_drawn_while_somebody_looks_through_it(tmp_path: Path) -> None:
    with running("camera_node", tmp_path) as camera:
        seen, unseen = camera.node._outputs
        for output in (seen, unseen):
            del output._images.get_subscription_count  # what stood for a viewer in other tests
        assert camera.works().startswith("nothing drawn")
        viewer = Node("viewer")
        viewer.create_subscription(Image, topics.image(seen.camera.name), lambda _: None, qos.STREAM)
        deadline = time.monotonic() + PATIENCE_S
        while not seen.wanted and time.monotonic() < deadline:
            time.sleep(0.01)
        assert seen.wanted and not unseen.wanted
        before = camera.drawn
        assert camera.works() == ""
        assert camera.drawn == before + 2, "two frames of one camera"
        viewer.destroy_node()
        deadline = time.monotonic() + PATIENCE_S
        while seen.wanted and time.monotonic() < deadline:
            time.sleep(0.01)
        assert camera.works().startswith("nothing drawn")

"""What the process of a camera publishes: pictures, camera infos, and how late they were."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from sensor_msgs.msg import CameraInfo
from sensor_msgs.msg import Image as ImageMessage

from tendon.core.types import Array, Image
from tendon.graph import topics
from tendon.robots.profile import Camera
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.base.shell import NodeShell

NO_LENS = (0.0,) * 5


class CameraOutput:
    """Publishes `camera/NAME/image_raw` and `camera/NAME/camera_info` of one camera, and has a meter of its name.

    Args:
        node: that publishes.
        camera: of its profile.
    """

    def __init__(self, node: NodeShell, camera: Camera) -> None:
        self.camera = camera
        self._now_ns = node.time.now_ns
        self._images = node.create_publisher(ImageMessage, topics.image(camera.name), qos.NEWEST)
        self._infos = node.create_publisher(CameraInfo, topics.camera_info(camera.name), qos.NEWEST)
        self._meter = node.meter(camera.name)

    @property
    def wanted(self) -> bool:
        """Whether anybody takes the pictures: drawing them is most of what a simulated robot costs."""
        return bool(self._images.get_subscription_count())

    def publish(
        self, stamp_ns: int, pixels: npt.NDArray[np.uint8], intrinsics: Array, distortion: Sequence[float] = NO_LENS
    ) -> None:
        """Publishes a frame.

        Args:
            stamp_ns: its exposure.
            pixels: (height, width, 3) RGB.
            intrinsics: (3, 3) camera matrix [px].
            distortion: k1, k2, p1, p2, k3 of its lens.
        """
        camera = self.camera
        self._images.publish(wire.image_message(Image(stamp_ns=stamp_ns, pixels=pixels), camera.frame))
        info = wire.camera_info_message(stamp_ns, camera.frame, camera.width, camera.height, intrinsics, distortion)
        self._infos.publish(info)
        self._meter.add(self._now_ns() - stamp_ns)

"""The cameras of the mock robot: test pictures, each camera at its own rate.

Publishes `camera/NAME/image_raw` and `camera/NAME/camera_info` of every camera of the profile.
"""

from __future__ import annotations

import sys
from functools import partial
from itertools import count

from tendon.core.node_status import Level
from tendon.robots.drivers.mock.pictures import TestPictures, intrinsics
from tendon.robots.profile import Camera
from tendon.ros2_nodes.base.runtime import Urgency, run_node
from tendon.ros2_nodes.base.shell import NodeShell
from tendon.ros2_nodes.stand_ins.camera_output import CameraOutput


class MockCameraNode(NodeShell):
    """Draws whenever a camera's period is over; in simulated time, at the first tick after that."""

    def __init__(self) -> None:
        super().__init__("mock_camera_node")
        for camera in self.profile.cameras:
            self.every(1.0 / camera.rate_hz, self._shutter(camera))
        self.every(0.02, self.beat)

    def _shutter(self, camera: Camera) -> partial[None]:
        return partial(self._show, CameraOutput(self, camera), TestPictures(camera), count())

    def _show(self, output: CameraOutput, pictures: TestPictures, numbers: count[int]) -> None:
        if not output.wanted:
            return
        stamp_ns = self.time.now_ns()
        output.publish(stamp_ns, pictures.draw(next(numbers), stamp_ns), intrinsics(output.camera))

    def health(self) -> tuple[Level, str]:
        """Returns what the pictures are."""
        return Level.OK, "test pictures"


def main() -> int:
    """Runs the node."""
    return run_node(MockCameraNode, Urgency.THIRD, images=True)


if __name__ == "__main__":
    sys.exit(main())

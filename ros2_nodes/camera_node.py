"""The simulated cameras, in a process of their own: PyBullet holds the GIL while it draws.

Subscribes `sim/world_state`; publishes `camera/NAME/image_raw` and `camera/NAME/camera_info`, stamped with the world
state that was drawn: the exposure.
"""

from __future__ import annotations

import sys

from sensor_msgs.msg import CameraInfo, JointState
from sensor_msgs.msg import Image as ImageMessage

from tendon.core.types import Image
from tendon.ros2_nodes import conversion, qos, world_state
from tendon.ros2_nodes.runtime import Urgency, run_node
from tendon.ros2_nodes.shell import OK, WARN, NodeShell
from tendon.sim.cameras import CameraRig
from tendon.sim.world import World, WorldState

SOON = 0.75
"""A world state that comes after less than this share of a camera's period is not drawn for it."""


class CameraNode(NodeShell):
    """Draws each world state that arrives, at most at each camera's rate."""

    def __init__(self) -> None:
        super().__init__("camera_node")
        self._label = ""
        self._world: World | None = None
        self._rig: CameraRig | None = None
        self._drawn_ns = dict.fromkeys((camera.name for camera in self.profile.cameras), 0)
        self._outputs = {
            camera.name: (
                self.create_publisher(ImageMessage, f"camera/{camera.name}/image_raw", qos.NEWEST),
                self.create_publisher(CameraInfo, f"camera/{camera.name}/camera_info", qos.NEWEST),
                self.meter(camera.name),
            )
            for camera in self.profile.cameras
        }
        self.create_subscription(JointState, world_state.TOPIC, self._draw, qos.NEWEST)
        self.create_timer(0.02, self.beat)

    def health(self) -> tuple[bytes, str]:
        """Returns whether there is a world to draw."""
        return (OK, "drawing") if self._world is not None else (WARN, "waiting for sim/world_state")

    def _draw(self, message: JointState) -> None:
        stamp_ns, label, state = world_state.world_state(message)
        rig = self._show(label, state)
        for camera in self.profile.cameras:
            if 0 <= stamp_ns - self._drawn_ns[camera.name] < SOON * 1e9 / camera.rate_hz:
                continue
            self._drawn_ns[camera.name] = stamp_ns
            images, infos, meter = self._outputs[camera.name]
            picture = Image(stamp_ns=stamp_ns, pixels=rig.render(camera.name))
            images.publish(conversion.image_message(picture, camera.frame))
            intrinsics = rig.intrinsics(camera.name)
            infos.publish(
                conversion.camera_info_message(stamp_ns, camera.frame, camera.width, camera.height, intrinsics)
            )
            meter.add(self.time.now_ns() - stamp_ns)
            self.beat()

    def _show(self, label: str, state: WorldState) -> CameraRig:
        if self._world is None:
            self._world = World(world_state.scene_of(label), self.profile)
        elif label != self._label:
            self._world.load(world_state.scene_of(label))
        if self._rig is None:
            self._rig = CameraRig(self._world)
        self._label = label
        self._world.set_state(state)
        return self._rig

    def close(self) -> None:
        """Disconnects from PyBullet."""
        if self._world is not None:
            self._world.close()
        super().close()


def main() -> int:
    """Runs the node."""
    return run_node(CameraNode, Urgency.THIRD, images=True)


if __name__ == "__main__":
    sys.exit(main())

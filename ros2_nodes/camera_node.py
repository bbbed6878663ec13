"""The simulated cameras, in a process of their own: PyBullet holds the GIL while it draws.

Subscribes `sim/world_state`; publishes `camera/NAME/image_raw` and `camera/NAME/camera_info`, stamped with the world
state that was drawn: the exposure.
"""

from __future__ import annotations

import sys

from sensor_msgs.msg import JointState

from tendon.core.errors import InvalidDataError
from tendon.core.node_status import Level
from tendon.evaluation.suites import DEFAULT_SUITE, load_suite
from tendon.graph import topics
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.base.runtime import Urgency, run_node
from tendon.ros2_nodes.base.shell import NodeShell
from tendon.ros2_nodes.stand_ins.camera_output import CameraOutput
from tendon.ros2_nodes.wire.world_state import read_label, world_state
from tendon.sim.engine_world import EngineWorld, open_engine_world
from tendon.sim.simulators import AUTO
from tendon.sim.world_state import WorldState

SOON = 0.75
"""A world state that comes after less than this share of a camera's period is not drawn for it."""


class CameraNode(NodeShell):
    """Draws each world state that arrives, at most at each camera's rate, for cameras that somebody looks through."""

    def __init__(self) -> None:
        super().__init__("camera_node")
        self._label, self._problem = "", ""
        self._simulator = self.setting("simulator", AUTO)
        self._suite = load_suite(self.setting("suite", DEFAULT_SUITE))
        self._world: EngineWorld | None = None
        self._outputs = [CameraOutput(self, camera) for camera in self.profile.cameras]
        self._drawn_ns = {camera.name: 0 for camera in self.profile.cameras}
        self.create_subscription(JointState, topics.WORLD_STATE, self._draw, qos.NEWEST)
        self.every(0.02, self.beat)

    def health(self) -> tuple[Level, str]:
        """Returns whether there is a world to draw."""
        if self._problem:
            return Level.ERROR, self._problem
        return (Level.OK, "drawing") if self._world is not None else (Level.WARN, f"waiting for {topics.WORLD_STATE}")

    def _draw(self, message: JointState) -> None:
        try:
            stamp_ns, label, state = world_state(message)
            world = self._show(label, state)
        except InvalidDataError as error:
            self._problem = str(error)
            return
        self._problem = ""
        for output in self._outputs:
            name, rate_hz = output.camera.name, output.camera.rate_hz
            if not output.wanted or 0 <= stamp_ns - self._drawn_ns[name] < SOON * 1e9 / rate_hz:
                continue
            self._drawn_ns[name] = stamp_ns
            cameras = world.cameras
            output.publish(stamp_ns, world.render(name), cameras.intrinsics(name), cameras.distortion(name))
            self.beat()

    def _show(self, label: str, state: WorldState) -> EngineWorld:
        if self._world is None:
            self._world = open_engine_world(self._suite, self.profile, self._simulator)
        if label != self._label:
            family, seed = read_label(label)
            try:
                self._world.reset(self._suite.scene(self.profile, seed, family))
            except ValueError as error:
                raise InvalidDataError(f"{topics.WORLD_STATE}: scene {label[:40]!r}: {error}") from error
        self._label = label
        self._world.set_state(state)
        return self._world

    def close(self) -> None:
        """Frees the world."""
        if self._world is not None:
            self._world.close()
        super().close()


def main() -> int:
    """Runs the node."""
    return run_node(CameraNode, Urgency.THIRD, images=True)


if __name__ == "__main__":
    sys.exit(main())

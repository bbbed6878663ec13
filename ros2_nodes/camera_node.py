"""The simulated cameras, in a process of their own: PyBullet holds the GIL while it draws.

Subscribes `sim/world_state`; publishes `camera/NAME/image_raw` and `camera/NAME/camera_info`, stamped with the world
state that was drawn: the exposure.

The noise of a real camera makes no two frames equal; drawn frames are equal as long as nothing that moves is in view,
and would look like those of a camera that froze. So the last bits of its last bytes say when a frame was exposed.
"""

from __future__ import annotations

import functools
import sys
from collections import deque
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
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
from tendon.sim.exposures import exposes, latency_ns
from tendon.sim.simulators import AUTO
from tendon.sim.world_state import WorldState

LONGEST_NS = 1_000_000_000
"""The largest latency that a profile may name."""
CYCLE = 251
"""A prime, of which no camera's period is a multiple."""
SENDS_EVERY_S = 0.002
"""How often it is looked whether a picture with latency is due."""


class CameraNode(NodeShell):
    """Draws the world states in which a camera exposes that somebody looks through, and sends them when it would."""

    def __init__(self) -> None:
        super().__init__("camera_node")
        self._label, self._problem = "", ""
        self._simulator = self.setting("simulator", AUTO)
        self._suite = load_suite(self.setting("suite", DEFAULT_SUITE)).for_graph()
        self._world: EngineWorld | None = None
        self._outputs = [CameraOutput(self, camera) for camera in self.profile.cameras]
        self._drawn_ns = {camera.name: 0 for camera in self.profile.cameras}
        self.create_subscription(JointState, topics.WORLD_STATE, self._draw, qos.NEWEST)
        self.every(0.02, self.beat)
        self._unsent: deque[tuple[int, Callable[[], None]]] = deque()
        if any(latency_ns(camera) for camera in self.profile.cameras):
            self.every(SENDS_EVERY_S, self._send)

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
            name, cameras = output.camera.name, world.cameras
            if not output.wanted or not exposes(output.camera, self._drawn_ns[name], stamp_ns):
                continue
            self._drawn_ns[name] = stamp_ns
            frame = (
                stamp_ns,
                told_apart(world.render(name), stamp_ns),
                cameras.intrinsics(name),
                cameras.distortion(name),
            )
            if latency := latency_ns(output.camera):
                self._unsent.append((stamp_ns + latency, functools.partial(output.publish, *frame)))
            else:
                output.publish(*frame)
            self.beat()

    def _send(self) -> None:
        """Sends what is due. A clock that went back, by more than any latency, makes all of it due."""
        now_ns = self.time.now_ns()
        for _ in range(len(self._unsent)):
            due_ns, publish = self._unsent.popleft()
            if now_ns >= due_ns or due_ns - now_ns > LONGEST_NS:
                publish()
            else:
                self._unsent.append((due_ns, publish))

    def _show(self, label: str, state: WorldState) -> EngineWorld:
        if self._world is None:
            self._world = open_engine_world(self._suite, self.profile.uncalibrated, self._simulator)
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


def told_apart(pixels: npt.NDArray[np.uint8], stamp_ns: int) -> npt.NDArray[np.uint8]:
    """Returns (h, w, 3) pixels whose last bytes end in the bits of the time of exposure: milliseconds, of `CYCLE`."""
    marked = pixels.copy()
    last = marked.reshape(-1)[-8:]
    last[:] = (last & 0xFE) | np.unpackbits(np.uint8(stamp_ns // 1_000_000 % CYCLE))
    return marked


def main() -> int:
    """Runs the node."""
    return run_node(CameraNode, Urgency.THIRD, images=True)


if __name__ == "__main__":
    sys.exit(main())

"""Messages of cameras and joint states to observations: the one way, for the policy node, datasets and replay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tendon.core.types import Image, Observation
from tendon.observation.assembly import Sources
from tendon.observation.buffer import ObservationBuffer, Tolerances
from tendon.observation.messages import image, stamp_ns
from tendon.robots.profile import RobotProfile
from tendon.robots.safety_settings import nanoseconds


class ObservationFeed:
    """Takes messages as they come and answers the newest complete observation. Called from one thread.

    Args:
        profile: gives the joint order, sizes and rates of images, and tolerances.
        cameras: names of those that an observation needs.
        simulated: stamps are those of a simulated clock. Simulated time waits for what is on its way, so that the same
            run is the same whatever comes first.
    """

    def __init__(self, profile: RobotProfile, cameras: Sequence[str], simulated: bool) -> None:
        # /clock and what is stamped with it come by different ways, so either may be first.
        ahead_ns = nanoseconds(profile.safety.state_ahead_s)
        tolerances = Tolerances(ahead_ns=ahead_ns, joint_ahead_ns=0) if simulated else Tolerances()
        self._buffer = ObservationBuffer(profile, cameras, tolerances)

    def add_image(self, camera: str, message: Any, now_ns: int) -> None:
        """Takes a message of type sensor_msgs/Image.

        Raises:
            InvalidDataError: it cannot be read, or see `ObservationBuffer.add_image`.
        """
        self.add_frame(camera, image(message), now_ns)

    def add_frame(self, camera: str, frame: Image, now_ns: int) -> None:
        """Takes a frame.

        Raises:
            InvalidDataError: see `ObservationBuffer.add_image`.
        """
        self._buffer.add_image(camera, frame, now_ns)

    def add_joints(self, message: Any, now_ns: int) -> None:
        """Takes a message of type sensor_msgs/JointState.

        Raises:
            InvalidDataError: see `ObservationBuffer.add_joints`.
        """
        self._buffer.add_joints(stamp_ns(message), message.name, message.position, message.velocity, now_ns)

    def observation(self, instruction: str) -> Observation | None:
        """Returns the newest complete observation not returned before, or `None` while there is none."""
        return self._buffer.observation(instruction)

    @property
    def sources(self) -> Sources | None:
        """What the last observation was made of; `None` before the first."""
        return self._buffer.sources

    def problem(self) -> str:
        """Returns why frames arrive and none is used; empty while they are."""
        return self._buffer.problem()

"""Commands as the bytes that a profile's controllers take."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from rclpy.serialization import serialize_message
from std_msgs.msg import Float64MultiArray

from tendon.core.types import Command, SentTrajectory
from tendon.robots.profile import ControllerSpec, RobotProfile
from tendon.ros2_nodes.wire.motion.trajectories import write_trajectory


def command_bytes(command: Command, profile: RobotProfile) -> Iterator[tuple[ControllerSpec, bytes]]:
    """Yields the message that each of the profile's controllers takes.

    A joint_trajectory controller gets all points with positions and velocities: its cubic spline through them is
    the reference itself, whose jerk is constant between points. A forward_command controller gets the point that
    is due one period after the stamp; it cannot hold a stop.
    """
    points = command.trajectory
    for controller, columns in _columns(profile):
        position = points.position[:, columns]
        if controller.type == "forward_command":
            yield controller, serialize_message(Float64MultiArray(data=array("d", position[:2][-1].tobytes())))
            continue
        sent = SentTrajectory(
            stamp_ns=command.stamp_ns,
            joint_names=controller.joints,
            times_ns=points.time_from_start_ns,
            position=position,
            velocity=points.velocity[:, columns],
        )
        yield controller, write_trajectory(sent)


@lru_cache(maxsize=4)
def _columns(profile: RobotProfile) -> tuple[tuple[ControllerSpec, npt.NDArray[np.intp]], ...]:
    """Returns which columns of a joint vector each controller has."""
    names = profile.joint_names
    return tuple(
        (controller, np.array([names.index(name) for name in controller.joints], dtype=np.intp))
        for controller in profile.controllers
    )

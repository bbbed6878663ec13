"""Where cameras are, as ROS takes it: fixed joints of a URDF, or arguments of `static_transform_publisher`."""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import quoteattr

import numpy as np
import pinocchio as pin

from tendon.calibration.results.record import CalibrationRecord, Place
from tendon.robots.profile import RobotProfile

LAUNCH = '''"""Cameras where `tendon calibrate` found them: {date}, robot {robot}."""

from launch import LaunchDescription
from launch_ros.actions import Node

ARGUMENTS = [
{rows}
]


def generate_launch_description():
    """Returns a publisher for each camera."""
    return LaunchDescription(
        [Node(package="tf2_ros", executable="static_transform_publisher", arguments=each) for each in ARGUMENTS]
    )
'''


def camera_frames(record: CalibrationRecord, profile: RobotProfile) -> dict[str, Place]:
    """Returns where the optical frame of each camera is, by the name that the profile gives that frame.

    Raises:
        ConfigError: the profile has no such camera.
    """
    return {profile.camera(name).frame: camera.place for name, camera in record.cameras.items()}


def arguments_of(frame: str, place: Place) -> list[str]:
    """Returns what `static_transform_publisher` is started with."""
    words = dict(zip(("x", "y", "z", "qx", "qy", "qz", "qw"), (*place.translation, *place.rotation), strict=True))
    found = [word for name, value in words.items() for word in (f"--{name}", f"{value:.9g}")]
    return [*found, "--frame-id", place.link, "--child-frame-id", frame]


def as_commands(frames: Mapping[str, Place]) -> str:
    """Returns a shell line for each frame."""
    begin = "ros2 run tf2_ros static_transform_publisher"
    return "".join(f"{begin} {' '.join(arguments_of(frame, place))}\n" for frame, place in frames.items())


def as_launch(frames: Mapping[str, Place], record: CalibrationRecord) -> str:
    """Returns a launch file for all frames."""
    rows = "\n".join(f"    {arguments_of(frame, place)!r}," for frame, place in frames.items())
    return LAUNCH.format(date=record.date, robot=record.robot, rows=rows)


def as_urdf(frames: Mapping[str, Place]) -> str:
    """Returns a link and a fixed joint for each frame, to stand before `</robot>`."""
    parts = []
    for frame, place in frames.items():
        xyz = " ".join(f"{value:.9g}" for value in place.translation)
        rpy = " ".join(f"{value:.9g}" for value in pin.rpy.matrixToRpy(np.array(place.pose.rotation)))
        joint = quoteattr(f"{frame}_joint")
        parts.append(
            f"  <link name={quoteattr(frame)}/>\n"
            f'  <joint name={joint} type="fixed">\n'
            f"    <parent link={quoteattr(place.link)}/>\n"
            f"    <child link={quoteattr(frame)}/>\n"
            f'    <origin xyz="{xyz}" rpy="{rpy}"/>\n'
            "  </joint>\n"
        )
    return "".join(parts)

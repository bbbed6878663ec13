"""ROS messages to core types and back. By name, never by position; large buffers are not copied element by element.

`msg.data = ndarray` costs 98 ms for a 640x480 image, `bytes` or `array.array` 20-57 us, hence the `tobytes`.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration, Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.serialization import serialize_message
from sensor_msgs.msg import CameraInfo, JointState
from sensor_msgs.msg import Image as ImageMessage
from std_msgs.msg import Float64MultiArray, Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from tendon.control.reference import FilterInput
from tendon.core.errors import InvalidDataError, MismatchError
from tendon.core.profile import Controller, RobotProfile
from tendon.core.types import ActionChunk, Array, Command, Image, freeze
from tendon.ros2_nodes.trajectory_wire import SECOND_NS, read_trajectory, write_trajectory

FILTER_INPUT_TOPIC = "safety/filter_input"


def time_message(stamp_ns: int) -> Time:
    """Returns a ROS time of nanoseconds."""
    second, nanosecond = divmod(stamp_ns, SECOND_NS)
    return Time(sec=second, nanosec=nanosecond)


def time_ns(message: Time | Duration) -> int:
    """Returns the nanoseconds of a ROS time or duration."""
    return int(message.sec) * SECOND_NS + int(message.nanosec)


def image_message(image: Image, frame: str) -> ImageMessage:
    """Returns an rgb8 image stamped with its exposure."""
    height, width, _ = image.pixels.shape
    message = ImageMessage(height=height, width=width, encoding="rgb8", step=3 * width)
    message.header.stamp, message.header.frame_id = time_message(image.stamp_ns), frame
    message.data = array("B", image.pixels.tobytes())
    return message


def image(message: ImageMessage) -> Image:
    """Returns the frame of an rgb8 or bgr8 message; an rgb8 one shares the message's memory.

    Raises:
        InvalidDataError: another encoding, or a size that its data does not have.
    """
    height, width = int(message.height), int(message.width)
    if message.encoding not in ("rgb8", "bgr8"):
        raise InvalidDataError(f"image encoding is {message.encoding}, expected rgb8 or bgr8: convert it at the camera")
    if message.step != 3 * width or len(message.data) != height * message.step:
        raise InvalidDataError(
            f"image of {width}x{height} has step {message.step} and {len(message.data)} bytes, "
            f"expected {3 * width} and {3 * width * height}"
        )
    pixels = np.frombuffer(message.data, dtype=np.uint8).reshape(height, width, 3)
    if message.encoding == "bgr8":
        pixels = np.ascontiguousarray(pixels[..., ::-1])
    pixels.setflags(write=False)
    return Image(stamp_ns=time_ns(message.header.stamp), pixels=pixels)


def camera_info_message(
    stamp_ns: int, frame: str, width: int, height: int, intrinsics: Sequence[Sequence[float]] | Array
) -> CameraInfo:
    """Returns the camera info of a camera without distortion; `intrinsics` is (3, 3) [px]."""
    matrix = np.asarray(intrinsics, dtype=np.float64)
    message = CameraInfo(height=height, width=width, distortion_model="plumb_bob")
    message.header.stamp, message.header.frame_id = time_message(stamp_ns), frame
    message.d = array("d", [0.0] * 5)
    message.k = matrix.ravel()
    message.r = np.eye(3).ravel()
    message.p = np.hstack([matrix, np.zeros((3, 1))]).ravel()
    return message


def joint_state_message(stamp_ns: int, names: Sequence[str], position: Array, velocity: Array) -> JointState:
    """Returns a joint state without effort."""
    message = JointState(name=list(names))
    message.header.stamp = time_message(stamp_ns)
    message.position = array("d", position.tobytes())
    message.velocity = array("d", velocity.tobytes())
    return message


class JointStateReader:
    """Reads joint states in any order into the profile's; joints the profile does not have are ignored.

    Args:
        joint_names: the order of the answer.
    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        self._wanted = tuple(joint_names)
        self._seen: list[str] | None = None
        self._order: list[int] = []

    def read(self, message: JointState) -> tuple[int, Array, Array]:
        """Returns (stamp_ns, position (n,), velocity (n,)).

        Raises:
            MismatchError: a joint is missing or named twice.
            InvalidDataError: positions or velocities are missing or not finite.
        """
        if message.name != self._seen:
            self._order = order_of(self._wanted, message.name, "joint state")
            self._seen = list(message.name)
        count = (len(message.name),)
        position = freeze("joint state position", message.position, count)[self._order]
        velocity = freeze("joint state velocity", message.velocity, count)[self._order]
        return time_ns(message.header.stamp), position, velocity


def order_of(wanted: Sequence[str], given: Sequence[str], what: str) -> list[int]:
    """Returns where each wanted name is among the given ones.

    Raises:
        MismatchError: one is missing, or a name is given twice.
    """
    missing = [name for name in wanted if name not in given]
    if missing:
        raise MismatchError(f"{what} lacks {', '.join(missing)} (it has: {', '.join(given) or 'none'})")
    if len(set(given)) != len(given):
        raise MismatchError(f"{what} names a joint twice: {', '.join(given)}")
    return [list(given).index(name) for name in wanted]


def _same_joints(wanted: Sequence[str], given: Sequence[str], what: str) -> list[int]:
    unknown = [name for name in given if name not in wanted]
    if unknown:
        raise MismatchError(f"{what} has unknown joint {', '.join(unknown)}; the robot has: {', '.join(wanted)}")
    return order_of(wanted, given, what)


def chunk_bytes(chunk: ActionChunk, joint_names: Sequence[str]) -> bytes:
    """Returns the message of an action chunk, stamped with its observation; `time_from_start` counts from there."""
    first_ns = chunk.start_ns - chunk.observation_stamp_ns
    times_ns = [first_ns + k * chunk.step_ns for k in range(len(chunk.actions))]
    return write_trajectory(chunk.observation_stamp_ns, joint_names, times_ns, chunk.actions)


def chunk(data: bytes, joint_names: Sequence[str]) -> ActionChunk:
    """Returns the action chunk of a message, its columns in the order of `joint_names`.

    Raises:
        MismatchError: a joint is missing, unknown or named twice.
        InvalidDataError: fewer than two points, uneven times, a wrong size or a value that is not finite.
    """
    given = read_trajectory(data)
    order = _same_joints(joint_names, given.joint_names, "action chunk")
    times = given.times_ns
    if len(times) < 2:
        raise InvalidDataError(f"action chunk has {len(times)} points: its step needs at least 2")
    steps = {later - earlier for earlier, later in itertools.pairwise(times)}
    if len(steps) != 1:
        raise InvalidDataError(f"action chunk has uneven steps {sorted(steps)} ns: points must be equally spaced")
    if given.position.shape[1] != len(order):
        raise InvalidDataError(f"action chunk has rows of {given.position.shape[1]} numbers, expected {len(order)}")
    return ActionChunk(
        actions=given.position[:, order],
        start_ns=given.stamp_ns + times[0],
        step_ns=steps.pop(),
        observation_stamp_ns=given.stamp_ns,
    )


def command_bytes(command: Command, profile: RobotProfile) -> Iterator[tuple[Controller, bytes]]:
    """Yields the message that each of the profile's controllers takes.

    A joint_trajectory controller gets all points with positions and velocities: its cubic spline through them is
    the reference itself, whose jerk is constant between points. A forward_command controller gets the point that
    is due one period after the stamp; it cannot hold a stop.
    """
    points = command.trajectory
    for controller in profile.controllers:
        columns = [profile.joint_names.index(name) for name in controller.joints]
        position = points.position[:, columns]
        if controller.type == "forward_command":
            yield controller, serialize_message(Float64MultiArray(data=array("d", position[:2][-1].tobytes())))
            continue
        times_ns, velocity = points.time_from_start_ns, points.velocity[:, columns]
        yield controller, write_trajectory(command.stamp_ns, controller.joints, times_ns, position, velocity)


def trajectory(data: bytes) -> dict[str, Any]:
    """Returns the arguments of `TrajectoryController.accept` in a message; that controller judges them.

    Raises:
        InvalidDataError: it is no trajectory, or its points have different sizes.
    """
    given = read_trajectory(data)
    return {
        "joint_names": given.joint_names,
        "time_from_start_ns": given.times_ns,
        "position": given.position,
        "velocity": given.velocity,
        "stamp_ns": given.stamp_ns,
    }


def status(name: str, level: bytes, message: str, values: Mapping[str, object]) -> DiagnosticStatus:
    """Returns one diagnostic status; values are written as text."""
    pairs = [KeyValue(key=key, value=str(value)) for key, value in values.items()]
    return DiagnosticStatus(name=name, level=level, message=message, values=pairs)


def diagnostics(stamp_ns: int, *statuses: DiagnosticStatus) -> DiagnosticArray:
    """Returns a stamped array of statuses."""
    message = DiagnosticArray(status=list(statuses))
    message.header.stamp = time_message(stamp_ns)
    return message


def values_of(message: DiagnosticStatus) -> dict[str, str]:
    """Returns the key-value pairs of a status."""
    return {pair.key: pair.value for pair in message.values}


def filter_input_messages(
    stamp_ns: int, joint_names: Sequence[str], inputs: Sequence[FilterInput]
) -> Iterator[JointTrajectory]:
    """Yields what the filter was given in a tick: a "reset" with the pose, and "step" with a point for each step.

    A point without positions is a step without a target. Its effort is the part of the velocity limits in force.
    """
    header = Header(stamp=time_message(stamp_ns))
    message = JointTrajectory(header=header, joint_names=list(joint_names))
    message.header.frame_id = "step"
    for given in inputs:
        if given.reset is not None:
            start = JointTrajectory(header=Header(stamp=header.stamp, frame_id="reset"), joint_names=list(joint_names))
            start.points.append(JointTrajectoryPoint(positions=_doubles(given.reset)))
            yield start
        message.points.append(
            JointTrajectoryPoint(
                positions=_doubles(given.target),
                velocities=_doubles(given.velocity),
                effort=array("d", [given.speed]),
            )
        )
    if message.points:
        yield message


def _doubles(values: Array | None) -> array[float]:
    return array("d") if values is None else array("d", np.asarray(values, dtype=np.float64).tobytes())

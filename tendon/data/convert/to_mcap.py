"""An episode of a dataset to a recording, which replays through the graph and converts back to the same numbers."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from tendon.core.errors import MismatchError
from tendon.core.stamps import SECOND_NS
from tendon.data.lerobot.reader import LeRobotDataset
from tendon.data.lerobot.writer import Frame
from tendon.data.recording.episode import EpisodeBegin, EpisodeEnd, Outcome, Roles
from tendon.data.recording.schemas import typestore
from tendon.data.recording.writer import EpisodeWriter, Sample
from tendon.robots.profile import RobotProfile

JOINTS, IMAGE, TEXT = "sensor_msgs/msg/JointState", "sensor_msgs/msg/Image", "std_msgs/msg/String"
TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"


def roles_of(profile: RobotProfile, cameras: list[str]) -> Roles:
    """Returns the topics that such a recording has: those of a graph without a namespace."""
    return Roles(
        joint_names=profile.joint_names,
        joint_states="/joint_states",
        cameras={name: f"/camera/{name}/image_raw" for name in cameras},
        commands={each.name: f"/{each.name}/joint_trajectory" for each in profile.controllers},
        others={"followed": "/policy/instruction"},
    )


def write_recording(dataset: LeRobotDataset, episode: int, profile: RobotProfile, path: Path) -> int:
    """Writes an episode to a new MCAP file; returns its frames.

    Raises:
        MismatchError: the dataset is of other joints than the robot's.
        InvalidDataError: the dataset cannot be read.
        OSError: the file is there already, or cannot be written.
    """
    if dataset.shape.joints != profile.joint_names:
        raise MismatchError(
            f"dataset {dataset.root} has joints {', '.join(dataset.shape.joints)}; {profile.name} has "
            f"{', '.join(profile.joint_names)}"
        )
    row = dataset.episodes[episode]
    outcome = row.get("outcome") or Outcome.UNKNOWN.value
    roles = roles_of(profile, [camera.name for camera in dataset.shape.cameras])
    frames = dataset.frames(episode)
    first = next(frames, None)
    begin = EpisodeBegin(
        robot=profile.name,
        started_ns=0 if first is None else first.stamp_ns,
        simulated=True,
        roles=roles,
        instruction=row["tasks"][0],
    )
    writer = EpisodeWriter(path, begin)
    messages = _Messages(writer, profile, roles)
    held: Frame | None = None
    count = 0
    try:
        for frame in chain(() if first is None else (first,), frames):
            if held is not None:
                messages.write(held, frame.stamp_ns)
            held, count = frame, count + 1
        if held is not None:
            messages.write(held, held.stamp_ns + SECOND_NS // dataset.shape.fps)
        writer.finish(EpisodeEnd(outcome=Outcome(outcome), notes=(f"made of {dataset.root.name}",)))
    except BaseException:
        writer.discard()
        raise
    return count


class _Messages:
    """Writes the messages of frames: a recording has what the robot says of its joints, a dataset has them as they are.

    Args:
        writer: takes them.
        profile: of the robot.
        roles: their topics.
    """

    def __init__(self, writer: EpisodeWriter, profile: RobotProfile, roles: Roles) -> None:
        self._writer, self._profile, self._roles, self._task = writer, profile, roles, ""
        self._first, self._zeros = True, profile.zeros

    def write(self, frame: Frame, next_ns: int) -> None:
        """Writes a frame whose action is due at a time."""
        at_ns = frame.stamp_ns
        if frame.task != self._task or self._first:
            self._task = frame.task
            self._put(at_ns, self._roles.others["followed"], TEXT, data=frame.task)
        names = list(self._profile.joint_names)
        numbers = {"position": frame.state + self._zeros, "velocity": frame.velocity}
        arrays = {name: np.asarray(value, dtype=np.float64) for name, value in numbers.items()}
        self._put(at_ns, self._roles.joint_states, JOINTS, name=names, effort=np.zeros(0), **arrays)
        action = np.asarray(frame.action, dtype=np.float64) + self._zeros
        due = [(at_ns, next_ns - at_ns)]
        if self._first:  # something was in force at the first frame
            due.insert(0, (at_ns, 0))
        for stamp_ns, after_ns in due:
            self._command(stamp_ns, after_ns, action)
        for camera, topic in self._roles.cameras.items():
            height, width, _ = frame.images[camera].shape
            pixels = np.ascontiguousarray(frame.images[camera]).ravel()
            size = {"height": height, "width": width, "step": 3 * width}
            self._put(at_ns, topic, IMAGE, encoding="rgb8", is_bigendian=0, data=pixels, **size)
        self._first = False

    def _command(self, at_ns: int, after_ns: int, action: Any) -> None:
        types = typestore().types
        span = types["builtin_interfaces/msg/Duration"](sec=after_ns // SECOND_NS, nanosec=after_ns % SECOND_NS)
        for controller in self._profile.controllers:
            columns = [self._profile.joint_names.index(joint) for joint in controller.joints]
            point = types["trajectory_msgs/msg/JointTrajectoryPoint"](
                positions=action[columns],
                velocities=np.zeros(len(columns)),
                accelerations=np.zeros(0),
                effort=np.zeros(0),
                time_from_start=span,
            )
            topic = self._roles.commands[controller.name]
            self._put(at_ns, topic, TRAJECTORY, joint_names=list(controller.joints), points=[point])

    def _put(self, at_ns: int, topic: str, kind: str, **values: Any) -> None:
        store = typestore()
        if kind != TEXT:
            stamp = store.types["builtin_interfaces/msg/Time"](sec=at_ns // SECOND_NS, nanosec=at_ns % SECOND_NS)
            values["header"] = store.types["std_msgs/msg/Header"](stamp=stamp, frame_id="")
        data = bytes(store.serialize_cdr(store.types[kind](**values), kind))
        self._writer.write(Sample(topic=topic, kind=kind, log_ns=at_ns, publish_ns=at_ns, number=0, data=data))

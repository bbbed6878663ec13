"""A recording, or an episode of a dataset, given to what draws it: joints, pictures and plans in the order of time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tendon.core.types import Array
from tendon.data.lerobot.reader import LeRobotDataset
from tendon.data.reading.frames import Frames
from tendon.data.reading.observations import camera_topics, require_begin
from tendon.data.reading.recording import McapRecording, decode
from tendon.data.recording.writer import Sample
from tendon.observation.joints import joint_sample
from tendon.observation.messages import stamp_ns

MAX_HZ = 30.0
"""A picture of the robot more often than this is seen by nobody."""


class Scene(Protocol):
    """What draws, such as `tendon.pictures.live_scene.LiveScene`."""

    def joints(self, stamp_ns: int, position: Array, velocity: Array) -> None:
        """Takes where the joints are."""

    def plan(self, stamp_ns: int, source: str, rows: Array) -> None:
        """Takes the rows of a chunk."""

    def image(self, stamp_ns: int, camera: str, pixels: npt.NDArray[np.uint8]) -> None:
        """Takes a picture."""


def show_recording(recording: McapRecording, scene: Scene, other: Callable[[Sample], None] | None = None) -> int:
    """Gives a recording to a scene; returns its messages that were shown.

    Args:
        recording: of a run.
        scene: draws.
        other: takes messages of safety/state, which say mode and margin; they need ROS.

    Raises:
        InvalidDataError: a message cannot be read.
    """
    roles = require_begin(recording).roles
    cameras, sources = camera_topics(recording), {topic: name for name, topic in roles.chunks.items()}
    states = [topic for topic in recording.topics if other is not None and topic.endswith("/safety/state")]
    wanted = [topic for topic in (roles.joint_states, *cameras, *sources, *states) if topic in recording.topics]
    reader, due_ns, count = Frames(), 0, 0
    for sample in recording.samples(wanted):
        if sample.topic in cameras:
            if (frame := reader.read(sample)) is None:
                continue
            scene.image(frame.stamp_ns, cameras[sample.topic], frame.pixels)
        elif sample.topic in sources:
            message: Any = decode(sample)
            order = [list(message.joint_names).index(name) for name in roles.joint_names]
            rows = np.array([point.positions for point in message.points], dtype=np.float64)[:, order]
            scene.plan(stamp_ns(message), sources[sample.topic], rows)
        elif sample.topic == roles.joint_states:
            state = joint_sample(roles.joint_names, decode(sample))
            if state.stamp_ns < due_ns:
                continue
            due_ns = state.stamp_ns + round(1e9 / MAX_HZ)
            scene.joints(state.stamp_ns, state.position, state.velocity)
        elif other is not None:
            other(sample)
        count += 1
    return count


def show_episode(dataset: LeRobotDataset, number: int, scene: Scene) -> int:
    """Gives an episode of a dataset to a scene; returns its frames.

    Raises:
        InvalidDataError: it cannot be read.
    """
    count = 0
    for frame in dataset.frames(number):
        position, velocity = (np.asarray(each, dtype=np.float64) for each in (frame.state, frame.velocity))
        scene.joints(frame.stamp_ns, position, velocity)
        for camera, pixels in frame.images.items():
            scene.image(frame.stamp_ns, camera, pixels)
        count += 1
    return count

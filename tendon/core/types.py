"""The frozen values that cross package borders. Arrays are copied on entry, read-only and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tendon.core.errors import InvalidDataError

Array = npt.NDArray[np.float64]


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(want in (None, got) for want, got in zip(wanted, shape, strict=True))


def freeze(name: str, value: Any, shape: tuple[int | None, ...]) -> Array:
    """Returns a read-only float64 copy of `value`.

    Args:
        name: what the error message calls it.
        value: anything numpy can make an array of.
        shape: expected shape; `None` stands for any length.

    Raises:
        InvalidDataError: wrong shape, or a value that is NaN or infinite.
    """
    array = np.array(value, dtype=np.float64)
    if array.shape != shape and not _fits(array.shape, shape):
        wanted = "x".join("any" if length is None else str(length) for length in shape)
        raise InvalidDataError(f"{name} has shape {array.shape}, expected {wanted}")
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InvalidDataError(f"{name}{list(where)} is {array[where]}: every value must be finite")
    array.setflags(write=False)
    return array


@dataclass(frozen=True, kw_only=True, eq=False)
class Image:
    """One camera frame.

    Attributes:
        stamp_ns: exposure time.
        pixels: (height, width, 3) uint8, RGB, read-only. A read-only array is kept without a copy.
    """

    stamp_ns: int
    pixels: npt.NDArray[np.uint8]

    def __post_init__(self) -> None:
        pixels = np.asarray(self.pixels)
        if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
            raise InvalidDataError(f"image is {pixels.dtype} {pixels.shape}, expected uint8 (height, width, 3)")
        if pixels.flags.writeable:
            pixels = pixels.copy()
            pixels.setflags(write=False)
        object.__setattr__(self, "pixels", pixels)


@dataclass(frozen=True, kw_only=True, eq=False)
class Observation:
    """What a policy sees, aligned to one instant.

    Attributes:
        stamp_ns: the instant: the exposure time of the images.
        joint_position: (n,) in the profile's joint order, rad or m.
        joint_velocity: (n,) rad/s or m/s.
        joint_effort: (n,) N m or N; `None` where nobody limits it.
        images: camera name to frame.
        instruction: the task in words.
    """

    stamp_ns: int
    joint_position: Array
    joint_velocity: Array
    joint_effort: Array | None = None
    images: Mapping[str, Image] = field(default_factory=dict)
    instruction: str = ""

    def __post_init__(self) -> None:
        position = freeze("joint_position", self.joint_position, (None,))
        object.__setattr__(self, "joint_position", position)
        object.__setattr__(self, "joint_velocity", freeze("joint_velocity", self.joint_velocity, position.shape))
        object.__setattr__(self, "images", dict(self.images))


MIN_STEP_NS = 2_000_000
"""Shortest time between rows. No policy answers rows closer than 5 ms; at 1 us a chunk of two rows that begins in a
second would be led into by a million."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Features:
    """What a policy's network made of an observation, besides the actions.

    Attributes:
        policy: digest of its bundle.
        embedding: (E,) of its context; E may be 0.
        points: (k, 3) places that it points at, in the robot's base frame [m]; k may be 0.
        progress: how much of the task is done by its estimate, 0 to 1; `None` where it makes none.
    """

    policy: str
    embedding: Array
    points: Array
    progress: float | None = None

    def __post_init__(self) -> None:
        if self.progress is not None and not 0.0 <= self.progress <= 1.0:
            raise InvalidDataError(f"progress is {self.progress}, must be 0 to 1")
        object.__setattr__(self, "embedding", freeze("embedding", self.embedding, (None,)))
        object.__setattr__(self, "points", freeze("points", self.points, (None, 3)))


@dataclass(frozen=True, kw_only=True, eq=False)
class ActionChunk:
    """T future joint targets of one inference.

    Attributes:
        actions: (T, n) joint position targets in the profile's joint order, rad or m.
        start_ns: when row 0 is due.
        step_ns: time between rows.
        observation_stamp_ns: stamp of the observation the chunk was inferred from.
        features: of that observation; `None` for a chunk of no bundle.

    Examples:
        >>> import numpy as np
        >>> from tendon import ActionChunk
        >>> rows = np.array([[0.1, 0.0], [0.2, 0.0]])
        >>> chunk = ActionChunk(actions=rows, start_ns=100_000_000, step_ns=100_000_000, observation_stamp_ns=0)
        >>> chunk.end_ns
        200000000
        >>> chunk.actions[0, 0] = 1.0
        Traceback (most recent call last):
            ...
        ValueError: assignment destination is read-only
    """

    actions: Array
    start_ns: int
    step_ns: int
    observation_stamp_ns: int
    features: Features | None = None

    def __post_init__(self) -> None:
        actions = freeze("actions", self.actions, (None, None))
        if not actions.shape[0]:
            raise InvalidDataError("actions has no rows: an action chunk needs at least one")
        if self.step_ns < MIN_STEP_NS:
            raise InvalidDataError(f"step_ns is {self.step_ns}, must be at least {MIN_STEP_NS}")
        object.__setattr__(self, "actions", actions)

    @property
    def end_ns(self) -> int:
        """When the last row is due."""
        return self.start_ns + (len(self.actions) - 1) * self.step_ns


@dataclass(frozen=True, kw_only=True, eq=False)
class Trajectory:
    """Points of a motion, k of them for n joints; the value a trajectory controller takes.

    Attributes:
        position: (k, n) rad or m.
        velocity: (k, n) rad/s or m/s.
        acceleration: (k, n) rad/s^2 or m/s^2; jerk is constant from each point to the next.
        time_from_start_ns: k strictly increasing times.
    """

    position: Array
    velocity: Array
    acceleration: Array
    time_from_start_ns: tuple[int, ...]

    def __post_init__(self) -> None:
        position = freeze("position", self.position, (None, None))
        object.__setattr__(self, "position", position)
        object.__setattr__(self, "velocity", freeze("velocity", self.velocity, position.shape))
        object.__setattr__(self, "acceleration", freeze("acceleration", self.acceleration, position.shape))
        times = tuple(int(t) for t in self.time_from_start_ns)
        if len(times) != len(position) or not times:
            raise InvalidDataError(f"{len(times)} times for {len(position)} points: need one each, at least one")
        if any(later <= earlier for earlier, later in pairwise(times)):
            raise InvalidDataError(f"time_from_start_ns {times} is not strictly increasing")
        object.__setattr__(self, "time_from_start_ns", times)


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class SentTrajectory:
    """A trajectory as it is between processes: nothing is checked, whoever takes it judges it.

    Attributes:
        stamp_ns: when `times_ns` 0 is; 0 means when it arrives, as in ROS.
        joint_names: the n columns.
        times_ns: k times from the stamp.
        position: (k, n) rad or m.
        velocity: (k, n) rad/s or m/s; (k, 0) without velocities.
        frame: the header's frame_id.
    """

    stamp_ns: int
    joint_names: tuple[str, ...]
    times_ns: Sequence[int]
    position: Array
    velocity: Array
    frame: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Command:
    """What is sent to a robot: a segment whose tail is a verified stop to rest.

    Attributes:
        stamp_ns: when `time_from_start_ns` 0 is.
        trajectory: the segment, then the stop; its last velocity is zero.
        reasons: why it differs from the target, empty when it does not.
    """

    stamp_ns: int
    trajectory: Trajectory
    reasons: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if np.any(self.trajectory.velocity[-1] != 0.0):
            raise InvalidDataError(
                f"a command ends with velocity {self.trajectory.velocity[-1].tolist()}: it must end at rest"
            )

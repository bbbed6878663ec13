"""Recorded episodes as a source of training: streamed from the disk, labelled on the way.

A frame's chunk is what was executed from then on, linear between frames by their true stamps; after the end the last
target stays. It is put into the policy's numbers by the adapter that runs the policy, so that both mean the same.
Several labels of a frame differ in how much of the chunk is given as a prefix.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tendon.core.errors import ConfigError, MismatchError
from tendon.core.stamps import SECOND_NS
from tendon.core.types import Array, Observation
from tendon.policies.adapter.adapter import Adapter
from tendon.policies.spec.components import VELOCITY_UNITS
from tendon.policies.spec.manifest import InstructionInput, Manifest
from tendon.policies.spec.tokens import Tokenizer
from tendon.policies.training.data import Arrays, Draw
from tendon.policies.training.hindsight import Hindsight
from tendon.robots.profile import RobotProfile

WITHOUT_PREFIX = 0.3
"""Share of labels without one."""
OPEN = 8
"""Episodes that are read at a time, so that neighbours in the pool come from different ones."""
POOL_BYTES, POOL_FRAMES = 256 << 20, 4096
"""What waits to be drawn, at most: memory does not depend on how much was recorded."""
IDLE_ROWS, IDLE = 4, 1e-3
"""A frame after which no joint's target moves by so much [rad or m] in so many rows teaches nothing but to wait."""
GAP_ROWS = 2.5
"""Where frames are missing for longer, nobody knows what was executed."""


class RecordedFrame(Protocol):
    """One frame of an episode: what was seen, and where the joints were told to be when the next one was."""

    @property
    def stamp_ns(self) -> int:
        """Its true stamp."""

    @property
    def state(self) -> npt.NDArray[Any]:
        """(n,) joints in the profile's order, as they are whatever the robot says [rad or m]."""

    @property
    def velocity(self) -> npt.NDArray[Any]:
        """(n,) likewise, a second."""

    @property
    def action(self) -> npt.NDArray[Any]:
        """(n,) like `state`."""

    @property
    def images(self) -> Mapping[str, npt.NDArray[np.uint8]]:
        """Camera to (height, width, 3) RGB."""

    @property
    def task(self) -> str:
        """In words."""

    def observation(self) -> Observation:
        """Returns what a policy sees of it."""


class Episodes(Protocol):
    """A dataset, or recordings. `tendon.data.episodes` opens them."""

    @property
    def name(self) -> str:
        """What errors call it."""

    @property
    def joints(self) -> Sequence[str]:
        """Of its states and actions."""

    @property
    def cameras(self) -> Mapping[str, tuple[int, int]]:
        """Height and width of each camera's pictures."""

    @property
    def fps(self) -> float:
        """Frames a second."""

    @property
    def has_velocity(self) -> bool:
        """Whether velocities were recorded."""

    @property
    def count(self) -> int:
        """Frames in all."""

    def __len__(self) -> int:
        """Episodes."""

    def frames(self, episode: int) -> Iterator[RecordedFrame]:
        """Yields the frames of an episode in their order."""

    def motion(self, episode: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
        """Returns stamps (k,), states (k, n) and actions (k, n) of an episode, without its pictures."""

    def spans(self, episode: int) -> Sequence[tuple[int, int]]:
        """Returns when each task of an episode begins and ends [ns], one after the other."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Recording:
    """Episodes, and the robot that they are of.

    Attributes:
        episodes: as they are on the disk.
        profile: of the robot.
        viewpoints: of its cameras, as demonstrations say them.
    """

    episodes: Episodes
    profile: RobotProfile
    viewpoints: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Task:
    """One of an episode's tasks; frames whose words change have the next one, whatever their stamps."""

    hindsight: Hindsight
    ends_at_rest: bool


class RecordedSource:
    """Frames of recorded episodes in a policy's numbers. One instance a thread.

    Args:
        recording: what to read.
        manifest: of the policy that learns.
        labels: of each frame.

    Raises:
        MismatchError: it is of another robot, lacks a camera, a velocity or frames that the policy needs.
    """

    def __init__(self, recording: Recording, manifest: Manifest, labels: int) -> None:
        self._episodes, self._manifest, self._labels = recording.episodes, manifest, labels
        check_episodes(recording.episodes, manifest)
        self._profile = recording.profile.uncalibrated  # episodes have joints as they are
        self._adapter = Adapter(manifest, self._profile)
        assert isinstance(manifest.instruction, InstructionInput)
        self._tokenizer = Tokenizer(manifest.instruction.vocabulary, manifest.instruction.tokens)
        self._steps_ns = manifest.action.step_ns * np.arange(1, manifest.action.rows + 1)
        size = sum(3 * camera.width * camera.height for camera in manifest.cameras)
        self._pool = min(POOL_FRAMES, max(POOL_BYTES // max(size, 1), 1), max(recording.episodes.count, 1))
        self._ahead_ns = int(self._steps_ns[-1]) + manifest.action.step_ns
        self._count = max(sum(map(self._usable, range(len(recording.episodes)))), 1)

    def __len__(self) -> int:
        """Frames that something is learned from, nearly: those before which the robot waits are none."""
        return self._count

    def _usable(self, episode: int) -> int:
        stamps, _, actions = self._episodes.motion(episode)
        if not len(stamps):
            return 0
        ends = np.searchsorted(stamps, stamps + IDLE_ROWS * self._manifest.action.step_ns, side="right")
        moves = np.array([np.ptp(actions[k:end], axis=0).max() >= IDLE for k, end in enumerate(ends)])
        return int(np.sum(moves | (stamps > stamps[-1] - self._ahead_ns)))

    def drawing(self, rng: np.random.Generator) -> Draw:
        """Returns what draws frames out of a pool that reading fills up again."""
        stream, pool = self._endless(rng), list[Arrays]()

        def draw(count: int) -> Arrays:
            while len(pool) < max(self._pool, count):
                pool.append(next(stream))
            places = rng.choice(len(pool), count, replace=False)
            found = [pool[place] for place in places]
            for place in places:
                pool[place] = next(stream)
            return {key: np.stack([frame[key] for frame in found]) for key in found[0]}

        return draw

    def _endless(self, rng: np.random.Generator) -> Iterator[Arrays]:
        order, empty = deque[int](), 0

        def next_episode() -> Iterator[Arrays]:
            if not order:
                order.extend(rng.permutation(len(self._episodes)).tolist())
            return self.labelled(order.popleft(), rng)

        reading = [next_episode() for _ in range(min(OPEN, len(self._episodes)))]
        while True:
            k = int(rng.integers(len(reading)))
            frame = next(reading[k], None)
            if frame is not None:
                empty = 0
                yield frame
                continue
            empty, reading[k] = empty + 1, next_episode()
            if empty > 2 * len(self._episodes) + OPEN:
                raise ConfigError(f"{self._episodes.name} has no frame to learn from: the robot never moves in it")

    def labelled(self, episode: int, rng: np.random.Generator) -> Iterator[Arrays]:
        """Yields the frames of an episode with their labels."""
        waiting, tasks = deque[RecordedFrame](), deque(self._tasks(episode))
        for frame in self._episodes.frames(episode):
            if waiting and frame.task != waiting[0].task:
                yield from self._rest(waiting, tasks[0], rng)
                if len(tasks) > 1:
                    tasks.popleft()
            waiting.append(frame)
            while frame.stamp_ns - waiting[0].stamp_ns >= self._ahead_ns:
                yield from self._label(waiting, tasks[0].hindsight, rng, ends=False)
                waiting.popleft()
        if waiting:
            yield from self._rest(waiting, replace(tasks[0], ends_at_rest=True), rng)

    def _rest(self, waiting: deque[RecordedFrame], task: _Task, rng: np.random.Generator) -> Iterator[Arrays]:
        """Labels the last frames of a task; what was on its way to another one when that was told teaches neither."""
        while waiting:
            if task.ends_at_rest:
                yield from self._label(waiting, task.hindsight, rng, ends=True)
            waiting.popleft()

    def _tasks(self, episode: int) -> list[_Task]:
        stamps, states, actions = self._episodes.motion(episode)
        found = []
        for begin_ns, end_ns in self._episodes.spans(episode):
            mine = (stamps >= begin_ns) & (stamps < end_ns)
            late = actions[mine & (stamps >= end_ns - IDLE_ROWS * self._manifest.action.step_ns)]
            found.append(
                _Task(
                    hindsight=Hindsight(stamps[mine], states[mine], actions[mine], self._profile),
                    ends_at_rest=not len(late) or bool(np.ptp(late, axis=0).max() < IDLE),
                )
            )
        return found

    def _label(
        self, waiting: Sequence[RecordedFrame], hindsight: Hindsight, rng: np.random.Generator, ends: bool
    ) -> Iterator[Arrays]:
        """Yields the first frame with its labels, or nothing when there is nothing to learn from it.

        Args:
            waiting: it and those after it.
            hindsight: of its task.
            rng: draws prefixes.
            ends: the task ends with the last of them.
        """
        frame, action = waiting[0], self._manifest.action
        stamps = np.array([each.stamp_ns - frame.stamp_ns for each in waiting], dtype=np.int64)
        due = np.append(stamps[1:], stamps[-1] + round(SECOND_NS / self._episodes.fps))
        if np.diff(stamps).max(initial=0) > GAP_ROWS * action.step_ns:
            return
        executed = np.array([each.action for each in waiting], dtype=np.float64)
        rows = np.stack([np.interp(self._steps_ns, due, column) for column in executed.T], axis=1)
        if not ends and np.ptp(rows[:IDLE_ROWS], axis=0).max() < IDLE:
            return
        if not frame.task.strip():
            raise ConfigError(
                f"{self._episodes.name} has frames without an instruction, and the policy learns to do what it is "
                "told: record with instruction:=, or convert with `tendon data convert --instruction`"
            )
        origin: Array = np.asarray(frame.state, dtype=np.float64)
        state = self._adapter.state(origin, np.asarray(frame.velocity, dtype=np.float64))
        most = self._manifest.prefix_rows
        given = np.where(rng.random(self._labels) < WITHOUT_PREFIX, 0, rng.integers(1, most + 1, self._labels))
        points, flags = hindsight.labels(frame.stamp_ns, origin)
        components = self._adapter.to_components(rows, origin).astype(np.float32)
        images = {f"image_{camera.name}": frame.images[camera.name] for camera in self._manifest.cameras}
        yield {
            **images,
            "state": state.astype(np.float32),
            "actions": np.tile(components, (self._labels, 1, 1)),
            "prefix_rows": given if most else np.zeros_like(given),
            "tokens": np.tile(self._tokenizer.encode(frame.task), (self._labels, 1)),
            "points": np.tile(points.astype(np.float32), (self._labels, 1, 1)),
            "placed": np.tile(~np.isnan(points) & [True, True, False], (self._labels, 1, 1)),
            "flags": np.tile(flags.astype(np.float32), (self._labels, 1)),
        }


def check_episodes(episodes: Episodes, manifest: Manifest) -> None:
    """Raises MismatchError where they are of another robot, or lack a camera, a velocity or frames for a policy."""
    if tuple(episodes.joints) != manifest.joint_names:
        raise MismatchError(
            f"{episodes.name} has joints {', '.join(episodes.joints)}, the robot {', '.join(manifest.joint_names)}: "
            "take data of this robot, or --robot for that one"
        )
    for camera in manifest.cameras:
        if camera.name not in episodes.cameras:
            raise MismatchError(
                f"{episodes.name} has no camera {camera.name}, which the policy sees (it has "
                f"{', '.join(episodes.cameras) or 'none'})"
            )
        height, width = episodes.cameras[camera.name]
        if (height, width) != (camera.height, camera.width):
            raise MismatchError(
                f"{episodes.name}: camera {camera.name} has {width}x{height} px, the policy sees "
                f"{camera.width}x{camera.height}: record with the camera set to that"
            )
    if episodes.fps * manifest.action.step_s < 1.0 - 1e-6:
        raise MismatchError(
            f"{episodes.name} has {episodes.fps:g} frames a second, the policy's rows are {manifest.action.step_s:g} s "
            f"apart: it takes at least {1.0 / manifest.action.step_s:g}"
        )
    speeds = any(
        item.name == "tool_velocity" or any(joint.unit in VELOCITY_UNITS for joint in item.joints)
        for item in manifest.state
    )
    if speeds and not episodes.has_velocity:
        raise MismatchError(f"{episodes.name} has no velocities, which the policy sees: it has no column `velocity`")

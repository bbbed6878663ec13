"""Datasets and recordings as episodes to learn from, whatever their format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tendon.core.errors import ConfigError, InvalidDataError, MismatchError
from tendon.core.stamps import SECOND_NS
from tendon.core.types import Array
from tendon.data.convert.from_mcap import Options, frames, shape_for
from tendon.data.convert.motion import Commands
from tendon.data.lerobot.layout import ACTION, INFO, STATE, VELOCITY
from tendon.data.lerobot.reader import LeRobotDataset, stamps_of
from tendon.data.lerobot.writer import Frame
from tendon.data.reading.files import cut_line, recordings
from tendon.data.reading.observations import camera_topics, require_begin
from tendon.data.reading.recording import McapRecording
from tendon.data.reading.tasks import Tasks
from tendon.data.recording.episode import Outcome
from tendon.observation.joints import joint_sample
from tendon.robots.profile import RobotProfile

Motion = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]
Span = tuple[int, int]
FAILURE = Outcome.FAILURE.value


class DatasetEpisodes:
    """The episodes of a LeRobotDataset v3.0, but for failures.

    Args:
        root: its folder.

    Attributes:
        left_out: why episodes are not among these, a line each.
        untold: how many of these have no instruction.

    Raises:
        InvalidDataError: it is no whole dataset.
        ConfigError: no episode is left.
    """

    def __init__(self, root: Path) -> None:
        self._dataset, self.name = LeRobotDataset(root), str(root)
        shape, rows = self._dataset.shape, self._dataset.episodes
        self.joints, self.fps = shape.joints, float(shape.fps)
        self.cameras = {camera.name: (camera.height, camera.width) for camera in shape.cameras}
        self.has_velocity = VELOCITY in self._dataset.info["features"]
        self._kept = [k for k, row in enumerate(rows) if row.get("outcome") != FAILURE]
        self.count = sum(int(rows[k]["length"]) for k in self._kept)
        self.untold = len(set(self._dataset.untold) & set(self._kept))
        failed = len(rows) - len(self._kept)
        self.left_out = [f"{root}: {failed} of {len(rows)} episodes are failures"] if failed else []
        _require_some(self.name, self._kept, self.left_out)

    def __len__(self) -> int:
        return len(self._kept)

    def frames(self, episode: int) -> Iterator[Frame]:
        """Yields the frames of an episode.

        Raises:
            InvalidDataError: something of it cannot be read.
        """
        yield from self._dataset.frames(self._kept[episode])

    def motion(self, episode: int) -> Motion:
        """Returns stamps, states and actions of an episode, without its pictures.

        Raises:
            InvalidDataError: they cannot be read.
        """
        rows = self._dataset.rows(self._kept[episode])
        return stamps_of(rows), rows[STATE], rows[ACTION]

    def spans(self, episode: int) -> list[Span]:
        """Returns when each task of an episode begins and ends, see `spans_of`.

        Raises:
            InvalidDataError: it cannot be read.
        """
        rows = self._dataset.rows(self._kept[episode])
        return spans_of(stamps_of(rows), rows["task_index"].tolist())


class RecordedEpisodes:
    """Recordings, an episode a file, but for failures and those that are bad or no recording of this robot.

    Args:
        place: a file or a folder of them.
        profile: of the robot.

    Attributes:
        left_out: why recordings are not among these, a line each.
        untold: how many of these have no instruction.

    Raises:
        MismatchError: they are of another robot.
        ConfigError: no recording is left.
    """

    has_velocity = True

    def __init__(self, place: Path, profile: RobotProfile) -> None:
        self.name, self._profile, self.joints = str(place), profile, profile.joint_names
        self.left_out: list[str] = []
        self._kept: list[McapRecording] = []
        for file in recordings([place]):
            try:
                recording = McapRecording(file)
                why = self._unusable(recording)
            except InvalidDataError as error:
                recording, why = None, str(error)
            if recording is None or why:
                self.left_out.append(why)
            else:
                self._kept.append(recording)
        self.left_out += [cut] if (cut := cut_line([place])) else []
        _require_some(self.name, self._kept, self.left_out)
        shapes = [shape_for(recording, profile, Options()) for recording in self._kept]
        self.fps = float(shapes[0].fps)
        common = set.intersection(*({camera.name for camera in shape.cameras} for shape in shapes))
        self.cameras: Mapping[str, tuple[int, int]] = {
            camera.name: (camera.height, camera.width) for camera in shapes[0].cameras if camera.name in common
        }
        self.count = sum(map(_frames, self._kept))
        self.untold = sum(not Tasks(each, require_begin(each)).told for each in self._kept)

    def _unusable(self, recording: McapRecording) -> str:
        begin, end = require_begin(recording), recording.end
        if begin.roles.joint_names != self._profile.joint_names:
            raise MismatchError(
                f"{recording.path} has joints {', '.join(begin.roles.joint_names)}; {self._profile.name} has "
                f"{', '.join(self._profile.joint_names)}: take data of this robot, or --robot for that one"
            )
        if recording.fault:
            return f"{recording.path} is bad: {recording.fault}"
        return f"{recording.path} is a failure" if end is not None and end.outcome.value == FAILURE else ""

    def __len__(self) -> int:
        return len(self._kept)

    def frames(self, episode: int) -> Iterator[Frame]:
        """Yields the frames of an episode.

        Raises:
            InvalidDataError: a message cannot be read, or does not fit the robot.
        """
        recording = self._kept[episode]
        yield from frames(recording, self._profile, shape_for(recording, self._profile, Options()), proposed=False)

    def motion(self, episode: int) -> Motion:
        """Returns stamps, states and actions, without pictures.

        Raises:
            InvalidDataError: a message cannot be read, or does not fit the robot.
        """
        recording, period_ns = self._kept[episode], SECOND_NS / self.fps
        commands, stamps, states = Commands(recording, self._profile), list[int](), list[Array]()
        for _, message in recording.messages([require_begin(recording).roles.joint_states]):
            state = joint_sample(self.joints, message)
            if not stamps or state.stamp_ns - stamps[-1] >= 0.99 * period_ns:
                stamps.append(state.stamp_ns)
                states.append(state.position - self._profile.zeros)
        if commands.begin_ns is None or not states:
            return np.zeros(0, dtype=np.int64), np.zeros((0, len(self.joints))), np.zeros((0, len(self.joints)))
        actions = [commands.executed(stamp + round(period_ns)) - self._profile.zeros for stamp in stamps]
        return np.array(stamps), np.array(states), np.array(actions)

    def spans(self, episode: int) -> list[Span]:
        """Returns when each task of an episode begins and ends, see `spans_of`.

        Raises:
            InvalidDataError: a message cannot be read, or does not fit the robot.
        """
        recording = self._kept[episode]
        begin, stamps, told = require_begin(recording), list[int](), list[str]()
        tasks = Tasks(recording, begin)
        for sample, message in recording.messages([begin.roles.joint_states]):
            stamps.append(joint_sample(self.joints, message).stamp_ns)
            told.append(tasks.at(sample.log_ns))
        return spans_of(np.array(stamps, np.int64), told)


def spans_of(stamps_ns: npt.NDArray[np.int64], tasks: Sequence[Any]) -> list[Span]:
    """Returns (begin_ns, end_ns) of each task that was followed, one after the other; an end is the next begin.

    Args:
        stamps_ns: (k,) rising.
        tasks: of each.
    """
    if not len(stamps_ns):
        return []
    begins = [0, *(k for k in range(1, len(tasks)) if tasks[k] != tasks[k - 1])]
    ends = [*(int(stamps_ns[k]) for k in begins[1:]), int(stamps_ns[-1]) + 1]
    return [(int(stamps_ns[k]), end) for k, end in zip(begins, ends, strict=True)]


def open_episodes(place: Path, profile: RobotProfile) -> DatasetEpisodes | RecordedEpisodes:
    """Returns what is at a place.

    Raises:
        ConfigError: nothing to learn from is there.
        MismatchError: it is of another version or robot.
        InvalidDataError: it cannot be read.
    """
    if (place / INFO).is_file():
        return DatasetEpisodes(place)
    if place.is_file() or any(place.glob("*.mcap")):
        return RecordedEpisodes(place, profile)
    raise ConfigError(
        f"there is {'nothing to learn from at' if place.exists() else 'no'} {place}: name a LeRobot dataset or "
        "recordings (.mcap), or for `tendon policy train` what `tendon data demos` made"
    )


def _frames(recording: McapRecording) -> int:
    """Returns how many frames it has at most: those of the camera with the fewest."""
    return min((recording.topics[topic].count for topic in camera_topics(recording)), default=0)


def _require_some(name: str, kept: list[int] | list[McapRecording], left_out: list[str]) -> None:
    if not kept:
        raise ConfigError(f"{name} has no episode to learn from" + (f": {left_out[0]}" if left_out else ""))

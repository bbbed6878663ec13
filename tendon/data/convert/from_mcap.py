"""A recording to an episode of a dataset.

Frames are the observations that a policy would have been given, by the same code; the action of a frame is where the
robot was commanded to be at the time of the next one. Nominal times are `frame_index / fps`, as LeRobot reads them; the
true stamps stand beside them in `stamp_ns`. Pictures are never held: each goes to its encoder as it is read.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tendon.core.errors import ConfigError, InvalidDataError, MismatchError
from tendon.core.stamps import SECOND_NS
from tendon.core.types import Array, Observation
from tendon.data.convert.motion import Commands, Proposals
from tendon.data.lerobot.layout import Camera, Shape
from tendon.data.lerobot.writer import DatasetWriter, Frame, require_fit
from tendon.data.reading.observations import camera_topics, observations, require_begin
from tendon.data.reading.recording import McapRecording
from tendon.data.reading.tasks import Tasks
from tendon.robots.calibration import calibration_digest
from tendon.robots.profile import RobotProfile, load_profile

GAP_FRAMES = 1.5
"""Periods between two frames from which on one is missing."""
LEAST_FRAMES, RATE_SHARE = 5, 0.1
"""So many are looked at for how far apart they are, and so much further than the dataset says they may be."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How recordings are converted.

    Attributes:
        fps: frames a second; 0 takes the rate of the slowest camera.
        codec: h264, av1, or png for pictures without loss in the parquet files.
        proposed: whether what was proposed stands beside what was executed.
        bad: take recordings with missing messages, too.
        instruction: of recordings that have none.
    """

    fps: int = 0
    codec: str = "h264"
    proposed: bool = False
    bad: bool = False
    instruction: str = ""


@dataclass(frozen=True, kw_only=True)
class Converted:
    """What became of a recording.

    Attributes:
        episode: its number; `None` when it was converted before.
        frames: of it.
        gaps: places where frames are missing.
        recalibrated: it was recorded with another calibration than the robot has now, which tells its joints.
    """

    episode: int | None
    frames: int = 0
    gaps: int = 0
    recalibrated: bool = False


def profile_of(recording: McapRecording) -> RobotProfile:
    """Returns the profile of the recorded robot.

    Raises:
        InvalidDataError: it was not recorded by Tendon.
        MismatchError: the robot of this name is another one now.
    """
    begin = require_begin(recording)
    profile = load_profile(begin.robot)
    if profile.joint_names != begin.roles.joint_names:
        raise MismatchError(
            f"{recording.path} was recorded with joints {', '.join(begin.roles.joint_names)}; robot {begin.robot} has "
            f"{', '.join(profile.joint_names)} now: take the profile of then"
        )
    return profile


def shape_for(recording: McapRecording, profile: RobotProfile, options: Options) -> Shape:
    """Returns what a dataset of a recording is like.

    Raises:
        ConfigError: it is to have more frames a second than were recorded: their times would be wrong.
    """
    names = dict.fromkeys(camera_topics(recording).values())
    cameras = [profile.camera(name) for name in require_begin(recording).roles.cameras if name in names]
    rate = min((camera.rate_hz for camera in cameras), default=profile.control_hz)
    if options.fps > math.ceil(rate):
        raise ConfigError(f"--fps is {options.fps}, may be at most {math.ceil(rate)}: what the slowest camera takes")
    return Shape(
        robot=profile.name,
        fps=options.fps or round(rate),
        joints=profile.joint_names,
        cameras=tuple(Camera(name=each.name, width=each.width, height=each.height) for each in cameras),
        codec=options.codec,
        proposed=options.proposed,
    )


def convert(path: Path, root: Path, options: Options) -> Converted:
    """Appends a recording to a dataset, see `convert_into`; the dataset is made where it is not there."""
    return convert_into(path, lambda shape: DatasetWriter(root, shape), options)


def convert_into(
    path: Path,
    writer_for: Callable[[Shape], DatasetWriter],
    options: Options,
    told: Callable[[float], None] = lambda share: None,
) -> Converted:
    """Appends a recording to a dataset, unless it is in it.

    Args:
        path: of the recording.
        writer_for: returns what appends to the dataset, given what the recording's episode is like.
        options: how.
        told: gets the share of the recording that is done.

    Raises:
        InvalidDataError: the recording is cut, is bad and bad ones are not wanted, has fewer frames a second than the
            dataset, or holds nothing to learn from.
        MismatchError: the robot of this name is another one now, or the dataset is of another robot.
    """
    recording = McapRecording(path)
    end, profile = recording.end, profile_of(recording)
    if recording.fault and not options.bad:
        raise InvalidDataError(f"{path} is bad: {recording.fault}: leave it out, or take it as it is with --bad")
    writer = writer_for(shape_for(recording, profile, options))
    source = source_of(recording)
    if {source, path.name} & set(writer.sources):  # datasets of before have names alone
        return Converted(episode=None)
    appender = writer.begin()
    count = gaps = 0
    apart_ns: list[int] = []
    told_tasks = Tasks(recording, require_begin(recording)).told
    before_ns: int | None = None
    first_ns = 0
    try:
        for frame in fitting_frames(recording, profile, writer.shape, options.proposed):
            first_ns = first_ns or frame.stamp_ns
            told(min(1.0, (frame.stamp_ns - first_ns) / SECOND_NS / max(recording.seconds, 1.0)))
            if before_ns is not None:
                apart_ns.append(frame.stamp_ns - before_ns)
                gaps += apart_ns[-1] > GAP_FRAMES * SECOND_NS / writer.shape.fps
            before_ns = frame.stamp_ns
            appender.add(frame if told_tasks or frame.task.strip() else replace(frame, task=options.instruction))
            count += 1
        _require_rate(path, apart_ns, writer.shape.fps)
        number = appender.finish(source, "" if end is None else end.outcome.value)
    except BaseException:
        appender.abandon()
        raise
    return Converted(episode=number, frames=count, gaps=gaps, recalibrated=_recalibrated(recording, profile))


def _require_rate(path: Path, apart_ns: list[int], fps: int) -> None:
    """Wants frames as far apart as a dataset says: readers take frame / fps for the time.

    Raises:
        InvalidDataError: they are further apart, as where a profile has a faster camera now than then.
    """
    period_ns = SECOND_NS / fps
    near = [each for each in apart_ns if each <= GAP_FRAMES * period_ns]
    if len(apart_ns) < LEAST_FRAMES or (
        2 * len(near) > len(apart_ns) and sum(near) / len(near) < (1 + RATE_SHARE) * period_ns
    ):
        return
    usual_ns = float(np.median(apart_ns))
    raise InvalidDataError(
        f"{path}: its frames are {usual_ns * 1e-6:.0f} ms apart, at {fps} a second {period_ns * 1e-6:.0f}: its cameras "
        f"were slower than the profile says now; take --fps {max(1, int(SECOND_NS / usual_ns + RATE_SHARE))}"
    )


def _recalibrated(recording: McapRecording, profile: RobotProfile) -> bool:
    used = require_begin(recording).hashes
    now = None if profile.calibration is None else calibration_digest(profile.calibration)
    return "profile" in used and used.get("calibration") != now


def source_of(recording: McapRecording) -> str:
    """Returns what tells a recording from others: names begin at 0 in each folder, when it began does not."""
    began = datetime.datetime.fromtimestamp(require_begin(recording).started_ns / SECOND_NS, datetime.timezone.utc)
    return f"{recording.path.name} {began:%Y-%m-%dT%H:%M:%S.%fZ}"


def fitting_frames(recording: McapRecording, profile: RobotProfile, shape: Shape, proposed: bool) -> Iterator[Frame]:
    """Yields the frames that a dataset of a shape would have of a recording, one at least.

    Raises:
        InvalidDataError: a message cannot be read, or does not fit the robot; a frame does not fit the dataset; or
            there is none.
    """
    before_ns: int | None = None
    for frame in frames(recording, profile, shape, proposed):
        require_fit(frame, shape, before_ns)
        before_ns = frame.stamp_ns
        yield frame
    if before_ns is None:
        raise InvalidDataError(f"{recording.path} has no frame after its first command: there is nothing to learn from")


def frames(recording: McapRecording, profile: RobotProfile, shape: Shape, proposed: bool) -> Iterator[Frame]:
    """Yields the frames of a recording from its first command on.

    Raises:
        InvalidDataError: a message cannot be read, or does not fit the robot.
    """
    commands, zeros = Commands(recording, profile), profile.zeros
    proposals = Proposals(recording, profile) if proposed else None
    if commands.begin_ns is None:
        return
    held: Observation | None = None
    for observation in _thinned(recording, profile, shape.fps, commands.begin_ns):
        if held is not None:
            yield _frame(held, observation.stamp_ns, commands, proposals, zeros)
        held = observation
    if held is not None:
        yield _frame(held, held.stamp_ns + SECOND_NS // shape.fps, commands, proposals, zeros)


def _thinned(recording: McapRecording, profile: RobotProfile, fps: int, begin_ns: int) -> Iterator[Observation]:
    """Yields the observations nearest to a grid of `fps` from the first after a time on; after a gap it begins anew."""
    yield from nearest_to_grid(
        (seen.observation for seen in observations(recording, profile) if seen.observation.stamp_ns >= begin_ns),
        SECOND_NS / fps,
    )


def nearest_to_grid(found: Iterable[Observation], period_ns: float) -> Iterator[Observation]:
    """Yields of rising observations those nearest to a grid from the first one on; after a gap it begins anew."""
    due_ns: float | None = None
    before: Observation | None = None
    for seen in found:
        due_ns = seen.stamp_ns if due_ns is None else due_ns
        while seen.stamp_ns >= due_ns:
            near = seen if before is None or seen.stamp_ns - due_ns <= due_ns - before.stamp_ns else before
            due_ns = (near.stamp_ns if near.stamp_ns > due_ns + period_ns else due_ns) + period_ns
            before = None
            yield near
            if near is seen:
                break
        else:
            before = seen
    if before is not None and due_ns is not None and due_ns - before.stamp_ns < period_ns / 4:
        yield before


def _frame(seen: Observation, next_ns: int, commands: Commands, proposals: Proposals | None, zeros: Array) -> Frame:
    """Returns a frame of joints as they are: `zeros` (n,) is how much larger the robot says that they are."""
    executed = commands.executed(next_ns)
    wanted = None if proposals is None else proposals.at(seen.stamp_ns, next_ns)
    return Frame(
        stamp_ns=seen.stamp_ns,
        state=seen.joint_position - zeros,
        velocity=seen.joint_velocity,
        action=executed - zeros,
        proposed=(executed if wanted is None else wanted) - zeros,
        images={name: image.pixels for name, image in seen.images.items()},
        task=seen.instruction,
    )

"""Observations made again of a recording: by the code that made them for the policy, from the same messages."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tendon.core.errors import InvalidDataError
from tendon.core.stamps import nanoseconds_of
from tendon.core.types import Image, Observation
from tendon.data.reading.frames import Frames
from tendon.data.reading.recording import McapRecording, decode
from tendon.data.reading.tasks import Tasks
from tendon.data.recording.episode import EpisodeBegin
from tendon.data.recording.pictures import SUFFIXES
from tendon.observation.assembly import JointSample, Sources, assemble, digest, exposed
from tendon.observation.feed import ObservationFeed
from tendon.observation.given import Given, read_words
from tendon.observation.joints import joint_sample
from tendon.observation.messages import stamp_ns
from tendon.robots.profile import RobotProfile
from tendon.robots.safety_settings import nanoseconds

FRAMES, STATES = 64, 2048
"""Kept of each camera, and of the joint states, until an observation made of them is heard of."""
PATIENCE = 4000
"""Messages that may come between what an observation was made of and the word of it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Rebuilt:
    """One observation that the policy was given.

    Attributes:
        given: what was said of it.
        observation: the same made again; `None` where a message of it is not recorded.
    """

    given: Given
    observation: Observation | None

    @property
    def same(self) -> bool:
        """Whether it is the same bit for bit."""
        return self.observation is not None and digest(self.observation) == self.given.digest


def require_begin(recording: McapRecording) -> EpisodeBegin:
    """Returns what a recording says of its begin.

    Raises:
        InvalidDataError: it was not recorded by Tendon.
    """
    if recording.begin is None:
        raise InvalidDataError(f"{recording.path} says neither robot nor topics: it was not recorded by Tendon")
    return recording.begin


def camera_topics(recording: McapRecording) -> dict[str, str]:
    """Returns topic to camera of those that were recorded, whichever way."""
    cameras = require_begin(recording).roles.cameras
    return {
        topic + suffix: name
        for name, topic in cameras.items()
        for suffix in SUFFIXES.values()
        if topic + suffix in recording.topics and recording.topics[topic + suffix].count
    }


def rebuilt(recording: McapRecording, profile: RobotProfile) -> Iterator[Rebuilt]:
    """Yields each observation that the policy node says it was given, made again.

    One that is made of messages from before the episode, or that a crash has cut off, is passed over.

    Raises:
        InvalidDataError: a message cannot be read, or the recording is not Tendon's.
    """
    roles = require_begin(recording).roles
    cameras, joints, late_s = camera_topics(recording), roles.joint_states, profile.latencies.cameras
    given_topic = roles.others.get("given", "")
    frames: dict[str, deque[Image]] = {name: deque(maxlen=FRAMES) for name in cameras.values()}
    states: deque[JointSample] = deque(maxlen=STATES)
    reader = Frames()
    first: dict[str, int] = {}
    tasks = Tasks(recording, require_begin(recording))
    pending: deque[tuple[int, Given, tuple[str, ...]]] = deque()
    wanted = [*cameras, joints, given_topic]
    for count, sample in enumerate(recording.samples([topic for topic in wanted if topic in recording.topics])):
        if sample.topic in cameras:
            camera = cameras[sample.topic]
            if (read := reader.read(sample)) is not None:
                frame = exposed(read, nanoseconds(late_s.get(camera, 0.0)))
                first.setdefault(camera, frame.stamp_ns)
                frames[camera].append(frame)
        elif sample.topic == joints:
            state = joint_sample(profile.joint_names, decode(sample))
            first.setdefault("", state.stamp_ns)
            states.append(state)
        else:
            pending.append((count, _read_given(decode(sample)), tasks.around(sample.log_ns)))
        while pending:
            since, given, told = pending[0]
            found = _again(given, frames, states, told)
            if found is None and count - since < PATIENCE and not _passed(given.sources, frames, states):
                break
            pending.popleft()
            if found is not None or not _before(given.sources, first):
                yield Rebuilt(given=given, observation=found)
    for _, given, told in pending:
        found = _again(given, frames, states, told)
        if found is not None or not (_before(given.sources, first) or _after(given.sources, frames, states)):
            yield Rebuilt(given=given, observation=found)


def _before(sources: Sources, first: dict[str, int]) -> bool:
    """Returns whether something of an observation is from before the recording."""
    stamps = [*sources.images.items(), *(("", stamp) for stamp in sources.joints)]
    return any(name not in first or stamp < first[name] for name, stamp in stamps)


def _after(sources: Sources, frames: dict[str, deque[Image]], states: deque[JointSample]) -> bool:
    """Returns whether something of an observation is from after its end."""
    late = any(not frames.get(name) or stamp > frames[name][-1].stamp_ns for name, stamp in sources.images.items())
    return late or any(not states or stamp > states[-1].stamp_ns for stamp in sources.joints)


def _passed(sources: Sources, frames: dict[str, deque[Image]], states: deque[JointSample]) -> bool:
    """Returns whether something of an observation will not come any more: its stream has gone on without it."""
    wanted: list[tuple[Any, int]] = [(frames.get(name, ()), stamp) for name, stamp in sources.images.items()]
    wanted += [(states, stamp) for stamp in sources.joints]
    return any(found and found[-1].stamp_ns > stamp and _at(found, stamp) is None for found, stamp in wanted)


def _again(
    given: Given, frames: dict[str, deque[Image]], states: deque[JointSample], tasks: tuple[str, ...]
) -> Observation | None:
    sources: Sources = given.sources
    images = {name: _at(frames.get(name, ()), stamp) for name, stamp in sources.images.items()}
    used = [_at(states, stamp) for stamp in sources.joints]
    if None in images.values() or None in used:
        return None
    made = [assemble(images, used, task) for task in tasks]
    return next((each for each in made if digest(each) == given.digest), made[0])


def _at(found: Any, stamp: int) -> Any:
    """Returns the first of a stamp: a repeated one is dropped by whoever makes an observation live."""
    return next((each for each in found if each.stamp_ns == stamp), None)


def _read_given(message: Any) -> Given:
    _, value, cameras, joints = message.frame_id.split(" ")
    at_ns = nanoseconds_of(int(message.stamp.sec), int(message.stamp.nanosec))
    return Given(sources=read_words(at_ns, cameras, joints), digest=value)


@dataclass(frozen=True, kw_only=True, eq=False)
class Seen:
    """An observation of a dataset.

    Attributes:
        observation: as a policy would be given it.
        log_ns: when the message that completed it was received.
    """

    observation: Observation
    log_ns: int


def observations(recording: McapRecording, profile: RobotProfile) -> Iterator[Seen]:
    """Yields every observation that the messages of a recording make, as the policy node would have.

    Nothing is extrapolated: a joint state after the exposure is waited for. What the node drops and goes on after, such
    as a frame whose stamp repeats, is dropped here too.

    Raises:
        InvalidDataError: a message cannot be read, or all that came was to be dropped.
    """
    begin = require_begin(recording)
    cameras, roles = camera_topics(recording), begin.roles
    if missing := [name for name in roles.cameras if name not in cameras.values()]:
        raise InvalidDataError(
            f"{recording.path} has no frames of camera {', '.join(missing)}, which {begin.robot} has: record it again "
            "with all cameras, or take the camera out of the profile"
        )
    reader = Frames()
    feed, tasks = ObservationFeed(profile, tuple(roles.cameras), simulated=True), Tasks(recording, begin)
    dropped, count = "", 0
    for sample in recording.samples([*cameras, roles.joint_states]):
        # what cannot be read at all ends it, what the feed does not take is dropped
        is_frame = sample.topic in cameras
        read = reader.read(sample) if is_frame else decode(sample)
        try:
            if is_frame and read is not None:
                feed.add_frame(cameras[sample.topic], read, read.stamp_ns)
            elif not is_frame:
                feed.add_joints(read, stamp_ns(read))
        except InvalidDataError as error:
            dropped = dropped or str(error)
        while (seen := feed.observation(tasks.at(sample.log_ns))) is not None:
            count += 1
            yield Seen(observation=seen, log_ns=sample.log_ns)
    if not count and dropped:
        raise InvalidDataError(f"{recording.path}: {dropped}")

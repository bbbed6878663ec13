"""What a recording's robot was commanded and did, to be done again, and how near a second time came to it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tendon.core.errors import InvalidDataError, MismatchError
from tendon.core.types import Array
from tendon.data.convert.motion import Commands
from tendon.data.reading.observations import require_begin
from tendon.data.reading.recording import McapRecording
from tendon.observation.joints import joint_sample
from tendon.robots.profile import RobotProfile

STEP_NS = 20_000_000
"""Between the rows that are sent."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordedMotion:
    """What was executed in a recording.

    Attributes:
        actions: (k, n) where the joints were commanded to be, every `STEP_NS` from the first command on, rad or m.
        times_ns: (m,) of joint states, from the first command on; at least two.
        positions: (m, n) where the joints were, rad or m.
    """

    actions: Array
    times_ns: npt.NDArray[np.int64]
    positions: Array

    @property
    def seconds(self) -> float:
        """From the first row to the last."""
        return (len(self.actions) - 1) * STEP_NS * 1e-9


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """How far one joint was from where it had been at the same time.

    Attributes:
        joint: its name.
        rms: root of the mean square, rad or m.
        largest: rad or m.
        at_s: when that was.
    """

    joint: str
    rms: float
    largest: float
    at_s: float


def read_motion(path: Path, profile: RobotProfile) -> RecordedMotion:
    """Returns what was executed in a recording.

    Raises:
        MismatchError: it is of another robot.
        InvalidDataError: it cannot be read, or nothing was executed in it.
    """
    recording = McapRecording(path)
    begin = require_begin(recording)
    if begin.roles.joint_names != profile.joint_names:
        raise MismatchError(
            f"{path} is of {begin.robot} with joints {', '.join(begin.roles.joint_names)}; the graph runs "
            f"{profile.name}: start it with robot:={begin.robot}"
        )
    commands = Commands(recording, profile)
    first_ns, last_ns = commands.begin_ns, commands.end_ns
    if first_ns is None or last_ns is None or last_ns - first_ns < STEP_NS:
        raise InvalidDataError(
            f"nothing was executed in {path}: not every controller was sent commands; the robot has to be armed "
            "while it is recorded"
        )
    samples = [
        joint_sample(profile.joint_names, message)
        for _, message in recording.messages([begin.roles.joint_states] if begin.roles.joint_states else [])
    ]
    samples = [each for each in samples if first_ns <= each.stamp_ns <= last_ns]
    if len(samples) < 2:
        raise InvalidDataError(f"{path} has no joint states while commands were executed: there is nothing to compare")
    return RecordedMotion(
        actions=commands.between(np.arange(first_ns, last_ns + 1, STEP_NS)),
        times_ns=np.array([each.stamp_ns - first_ns for each in samples]),
        positions=np.array([each.position for each in samples]),
    )


def compare(
    recorded: RecordedMotion, times_ns: npt.NDArray[np.int64], positions: Array, profile: RobotProfile
) -> list[Deviation]:
    """Returns how far each joint was from the recording.

    Args:
        recorded: the first time.
        times_ns: (m,) of the second, since the first row was due.
        positions: (m, n) rad or m.
        profile: names the joints.

    Raises:
        InvalidDataError: the two have no time in common.
    """
    begin, end = recorded.times_ns[[0, -1]]
    common = (times_ns >= begin) & (times_ns <= end)
    if not common.any():
        raise InvalidDataError("no joint state came while the recorded motion lasted: there is nothing to compare")
    times, there = times_ns[common], positions[common]
    found = []
    for joint, name in enumerate(profile.joint_names):
        away = np.abs(there[:, joint] - np.interp(times, recorded.times_ns, recorded.positions[:, joint]))
        rms, worst = float(np.sqrt(np.mean(away**2))), int(away.argmax())
        found.append(Deviation(joint=name, rms=rms, largest=float(away[worst]), at_s=float(times[worst]) * 1e-9))
    return found

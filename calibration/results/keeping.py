"""What a step found, put into the robot's calibration: the file that its profile names, or a new one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from tendon.calibration.joints import JointZero
from tendon.calibration.latency import Delay
from tendon.calibration.results.composing import with_solved, with_zero
from tendon.calibration.results.file import load_record, write_record
from tendon.calibration.results.record import CalibrationRecord, now
from tendon.core.checks import closest
from tendon.core.errors import CalibrationError, MismatchError
from tendon.robots.calibration import MAX_LATENCY_S, MAX_ZERO
from tendon.robots.profile import RobotProfile
from tendon.robots.profile_edit import name_calibration


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A calibration that was written.

    Attributes:
        record: what it says.
        file: of it.
        before: the backup of the one before, `None` where there was none.
    """

    record: CalibrationRecord
    file: Path
    before: Path | None

    def lines(self) -> list[str]:
        """Returns where it is, and which parts of it are stale."""
        return [
            f"calibration: {self.file}" + (f" (the one before: {self.before})" if self.before else ""),
            *stale_lines(self.record),
        ]


def stale_lines(record: CalibrationRecord, kind: str = "") -> list[str]:
    """Returns a line for each part of a calibration that leans on something which was found anew after it.

    Args:
        record: the calibration.
        kind: what their names begin with, such as "camera"; empty are all.
    """
    return [
        f"stale: {part} was found with other zeros, since then changed (rad or m) are "
        f"{', '.join(f'{joint} by {change:+.5f}' for joint, change in changes.items())}: {_again(record.robot, part)}"
        for part, changes in record.stale.items()
        if part.startswith(kind)
    ]


def _again(robot: str, part: str) -> str:
    """Returns the commands that find a part anew."""
    kind, name = part.split(" ", 1)
    views = "take views of it with `tendon calibrate guide SESSION`, then `tendon calibrate solve SESSION`"
    if kind != "joint":
        return views
    return f"measure it again with `tendon calibrate joint {robot} {name} --said X --true Y --write`, or {views}"


def named_record(profile: RobotProfile) -> CalibrationRecord | None:
    """Returns the calibration that a profile names, `None` where it names none.

    Raises:
        ConfigError: it cannot be read, or is of another format.
        IntegrityError: it was changed after it was written.
        MismatchError: it is of another robot.
    """
    if profile.calibration is None:
        return None
    record = load_record(profile.calibration)
    if record.robot != profile.name:
        raise MismatchError(
            f"calibration {profile.calibration} is of robot {record.robot}, the profile is {profile.name}: name the "
            "calibration of this robot, or take `calibration` out of the profile"
        )
    return record


def calibration_target(profile: RobotProfile, file: Path) -> Path:
    """Returns where a robot's calibration is, or will be: what its profile names, or a file beside the profile."""
    return profile.calibration or file.parent / "calibration.yaml"


def keep_solved(profile: RobotProfile, file: Path, found: CalibrationRecord, out: Path | None = None) -> Kept:
    """Writes what views told into the robot's calibration; other cameras, boards, zeros and latencies stay.

    Args:
        profile: the robot.
        file: of the profile.
        found: see `solve_onto`.
        out: to write in place of the robot's calibration, which is not changed then.

    Raises:
        ConfigError: a file cannot be read or written.
        IntegrityError: the calibration was changed after it was written.
        MismatchError: it is of another robot.
    """
    record = with_solved(named_record(profile), found, profile)
    if out is not None:
        return Kept(record=record, file=out, before=write_record(record, out))
    return _keep(profile, file, record)


def keep_zero(profile: RobotProfile, file: Path, found: JointZero) -> Kept:
    """Writes a zero into the calibration that a profile names, or into a new one that it names from then on.

    Args:
        profile: the robot.
        file: of the profile.
        found: the zero.

    Raises:
        CalibrationError: no robot is loaded with such a zero.
        ConfigError: a file cannot be read or written.
        IntegrityError: the calibration was changed after it was written.
        MismatchError: it is of another robot.
    """
    if found.sign < 0 or abs(found.zero) > MAX_ZERO:
        raise CalibrationError(
            f"joint {found.joint}: zero {found.zero:+.3f}, sign {found.sign:+d}; only a zero of up to {MAX_ZERO} and a "
            "joint that is said to move the right way are written: mend that in the driver, then measure again"
        )
    return _keep(profile, file, with_zero(named_record(profile), found, profile))


def keep_latency(profile: RobotProfile, found: Delay, camera: str = "") -> Kept:
    """Writes a latency into the calibration that a profile names.

    Args:
        profile: the robot.
        found: how late it is.
        camera: whose stamps are; empty for commands.

    Raises:
        CalibrationError: there is no calibration, it lacks the camera, or nothing that late is controlled.
        ConfigError: it cannot be read or written.
        IntegrityError: it was changed after it was written.
        MismatchError: it is of another robot.
    """
    record = named_record(profile)
    if record is None or profile.calibration is None:
        raise CalibrationError(
            f"profile {profile.name} names no calibration: make one with `tendon calibrate solve` or `joint --write`"
        )
    least = -MAX_LATENCY_S if camera else 0.0
    if not least <= found.seconds <= MAX_LATENCY_S:
        raise CalibrationError(
            f"{found.seconds:.3f} s is no latency of {camera or 'commands'}, which is {least} to {MAX_LATENCY_S} s: "
            "look whether both are stamped by one clock, and which file is which"
        )
    date = now()
    late = f"latency of camera {camera}" if camera else "latency of commands"
    record = replace(record, date=date, dates={**record.dates, late: date})
    if not camera:
        record = replace(record, command_latency_s=found.seconds)
    elif camera not in record.cameras:
        raise CalibrationError(f"{profile.calibration} has no camera {camera}{closest(camera, tuple(record.cameras))}")
    else:
        timed = replace(record.cameras[camera], latency_s=found.seconds, latency_deviation_s=found.deviation_s)
        record = replace(record, cameras={**record.cameras, camera: timed})
    return Kept(record=record, file=profile.calibration, before=write_record(record, profile.calibration))


def _keep(profile: RobotProfile, file: Path, record: CalibrationRecord) -> Kept:
    target = calibration_target(profile, file)
    kept = Kept(record=record, file=target, before=write_record(record, target))
    if profile.calibration is None:
        name_calibration(file, target.name)
    return kept

"""What was found by itself, a joint's zero or a latency, put into the robot's calibration."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tendon.calibration.joints import JointZero
from tendon.calibration.latency import Delay
from tendon.calibration.results.file import load_record, write_record
from tendon.calibration.results.record import JointRecord, without_cameras
from tendon.core.checks import closest
from tendon.core.errors import CalibrationError
from tendon.robots.calibration import MAX_LATENCY_S, MAX_ZERO
from tendon.robots.profile import RobotProfile
from tendon.robots.profile_edit import name_calibration


def keep_zero(profile: RobotProfile, file: Path, found: JointZero) -> tuple[Path, Path | None]:
    """Writes a zero into the calibration that a profile names, or into a new one that it names from then on.

    Args:
        profile: the robot.
        file: of the profile.
        found: the zero.

    Returns:
        The calibration, and the backup of the one before, `None` where there was none.

    Raises:
        CalibrationError: no robot is loaded with such a zero, or cameras of the calibration lean on the old one.
        ConfigError: a file cannot be written.
    """
    if found.sign < 0 or abs(found.zero) > MAX_ZERO:
        raise CalibrationError(
            f"joint {found.joint}: zero {found.zero:+.3f}, sign {found.sign:+d}; only a zero of up to {MAX_ZERO} and a "
            "joint that is said to move the right way are written: mend that in the driver, then measure again"
        )
    before = None if profile.calibration is None else load_record(profile.calibration)
    if before is not None and before.cameras:
        raise CalibrationError(
            f"the places of cameras in {profile.calibration} lean on its zeros: put {found.joint} under `joints` of "
            "the session and solve again, or take `calibration` out of the profile first"
        )
    zeros = {**(before.joints if before else {}), found.joint: JointRecord(zero=found.zero, deviation=found.deviation)}
    record = without_cameras(profile.name, zeros)
    if before is not None:
        record = replace(record, command_latency_s=before.command_latency_s)
    target = profile.calibration or file.parent / "calibration.yaml"
    kept = write_record(record, target)
    if profile.calibration is None:
        name_calibration(file, target.name)
    return target, kept


def keep_latency(profile: RobotProfile, found: Delay, camera: str = "") -> tuple[Path, Path | None]:
    """Writes a latency into the calibration that a profile names.

    Args:
        profile: the robot.
        found: how late it is.
        camera: whose stamps are; empty for commands.

    Returns:
        The calibration, and the backup of the one before.

    Raises:
        CalibrationError: there is no calibration, it lacks the camera, or nothing that late is controlled.
        ConfigError: it cannot be read or written.
    """
    if profile.calibration is None:
        raise CalibrationError(
            f"profile {profile.name} names no calibration: make one with `tendon calibrate solve` or `joint --write`"
        )
    least = -MAX_LATENCY_S if camera else 0.0
    if not least <= found.seconds <= MAX_LATENCY_S:
        raise CalibrationError(
            f"{found.seconds:.3f} s is no latency of {camera or 'commands'}, which is {least} to {MAX_LATENCY_S} s: "
            "look whether both are stamped by one clock, and which file is which"
        )
    record = load_record(profile.calibration)
    if not camera:
        return profile.calibration, write_record(replace(record, command_latency_s=found.seconds), profile.calibration)
    if camera not in record.cameras:
        raise CalibrationError(f"{profile.calibration} has no camera {camera}{closest(camera, tuple(record.cameras))}")
    timed = replace(record.cameras[camera], latency_s=found.seconds, latency_deviation_s=found.deviation_s)
    record = replace(record, cameras={**record.cameras, camera: timed})
    return profile.calibration, write_record(record, profile.calibration)

"""A joint's zero that was found without a camera, put into the robot's calibration."""

from __future__ import annotations

from pathlib import Path

from tendon.calibration.joints import JointZero
from tendon.calibration.results.file import load_record, write_record
from tendon.calibration.results.record import JointRecord, without_cameras
from tendon.core.errors import CalibrationError
from tendon.robots.calibration import MAX_ZERO
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
    target = profile.calibration or file.parent / "calibration.yaml"
    kept = write_record(without_cameras(profile.name, zeros), target)
    if profile.calibration is None:
        name_calibration(file, target.name)
    return target, kept

"""A robot of its own whose calibration says that its joints, its cameras' stamps or its motions are off."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from tendon.calibration.results.file import write_record
from tendon.calibration.results.record import CameraRecord, JointRecord, Place, without_cameras
from tendon.robots.profile import RobotProfile, load_profile, profile_file
from tendon.robots.profile_edit import name_calibration

ZEROS = {"panda_joint2": 0.03, "panda_joint4": -0.04, "panda_joint6": 0.02}
NOWHERE = ((0.0,) * 6,) * 6


def calibration_file(
    folder: Path, zeros: dict[str, float] | None = None, camera_s: float | None = None, command_s: float | None = None
) -> Path:
    """Writes a Panda's calibration into a folder.

    Args:
        folder: of it.
        zeros: of joints [rad].
        camera_s: how late camera scene stamps its pictures.
        command_s: how late it moves.
    """
    joints = {joint: JointRecord(zero=zero, deviation=1e-4) for joint, zero in (zeros or {}).items()}
    camera = CameraRecord(
        lens="pinhole",
        width=128,
        height=128,
        focal=(100.0, 100.0),
        centre=(63.5, 63.5),
        distortion=(0.0,) * 5,
        place=Place(link="panda_link0", translation=(0.5, 0, 1.0), rotation=(0, 0, 0, 1), covariance=NOWHERE),
        rms_px=0.1,
        views=0,
        with_zeros=((0.0,) * len(joints),) * 6 if joints else (),
        latency_s=camera_s,
    )
    record = replace(without_cameras("panda", joints), cameras={"scene": camera}, command_latency_s=command_s)
    write_record(record, folder / "calibration.yaml")
    return folder / "calibration.yaml"


def calibrated_panda(folder: Path) -> Path:
    """Writes the profile of a Panda with `ZEROS` below a folder; returns its file."""
    shutil.copytree(profile_file("panda").parent, folder / "panda")
    calibration_file(folder / "panda", ZEROS)
    name_calibration(folder / "panda" / "profile.yaml", "calibration.yaml")
    return folder / "panda" / "profile.yaml"


def load_calibrated_panda(folder: Path) -> RobotProfile:
    """Returns that profile."""
    return load_profile(calibrated_panda(folder))

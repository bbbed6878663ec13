"""Everything to practise a calibration with on a simulated graph: a robot of one's own, and sessions to fill."""

from __future__ import annotations

import math
import shutil
from dataclasses import dataclass
from pathlib import Path

import yaml

from tendon.calibration.cameras.camera_info import write_camera_info
from tendon.calibration.results.file import load_record
from tendon.calibration.results.record import CalibrationRecord
from tendon.calibration.session import Session, SessionBoard, SessionCamera, Setup
from tendon.calibration.transforms import mm_and_deg
from tendon.core.errors import ConfigError
from tendon.core.files import replace_file
from tendon.core.yaml_text import parse_yaml
from tendon.demo.calibration.rig import HEIGHT, WIDTH, TrueRig
from tendon.demo.calibration.scene import scene_of
from tendon.robots.profile import load_profile, profile_file

RATE_HZ = 5.0
"""Of cameras: pictures of this size take a simulator long, and a robot that rests needs few."""
ROBOT, SESSION, CHECK = "robot", "session", "check"
"""Folders: of the robot, of views to calibrate with, and of views to verify with."""
PROFILE = "profile.yaml"


@dataclass(frozen=True, kw_only=True)
class Practice:
    """What was written.

    Attributes:
        profile: of the robot, whose cameras have larger pictures.
        session: to calibrate with.
        check: to verify with.
    """

    profile: Path
    session: Path
    check: Path


def new_practice(out: Path, robot: str, seed: int) -> Practice:
    """Writes a robot and two sessions for the scene of a seed of the suite `calibration`.

    Args:
        out: folder of it all, which is not there yet.
        robot: name of a profile with cameras.
        seed: of the scene that the graph will have; its lenses are told, as those of measured cameras are.

    Raises:
        ConfigError: the folder is there, or cannot be written.
        MismatchError: the robot has no camera.
    """
    if out.exists():
        raise ConfigError(f"{out} is there already: remove it, or choose another folder")
    source = profile_file(robot)
    scene_of(load_profile(source), seed)  # before anything is written
    home = out / ROBOT
    try:
        shutil.copytree(source.parent, home)
        file = (home / source.name).rename(home / PROFILE)
        values = dict(parse_yaml(file.read_bytes(), str(file)))
        values.pop("calibration", None)
        values["cameras"] = [
            {**camera, "width": WIDTH, "height": HEIGHT, "rate_hz": RATE_HZ} for camera in values["cameras"]
        ]
        replace_file(file, yaml.safe_dump(values, sort_keys=False, width=120).encode())
    except OSError as error:
        raise ConfigError(f"{out} cannot be written: {error.strerror}; choose another place") from error
    true = scene_of(load_profile(file), seed).rig
    for folder in (out / SESSION, out / CHECK):
        _session(folder, true, str(file))
    return Practice(profile=file, session=out / SESSION, check=out / CHECK)


def _session(folder: Path, true: TrueRig, robot: str) -> Session:
    folder.mkdir()
    for name, camera in true.cameras.items():
        write_camera_info(camera.model, name, folder / f"{name}.yaml")
    setup = Setup(
        robot=robot,
        cameras={
            name: SessionCamera(link=each.link, camera_info=f"{name}.yaml") for name, each in true.cameras.items()
        },
        boards={each.board.name: SessionBoard(link=each.link, board=each.board) for each in true.boards},
        joints=true.nominal.rig.joints,
    )
    return Session(folder, setup)


@dataclass(frozen=True, kw_only=True)
class Errors:
    """How far a calibration is from the truth.

    Attributes:
        camera_mm: by camera.
        camera_deg: likewise.
        zero_deg: the largest of a joint.
    """

    camera_mm: dict[str, float]
    camera_deg: dict[str, float]
    zero_deg: float

    def lines(self) -> list[str]:
        """Returns sentences."""
        return [
            *(
                f"truth: camera {name} is off by {away:.2f} mm and {self.camera_deg[name]:.3f} deg"
                for name, away in self.camera_mm.items()
            ),
            f"truth: zeros are off by {self.zero_deg:.3f} deg at most",
        ]


def errors_of(record: CalibrationRecord, true: TrueRig) -> Errors:
    """Returns how far a calibration is from a rig, in all that it says of it."""
    names = true.nominal.rig.profile.joint_names
    off = {
        name: mm_and_deg(camera.place.pose.change_to(true.cameras[name].place))
        for name, camera in record.cameras.items()
        if name in true.cameras
    }
    zeros = [abs(joint.zero - true.zeros[names.index(name)]) for name, joint in record.joints.items()]
    return Errors(
        camera_mm={name: mm for name, (mm, _) in off.items()},
        camera_deg={name: deg for name, (_, deg) in off.items()},
        zero_deg=math.degrees(max(zeros, default=0.0)),
    )


def compare(out: Path, seed: int) -> Errors:
    """Returns how far the calibration of a practice is from the truth.

    Raises:
        ConfigError: there is none, or its calibration cannot be read.
    """
    file = out / ROBOT / PROFILE
    if not file.is_file():
        raise ConfigError(f"{out} is no practice: it has no {ROBOT}/{PROFILE}; make one without --truth")
    profile = load_profile(file)
    if profile.calibration is None:
        raise ConfigError(f"{file} names no calibration yet: `tendon calibrate solve {out / SESSION}` makes it")
    return errors_of(load_record(profile.calibration), scene_of(profile, seed).rig)

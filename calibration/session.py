"""A folder of views: what the rig is, and pictures with the joints they were taken at.

session.yaml     robot, cameras (link, camera_info), boards (link)
views.jsonl      a line a picture: camera, picture, joints by name, speed, stamp_ns
plan.jsonl       a line a pose that is to be gone to, its joints by name
NAME.png         pictures
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
import yaml

from tendon.calibration.boards.board import Board
from tendon.calibration.boards.detect import count_markers, detect
from tendon.calibration.cameras.camera_info import load_camera_info
from tendon.calibration.left_out import LeftOut
from tendon.calibration.rig.parts import Rig, RigBoard, RigCamera, View
from tendon.calibration.transforms import Pose, from_quaternion
from tendon.core.config import build
from tendon.core.errors import CalibrationError, ConfigError
from tendon.core.files import replace_file
from tendon.core.types import Array
from tendon.core.yaml_text import parse_yaml
from tendon.robots.profile import RobotProfile

SETUP, VIEWS, PLAN = "session.yaml", "views.jsonl", "plan.jsonl"
Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class SessionCamera:
    """A camera: the link that carries it, and the file of its intrinsics, from the session's folder."""

    link: str
    camera_info: str
    refine: bool = False


@dataclass(frozen=True, kw_only=True)
class SessionBoard:
    """A board, and the link that carries it; its name is that under which the session has it.

    `known` is where a fixture holds it on that link, x, y, z [m] and the quaternion x, y, z, w.
    """

    link: str
    board: Board = field(default_factory=Board)
    known: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if len(self.known) not in (0, 7):
            raise ConfigError(f"known has {len(self.known)} numbers, must be x, y, z and a quaternion x, y, z, w")


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What `session.yaml` says.

    Attributes:
        robot: name or file of its profile.
        cameras: by name, as in the profile.
        boards: by name.
        joints: whose zeros are looked for.
    """

    robot: str
    cameras: Mapping[str, SessionCamera]
    boards: Mapping[str, SessionBoard]
    joints: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Shot:
    """A line of `views.jsonl`.

    Attributes:
        camera: which took it.
        picture: its file, from the session's folder.
        joints: position by name, rad or m.
        speed: largest of a joint then.
        stamp_ns: of the exposure.
        pose: number of the plan's pose that it was taken at, from 1; 0 is of none.
    """

    camera: str
    picture: str
    joints: Mapping[str, float]
    speed: float = 0.0
    stamp_ns: int = 0
    pose: int = 0


class Session:
    """A folder of views, which grows.

    Args:
        folder: of it.
        setup: what to write there; `None` reads what is there.

    Raises:
        ConfigError: there is none, or something in it is wrong.
    """

    def __init__(self, folder: Path, setup: Setup | None = None) -> None:
        self.folder = folder
        if setup is not None:
            folder.mkdir(parents=True, exist_ok=True)
            text = yaml.safe_dump(json.loads(json.dumps(asdict(setup))), sort_keys=False)
            (folder / SETUP).write_text(text, encoding="utf-8")
        file = folder / SETUP
        if not file.is_file():
            raise ConfigError(f"{folder} has no {SETUP}: it is no session (see docs/how-to/calibrate.md)")
        self.setup = build(Setup, str(file), parse_yaml(file.read_bytes(), str(file)))

    def add(
        self, camera: str, pixels: Pixels, joints: Mapping[str, float], speed: float, stamp_ns: int, pose: int = 0
    ) -> Shot:
        """Adds a view: the picture first, then its line, so that a line never lacks its picture."""
        number = sum(1 for _ in self.shots()) + 1
        shot = Shot(
            camera=camera,
            picture=f"{number:03d}-{camera}.png",
            joints={name: float(value) for name, value in joints.items()},
            speed=float(speed),
            stamp_ns=int(stamp_ns),
            pose=pose,
        )
        if not cv2.imwrite(str(self.folder / shot.picture), cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR)):
            raise ConfigError(f"{self.folder / shot.picture} cannot be written: choose another place")
        with (self.folder / VIEWS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(shot)) + "\n")
        return shot

    def shots(self) -> Iterator[Shot]:
        """Yields the views that there are.

        Raises:
            ConfigError: a line is wrong.
        """
        file = self.folder / VIEWS
        if not file.is_file():
            return
        for number, line in enumerate(_lines(file), 1):
            try:
                values = json.loads(line)
            except json.JSONDecodeError as error:
                raise ConfigError(f"{file} line {number} is no JSON: {error.msg}; delete the line") from error
            yield build(Shot, f"{file} line {number}", values)

    def plan(self, names: Sequence[str]) -> list[Array]:
        """Returns the poses that are to be gone to, (n,) each; none before there is a plan.

        Raises:
            ConfigError: the file is wrong, or lacks a joint.
        """
        file = self.folder / PLAN
        if not file.is_file():
            return []
        poses = []
        for number, line in enumerate(_lines(file), 1):
            try:
                values = json.loads(line)
                poses.append(np.array([float(values[name]) for name in names]))
            except (ValueError, KeyError, TypeError) as error:
                raise ConfigError(
                    f"{file} line {number} is no pose of the robot: {error!r}; delete the file"
                ) from error
        return poses

    def keep_plan(self, poses: Sequence[Array], names: Sequence[str]) -> None:
        """Writes the poses that are to be gone to."""
        lines = [json.dumps(dict(zip(names, pose.tolist(), strict=True))) for pose in poses]
        replace_file(self.folder / PLAN, "".join(f"{line}\n" for line in lines).encode())

    def pixels(self, picture: str) -> Pixels:
        """Returns a picture by its file's name, (height, width, 3) RGB.

        Raises:
            ConfigError: it cannot be read.
        """
        read = cv2.imread(str(self.folder / picture), cv2.IMREAD_COLOR)
        if read is None:
            raise ConfigError(f"{self.folder / picture} is no picture that can be read: delete its line in {VIEWS}")
        return np.asarray(cv2.cvtColor(read, cv2.COLOR_BGR2RGB), dtype=np.uint8)

    def rig(self, profile: RobotProfile) -> Rig:
        """Returns the rig of a robot.

        Raises:
            ConfigError: the profile has no such camera, its intrinsics cannot be read, or a link does not exist.
        """
        cameras = []
        for name, each in self.setup.cameras.items():
            profile.camera(name)
            model, covariance = load_camera_info(self.folder / each.camera_info)
            cameras.append(
                RigCamera(name=name, link=each.link, model=model, refine=each.refine, lens_covariance=covariance)
            )
        boards = tuple(
            RigBoard(board=replace(each.board, name=name), link=each.link, known=_known(each.known))
            for name, each in self.setup.boards.items()
        )
        return Rig(profile=profile, cameras=tuple(cameras), boards=boards, joints=self.setup.joints)

    def views(
        self,
        rig: Rig,
        skip: Callable[[str, str], None] | None = None,
        step: Callable[[], None] | None = None,
        shots: Iterable[Shot] | None = None,
    ) -> list[View]:
        """Returns every board that is seen in every picture.

        Args:
            rig: cameras and boards.
            skip: is told the name of a picture that shows no board, and why; `None` makes that an error.
            step: is called after each picture.
            shots: that are looked at; by default all.

        Raises:
            CalibrationError: a picture shows none, or all of them do not, or joints are missing or no numbers.
        """
        found, left_out = list[View](), LeftOut()
        for shot in self.shots() if shots is None else shots:
            joints, pixels = _joints(shot, rig.profile.joint_names), self.pixels(shot.picture)
            reasons = dict[str, str]()
            for board in rig.boards:
                try:
                    corners = detect(board.board, pixels, shot.picture)
                except CalibrationError as error:
                    reasons[board.name] = str(error)
                    continue
                found.append(
                    View(
                        camera=shot.camera,
                        board=board.name,
                        joints=joints,
                        found=corners,
                        name=shot.picture,
                        speed=shot.speed,
                    )
                )
            if len(reasons) == len(rig.boards):
                # What keeps a board that is not there from being seen is of no use to anybody.
                nearest = max(rig.boards, key=lambda board: count_markers(board.board, pixels))
                why = reasons[nearest.name]
                if skip is None:
                    raise CalibrationError(why)
                left_out.add(shot.picture, why)
                skip(shot.picture, why)
            if step is not None:
                step()
        if shots is None and not found:
            if not left_out:
                raise CalibrationError(
                    f"{self.folder} has no views: `tendon calibrate capture {self.folder}` takes them"
                )
            raise CalibrationError(f"no picture of {self.folder} shows a board: {left_out.usual}")
        return found


def _joints(shot: Shot, names: Sequence[str]) -> Array:
    """Returns (n,) the joints of a view, in the order of the names."""
    missing = [name for name in names if name not in shot.joints]
    if missing:
        raise CalibrationError(f"{shot.picture}: joints lack {', '.join(missing)}: record them with the picture")
    for name in names:
        if not math.isfinite(shot.joints[name]):
            raise CalibrationError(
                f"{shot.picture}: joint {name} is {shot.joints[name]}, must be a number: delete its line in {VIEWS}"
            )
    return np.array([shot.joints[name] for name in names])


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read as text: {error}; take the views again") from error


def _known(values: Sequence[float]) -> Pose | None:
    if not values:
        return None
    return Pose(rotation=from_quaternion(*values[3:]), translation=np.array(values[:3]))

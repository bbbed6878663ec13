"""What a rig is made of: cameras and boards on links of a robot, and views of one by the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from tendon.calibration.boards.board import Board
from tendon.calibration.boards.detect import Detection
from tendon.calibration.cameras.model import CameraModel
from tendon.calibration.rig.known import NOTHING_KNOWN, KnownZeros
from tendon.calibration.transforms import Pose
from tendon.core.checks import closest
from tendon.core.errors import CalibrationError, ConfigError
from tendon.core.types import Array, freeze
from tendon.robots.profile import RobotProfile
from tendon.robots.urdf import read_urdf


@dataclass(frozen=True, kw_only=True, eq=False)
class RigCamera:
    """A camera of the rig.

    Attributes:
        name: as in the profile.
        link: that carries it; the base frame for one that stands still.
        model: its intrinsics.
        refine: whether the intrinsics are refined with everything else.
        lens_covariance: of `model.values`, how sure they are before that; `None` knows nothing of them.
    """

    name: str
    link: str
    model: CameraModel
    refine: bool = False
    lens_covariance: Array | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class RigBoard:
    """A board of the rig.

    Attributes:
        board: what it is.
        link: that carries it; the base frame for one that stands still.
        known: where it is on that link, if something else tells, such as a fixture; `None` is found.
        known_m: how sure that place is, a standard deviation [m].
        known_rad: how sure its orientation is [rad].
    """

    board: Board
    link: str
    known: Pose | None = None
    known_m: float = 2e-4
    known_rad: float = 2e-3

    @property
    def name(self) -> str:
        """Of the board."""
        return self.board.name


@dataclass(frozen=True, kw_only=True, eq=False)
class View:
    """A board seen by a camera from where the robot rested.

    Attributes:
        camera: its name.
        board: its name.
        joints: (n,) what the robot said, rad or m.
        found: the corners.
        name: of its picture, in messages.
        speed: largest of a joint when it was taken, rad/s or m/s.
    """

    camera: str
    board: str
    joints: Array
    found: Detection
    name: str = ""
    speed: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "joints", freeze("joints", self.joints, (None,)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Rig:
    """Cameras, boards, and the robot that moves one before the other.

    Attributes:
        profile: the robot, as it says that it is.
        cameras: at least one.
        boards: at least one.
        joints: of which the zero is looked for.
        known: zeros that something else than the views tells.

    Raises:
        ConfigError: a name stands twice, or a link or joint does not exist.
    """

    profile: RobotProfile
    cameras: tuple[RigCamera, ...]
    boards: tuple[RigBoard, ...]
    joints: tuple[str, ...] = ()
    known: KnownZeros = NOTHING_KNOWN

    def __post_init__(self) -> None:
        links = read_urdf(self.profile.urdf).links
        mounted = {
            "camera": [(camera.name, camera.link) for camera in self.cameras],
            "board": [(board.name, board.link) for board in self.boards],
        }
        for kind, parts in mounted.items():
            names = [name for name, _ in parts]
            if not names or len(set(names)) != len(names):
                raise ConfigError(f"{kind}s of the rig are {names}: at least one, each once")
            for name, link in parts:
                if link not in links:
                    raise ConfigError(f"{kind} {name}: link is {link}{closest(link, tuple(links))}")
        twice = sorted({joint for joint in self.joints if self.joints.count(joint) > 1})
        if twice:
            raise ConfigError(f"joints of the rig repeat {', '.join(twice)}: each once")
        for joint in self.joints:
            if joint not in self.profile.joint_names:
                raise ConfigError(f"joint {joint} is none of the profile{closest(joint, self.profile.joint_names)}")

    def camera(self, name: str) -> RigCamera:
        """Returns a camera by name.

        Raises:
            ConfigError: there is none.
        """
        return _by_name("camera", name, self.cameras)

    def board(self, name: str) -> RigBoard:
        """Returns a board by name.

        Raises:
            ConfigError: there is none.
        """
        return _by_name("board", name, self.boards)


P = TypeVar("P", RigCamera, RigBoard)


def _by_name(kind: str, name: str, parts: tuple[P, ...]) -> P:
    for part in parts:
        if part.name == name:
            return part
    raise ConfigError(f"the rig has no {kind} {name}{closest(name, tuple(part.name for part in parts))}")


MAX_SPEED = 0.01
"""Of a joint that rests, rad/s or m/s: at 0.1 m and 10 ms of exposure that is 0.01 mm."""


MAX_OUTSIDE = 0.5
"""How far beyond its limits a joint may say that it is, rad or m: a zero that is off, and no more."""


def check_said(profile: RobotProfile, views: Sequence[View]) -> None:
    """Checks that the robot rested in every view, and was where its joints can be.

    Raises:
        CalibrationError: it did not, or was not; with the fix.
    """
    for view in views:
        if not abs(view.speed) <= MAX_SPEED:
            raise CalibrationError(
                f"view {view.name}: the robot moves, a joint at {view.speed:.3f} rad/s, must be at most "
                f"{MAX_SPEED}: wait until it rests before a picture is taken"
            )
        for joint, said in zip(profile.joints, view.joints.tolist(), strict=True):
            if joint.lower - MAX_OUTSIDE <= said <= joint.upper + MAX_OUTSIDE:
                continue
            degrees = any(abs(each) > 2 * math.pi for each in view.joints.tolist())
            raise CalibrationError(
                f"view {view.name}: joint {joint.name} is said to be at {said:.3f} rad (or m), its limits are "
                f"{joint.lower:g} to {joint.upper:g}: "
                + ("record radians, these look like degrees" if degrees else "is each joint under its own name?")
            )

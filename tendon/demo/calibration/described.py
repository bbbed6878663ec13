"""What the file of the suite `calibration` says: its boards, where they are and from where a robot sees them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np

from tendon.calibration.boards.board import Board
from tendon.calibration.transforms import Pose, from_quaternion
from tendon.core.checks import check_number, closest
from tendon.core.config import build
from tendon.core.errors import ConfigError
from tendon.core.fields import Range, check_fields
from tendon.core.paths import share_folder
from tendon.core.types import Array
from tendon.robots.environment import read_yaml
from tendon.robots.profile import RobotProfile

NAME = "calibration"
TABLE, HAND = "table", "hand"
"""Boards: on the table, and on the hand."""
DEFAULT = "default"


@dataclass(frozen=True, kw_only=True)
class RigPlaces:
    """Where boards are for a robot.

    Attributes:
        scale: of the boards.
        ahead: of the camera in the hand, at home: where the middle of the board on the table is [m].
        on_hand: where the board on the hand is, in the frame of the link with the camera: x, y, z [m] of its upper left
            corner and the quaternion x, y, z, w.
        start: joints from where each camera sees the board that moves before it [rad or m]; others are at home.
    """

    scale: Annotated[float, Range(above=0.1, most=3)] = 1.0
    ahead: Annotated[float, Range(above=0.05, most=2, unit="m")] = 0.3
    on_hand: tuple[float, ...] = (0.1, 0.075, -0.12, 0.5, -0.5, -0.5, 0.5)
    start: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self, "robot of the suite")
        if len(self.on_hand) != 7:
            raise ConfigError(f"on_hand has {len(self.on_hand)} numbers, must be x, y, z and a quaternion x, y, z, w")
        for value in self.on_hand:
            check_number("on_hand", value)
        from_quaternion(*self.on_hand[3:])

    @property
    def held(self) -> Pose:
        """Where the board on the hand is."""
        return Pose(rotation=from_quaternion(*self.on_hand[3:]), translation=np.array(self.on_hand[:3]))

    def start_of(self, profile: RobotProfile) -> Array:
        """Returns (n,) joints that a scene begins with.

        Raises:
            ConfigError: `start` names a joint that the profile does not have.
        """
        joints = np.array(profile.vector("home"))
        for name, value in self.start.items():
            if name not in profile.joint_names:
                raise ConfigError(
                    f"suites/{NAME}.yaml: start of {profile.name} names joint {name}"
                    f"{closest(name, profile.joint_names)}"
                )
            joints[profile.joint_names.index(name)] = value
        return joints


@dataclass(frozen=True, kw_only=True)
class RigFile:
    """All of it.

    Attributes:
        boards: `TABLE` and `HAND`.
        robots: by name; `DEFAULT` is for one that is not named.
    """

    boards: Mapping[str, Board]
    robots: Mapping[str, RigPlaces]

    def __post_init__(self) -> None:
        if sorted(self.boards) != sorted((TABLE, HAND)):
            raise ConfigError(f"boards are {', '.join(self.boards)}: they must be {TABLE} and {HAND}")
        if DEFAULT not in self.robots:
            raise ConfigError(f"robots has no {DEFAULT}: give it one, for robots that are not named")

    def places(self, robot: str) -> RigPlaces:
        """Returns the places for a robot."""
        return self.robots.get(robot, self.robots[DEFAULT])

    def board(self, name: str, robot: str) -> Board:
        """Returns a board as large as a robot has it."""
        board, scale = self.boards[name], self.places(robot).scale
        return replace(board, name=name, square_m=scale * board.square_m, marker_m=scale * board.marker_m)


@functools.cache
def rig_file() -> RigFile:
    """Returns what `suites/calibration.yaml` says.

    Raises:
        ConfigError: it is missing, or something in it is wrong.
    """
    path = share_folder() / "suites" / f"{NAME}.yaml"
    return build(RigFile, path.name, read_yaml(path, "suite"))

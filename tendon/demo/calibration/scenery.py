"""Boards and cameras of a simulated robot: bodies in its world, and what the cameras see there."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tendon.calibration.boards.board import QUIET_SHARE, Board
from tendon.calibration.boards.shapes import THICK_M, write_black
from tendon.calibration.cameras.model import CameraModel
from tendon.calibration.transforms import Pose
from tendon.demo.calibration.lens import Flaws, LensCamera
from tendon.robots.profile import RobotProfile
from tendon.sim.bodies import Body, Part
from tendon.sim.engine import Engine, Light

PLATE_M = 0.004
"""How thick a board is."""
PROUD_M = 0.00004
"""How far what is black is in front of the plate, so that simulators know which is seen."""
BLACK, WHITE, GREY = (0.03, 0.03, 0.03), (0.93, 0.93, 0.93), (0.55, 0.57, 0.6)
TABLE_M = 0.02
LIGHT = Light(direction=(0.4, 0.3, 2.0), rgb=(1.0, 1.0, 1.0), ambient=0.6)


@dataclass(frozen=True, kw_only=True, eq=False)
class TrueCamera:
    """A camera as it is: the link that carries it, where it is there, its lens."""

    link: str
    place: Pose
    model: CameraModel


@dataclass(frozen=True, kw_only=True, eq=False)
class TrueBoard:
    """A board as it is: the link that carries it, where it is there."""

    board: Board
    link: str
    place: Pose


class Scenery:
    """Boards and cameras in the world of an engine. Not thread-safe.

    Args:
        engine: that has the robot.
        cameras: by name.
        boards: of different names.
    """

    def __init__(self, engine: Engine, cameras: Mapping[str, TrueCamera], boards: Sequence[TrueBoard]) -> None:
        self._engine, self.cameras, self.boards = engine, cameras, tuple(boards)
        self._lenses: dict[str, LensCamera] = {}
        self._files = tempfile.TemporaryDirectory(prefix="tendon-boards-")

    def things(self) -> list[Body]:
        """Returns the bodies of the boards, two of each, for `Engine.load`."""
        return [body for each in self.boards for body in self._bodies(each.board)]

    def place_boards(self) -> None:
        """Puts each board where its link has it now."""
        for k, each in enumerate(self.boards):
            self.put_board(k, self.link(each.link) @ each.place)

    def put_board(self, board: int, place: Pose) -> None:
        """Puts a board somewhere in the world, until boards are placed again."""
        x, y, z = place.translation.tolist()
        for thing in (2 * board, 2 * board + 1):
            self._engine.move(thing, (x, y, z, *place.quaternion))

    def link(self, name: str) -> Pose:
        """Returns where a link of the robot is in the world."""
        origin, rotation = self._engine.link_pose(name)
        return Pose(rotation=rotation, translation=origin)

    def place(self, camera: str) -> Pose:
        """Returns where a camera's optical frame is in the world."""
        true = self.cameras[camera]
        return self.link(true.link) @ true.place

    def draw(self, camera: str, flaws: Flaws, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
        """Returns what a camera sees, (height, width, 3) RGB.

        Args:
            camera: its name.
            flaws: of the picture.
            rng: of its noise.
        """
        if camera not in self._lenses:
            self._lenses[camera] = LensCamera(self.cameras[camera].model)
        return self._lenses[camera].draw(self._engine, LIGHT, self.place(camera), flaws, rng)

    def _bodies(self, board: Board) -> list[Body]:
        """Returns the plate and what is black on it, in the board's frame."""
        file = Path(self._files.name) / f"{board.name}.obj"
        write_black(board, file)
        (wide, high), quiet = board.size_m, QUIET_SHARE * board.square_m
        plate = Part(
            kind="box",
            half=(wide / 2 + quiet, high / 2 + quiet, PLATE_M / 2),
            centre=(wide / 2, high / 2, PROUD_M + PLATE_M / 2),
        )
        middle = (wide / 2, high / 2, THICK_M / 2)
        black = Part(kind="mesh", file=str(file), half=(wide / 2, high / 2, THICK_M / 2), centre=middle, middle=middle)
        far = (0.0, 0.0, -5.0)
        return [
            Body(parts=(plate,), rgb=WHITE, position=far, solid=False),
            Body(parts=(black,), rgb=BLACK, position=far, solid=False),
        ]

    def close(self) -> None:
        """Removes the files of the boards."""
        self._files.cleanup()


def table(profile: RobotProfile) -> Body:
    """Returns a table below the workspace of a robot."""
    (x, y, _), (right, left, _) = profile.workspace.lower, profile.workspace.upper
    half = ((right - x) / 2 + 0.4, (left - y) / 2 + 0.4, TABLE_M / 2)
    return Body(
        parts=(Part(kind="box", half=half),), rgb=GREY, position=((x + right) / 2, (y + left) / 2, -TABLE_M / 2 - 0.005)
    )

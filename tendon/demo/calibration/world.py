"""A simulated robot among calibration boards, on a table or in its hand."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tendon.calibration.boards.board import QUIET_SHARE, Board
from tendon.calibration.boards.shapes import THICK_M, write_black
from tendon.calibration.cameras.model import CameraModel
from tendon.calibration.transforms import Pose
from tendon.core.types import Array, Command
from tendon.demo.calibration.lens import Flaws, LensCamera
from tendon.robots.profile import RobotProfile
from tendon.robots.trajectory_controller import TrajectoryController
from tendon.sim.bodies import Body, Part
from tendon.sim.engine import PERIOD_NS, Light
from tendon.sim.robot_body import robot_body
from tendon.sim.simulators import AUTO, open_engine

PLATE_M = 0.004
"""How thick a board is."""
PROUD_M = 0.00004
"""How far what is black is in front of the plate, so that simulators know which is seen."""
BLACK, WHITE, GREY = (0.03, 0.03, 0.03), (0.93, 0.93, 0.93), (0.55, 0.57, 0.6)
TABLE_M = 0.02


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


class RigWorld:
    """A `tendon.calibration.motion.guide.Robot` with cameras. Time passes only in `advance`.

    Args:
        profile: the robot.
        cameras: by name.
        boards: of different names.
        zeros: (n,) how much larger each joint is said to be than it is, rad or m.
        simulator: that draws and moves it.
        seed: of noise.

    Attributes:
        flaws: of the next pictures.
    """

    def __init__(
        self,
        profile: RobotProfile,
        cameras: Mapping[str, TrueCamera],
        boards: tuple[TrueBoard, ...],
        zeros: Array,
        simulator: str = AUTO,
        seed: int = 0,
    ) -> None:
        self.profile, self.cameras, self.boards, self.zeros = profile, cameras, boards, zeros
        self.flaws = Flaws()
        self.light = Light(direction=(0.4, 0.3, 2.0), rgb=(1.0, 1.0, 1.0), ambient=0.6)
        self._rng = np.random.default_rng(seed)
        self._lenses = {name: LensCamera(camera.model) for name, camera in cameras.items()}
        self._engine = open_engine(robot_body(profile), simulator)
        self._files = tempfile.TemporaryDirectory(prefix="tendon-boards-")
        self._engine.load([_table(profile)], [body for each in boards for body in self._bodies(each.board)])
        self._engine.reset_joints(profile.vector("home") - zeros)
        self._place_boards()
        self._controller = TrajectoryController(profile.joint_names, self.observe_joints()[0])

    @property
    def now_ns(self) -> int:
        """See `Robot`."""
        return self._engine.time_ns

    def observe_joints(self) -> tuple[Array, Array]:
        """See `Robot`: what the robot says."""
        position, velocity = self._engine.joint_state()
        return position + self.zeros, velocity

    def apply(self, command: Command) -> Command:
        """See `Robot`."""
        self._controller.accept_command(command, self.now_ns)
        return command

    def advance(self, until_ns: int) -> None:
        """See `Robot`."""
        while self.now_ns < until_ns:
            position, velocity = self._controller.sample(self.now_ns + PERIOD_NS)
            self._engine.set_target(position - self.zeros, velocity)
            self._engine.step()

    def put(self, joints: Array) -> None:
        """Puts the robot where it says that it is at (n,) `joints`, at rest, without a motion."""
        self._engine.reset_joints(joints - self.zeros)

    def take(self, camera: str) -> npt.NDArray[np.uint8]:
        """Returns what a camera sees, (height, width, 3) RGB."""
        self._place_boards()
        return self._lenses[camera].draw(self._engine, self.light, self.place(camera), self.flaws, self._rng)

    def take_free(self, camera: str, board: int, place: Pose) -> npt.NDArray[np.uint8]:
        """Returns what a camera sees while somebody holds a board at a place in its frame."""
        self._place_boards()
        held = self.place(camera) @ place
        for thing in (2 * board, 2 * board + 1):
            self._engine.move(thing, _seven(held))
        return self._lenses[camera].draw(self._engine, self.light, self.place(camera), self.flaws, self._rng)

    def place(self, camera: str) -> Pose:
        """Returns where a camera's optical frame is in the world."""
        true = self.cameras[camera]
        return self._link(true.link) @ true.place

    def _link(self, link: str) -> Pose:
        origin, rotation = self._engine.link_pose(link)
        return Pose(rotation=rotation, translation=origin)

    def _place_boards(self) -> None:
        for k, each in enumerate(self.boards):
            pose = self._link(each.link) @ each.place
            for thing in (2 * k, 2 * k + 1):
                self._engine.move(thing, _seven(pose))

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
        """Frees everything."""
        self._engine.close()
        self._files.cleanup()


def _seven(pose: Pose) -> tuple[float, float, float, float, float, float, float]:
    x, y, z = pose.translation.tolist()
    return (x, y, z, *pose.quaternion)


def _table(profile: RobotProfile) -> Body:
    (x, y, _), (right, left, _) = profile.workspace.lower, profile.workspace.upper
    half = ((right - x) / 2 + 0.4, (left - y) / 2 + 0.4, TABLE_M / 2)
    return Body(
        parts=(Part(kind="box", half=half),), rgb=GREY, position=((x + right) / 2, (y + left) / 2, -TABLE_M / 2 - 0.005)
    )

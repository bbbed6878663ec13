"""A simulated robot among calibration boards, on a table or in its hand."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from tendon.calibration.transforms import Pose
from tendon.core.types import Array, Command
from tendon.demo.calibration.lens import Flaws
from tendon.demo.calibration.scenery import Scenery, TrueBoard, TrueCamera, table
from tendon.robots.profile import RobotProfile
from tendon.robots.trajectory_controller import TrajectoryController
from tendon.sim.engine import PERIOD_NS
from tendon.sim.robot_body import robot_body
from tendon.sim.simulators import AUTO, open_engine


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
        self._rng = np.random.default_rng(seed)
        self._engine = open_engine(robot_body(profile), simulator)
        self._scenery = Scenery(self._engine, cameras, boards)
        self._engine.load([table(profile)], self._scenery.things())
        self._engine.reset_joints(profile.vector("home") - zeros)
        self._scenery.place_boards()
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
        self._scenery.place_boards()
        return self._scenery.draw(camera, self.flaws, self._rng)

    def take_free(self, camera: str, board: int, place: Pose) -> npt.NDArray[np.uint8]:
        """Returns what a camera sees while somebody holds a board at a place in its frame."""
        self._scenery.place_boards()
        self._scenery.put_board(board, self._scenery.place(camera) @ place)
        return self._scenery.draw(camera, self.flaws, self._rng)

    def close(self) -> None:
        """Frees everything."""
        self._engine.close()
        self._scenery.close()

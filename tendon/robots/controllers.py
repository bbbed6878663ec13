"""The controllers of a profile on the robot side: what they take, and where they want the joints now."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tendon.core.checks import closest
from tendon.core.errors import InvalidDataError, MismatchError
from tendon.core.types import Array, SentTrajectory, freeze
from tendon.robots.profile import RobotProfile
from tendon.robots.trajectory_controller import TrajectoryController


class PositionController:
    """What a forward_command controller does: goes to the newest position within a control period, and holds it.

    Args:
        position: (n,) where it holds until a command comes.
        period_ns: between commands.
    """

    def __init__(self, position: npt.ArrayLike, period_ns: int) -> None:
        self._to = np.array(position, dtype=np.float64)
        self._from, self._start_ns, self._period_ns = self._to, 0, period_ns

    def accept(self, position: npt.ArrayLike, now_ns: int) -> None:
        """Takes the next position.

        Raises:
            InvalidDataError: wrong shape, or not finite.
        """
        target = freeze("commanded position", position, self._to.shape)
        self._from, self._to, self._start_ns = self.sample(now_ns)[0], target, now_ns

    def sample(self, at_ns: int) -> tuple[Array, Array]:
        """Returns (n,) position and velocity."""
        share = (at_ns - self._start_ns) / self._period_ns
        if share >= 1.0:
            return self._to, np.zeros_like(self._to)
        way = self._to - self._from
        return self._from + max(share, 0.0) * way, way / (self._period_ns * 1e-9)


class Controllers:
    """All controllers of a profile; not thread-safe.

    Args:
        profile: the robot.
        position: (n,) where they hold until a command comes.
    """

    def __init__(self, profile: RobotProfile, position: Array) -> None:
        period_ns = round(1e9 / profile.control_hz)
        self._columns: dict[str, list[int]] = {}
        self._playing: dict[str, TrajectoryController] = {}
        self._following: dict[str, PositionController] = {}
        for controller in profile.controllers:
            columns = [profile.joint_names.index(name) for name in controller.joints]
            self._columns[controller.name] = columns
            if controller.type == "joint_trajectory":
                self._playing[controller.name] = TrajectoryController(controller.joints, position[columns])
            else:
                self._following[controller.name] = PositionController(position[columns], period_ns)
        self._count = len(profile.joint_names)

    def accept_trajectory(self, controller: str, trajectory: SentTrajectory, now_ns: int) -> None:
        """Gives a joint_trajectory controller its next trajectory.

        Raises:
            MismatchError: there is no such controller, or the trajectory is for other joints.
            InvalidDataError: the controller rejects it, or a number is not finite; the running one goes on.
        """
        if controller not in self._playing:
            raise MismatchError(
                f"no joint_trajectory controller {controller}{closest(controller, list(self._playing))}"
            )
        for what, values in (("position", trajectory.position), ("velocity", trajectory.velocity)):
            if not np.isfinite(values).all():
                raise InvalidDataError(f"trajectory has a {what} that is not finite")
        self._playing[controller].accept(trajectory, now_ns)

    def accept_positions(self, controller: str, position: npt.ArrayLike, now_ns: int) -> None:
        """Gives a forward_command controller its next positions, in its own joint order.

        Raises:
            MismatchError: there is no such controller.
            InvalidDataError: wrong shape, or not finite.
        """
        if controller not in self._following:
            known = list(self._following)
            raise MismatchError(f"no forward_command controller {controller}{closest(controller, known)}")
        self._following[controller].accept(position, now_ns)

    def sample(self, at_ns: int) -> tuple[Array, Array]:
        """Returns (n,) position and velocity that they want at a time, in the profile's joint order."""
        position, velocity = np.empty(self._count), np.empty(self._count)
        for name, columns in self._columns.items():
            controller = self._playing.get(name) or self._following[name]
            position[columns], velocity[columns] = controller.sample(at_ns)
        return position, velocity

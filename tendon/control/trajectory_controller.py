"""The robot side in ROS-free form: what ros2_control's joint_trajectory_controller does with a trajectory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tendon.control.spline import hermite
from tendon.core.errors import InvalidDataError, MismatchError
from tendon.core.types import Array, Command

State = tuple[Array, Array]


class TrajectoryController:
    """Plays the newest trajectory, then holds its last point. Not thread-safe.

    It behaves like joint_trajectory_controller (Jazzy, cubic interpolation of position and velocity): a new
    trajectory replaces the running one when it arrives, joining at the commanded state of that moment; what that
    controller rejects is rejected and the running trajectory goes on; NaN is not looked for.

    Args:
        joint_names: the joints it drives, in the order of its vectors.
        position: (n,) where it holds until a trajectory comes.
    """

    def __init__(self, joint_names: Sequence[str], position: npt.ArrayLike) -> None:
        self._names = tuple(joint_names)
        self.reset(position)

    def reset(self, position: npt.ArrayLike) -> None:
        """Drops the trajectory and holds (n,) `position`."""
        point = np.array(position, dtype=np.float64)
        self._times_ns = [0]
        self._points: list[State] = [(point, np.zeros(len(self._names)))]

    def accept(
        self,
        joint_names: Sequence[str],
        time_from_start_ns: Sequence[int],
        position: npt.ArrayLike,
        velocity: npt.ArrayLike,
        stamp_ns: int,
        now_ns: int,
    ) -> None:
        """Replaces the running trajectory.

        Args:
            joint_names: the order of the columns; all of its joints, in any order.
            time_from_start_ns: k strictly increasing times.
            position: (k, n) rad or m.
            velocity: (k, n) rad/s or m/s.
            stamp_ns: when `time_from_start_ns` 0 is; 0 means now, as in ROS.
            now_ns: when it arrived.

        Raises:
            MismatchError: other joints than its own.
            InvalidDataError: no points, wrong shape, times that do not increase, an end in the past or in motion.
        """
        if sorted(joint_names) != sorted(self._names):
            raise MismatchError(f"trajectory is for joints {list(joint_names)}, expected {list(self._names)}")
        positions, velocities = np.array(position, dtype=np.float64), np.array(velocity, dtype=np.float64)
        shape = (len(time_from_start_ns), len(self._names))
        if not shape[0] or positions.shape != shape or velocities.shape != shape:
            raise InvalidDataError(
                f"trajectory has {shape[0]} times, positions {positions.shape} and velocities {velocities.shape}: "
                f"needs at least one point of {shape[1]} joints each"
            )
        if any(later <= earlier for earlier, later in pairwise(time_from_start_ns)):
            raise InvalidDataError(f"time_from_start {list(time_from_start_ns)} ns is not strictly increasing")
        start_ns = stamp_ns or now_ns
        if start_ns + time_from_start_ns[-1] < now_ns:
            late_ms = (now_ns - start_ns - time_from_start_ns[-1]) * 1e-6
            raise InvalidDataError(f"trajectory ended {late_ms:.1f} ms in the past")
        if np.any(np.abs(velocities[-1]) > 1e-9):
            raise InvalidDataError(f"trajectory ends with velocity {velocities[-1].tolist()}: it must end at rest")
        if tuple(joint_names) != self._names:
            columns = [list(joint_names).index(name) for name in self._names]
            positions, velocities = positions[:, columns], velocities[:, columns]
        self._replace([start_ns + t for t in time_from_start_ns], positions, velocities, now_ns)

    def accept_command(self, command: Command, now_ns: int) -> None:
        """Replaces the running trajectory by a command in its own joint order; see `accept` for what it raises."""
        trajectory = command.trajectory
        times_ns = trajectory.time_from_start_ns
        self.accept(self._names, times_ns, trajectory.position, trajectory.velocity, command.stamp_ns, now_ns)

    def _replace(self, times_ns: list[int], positions: Array, velocities: Array, now_ns: int) -> None:
        points = list(zip(positions, velocities, strict=True))
        if times_ns[0] > now_ns:
            before = self.sample(now_ns)
            times_ns, points = [now_ns, *times_ns], [before, *points]
        self._times_ns, self._points = times_ns, points

    def sample(self, at_ns: int) -> State:
        """Returns (n,) commanded position and velocity; before its start the first point, after its end the last."""
        after = bisect_right(self._times_ns, at_ns)
        if after == len(self._times_ns):
            position = self._points[-1][0]
            return position, np.zeros_like(position)
        if after == 0:
            return self._points[0]
        start_ns = self._times_ns[after - 1]
        duration_s = (self._times_ns[after] - start_ns) * 1e-9
        return hermite(self._points[after - 1], self._points[after], duration_s, (at_ns - start_ns) * 1e-9)

"""The robot side in ROS-free form: what ros2_control's joint_trajectory_controller does with a trajectory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tendon.core.errors import InvalidDataError, MismatchError
from tendon.core.types import Array, Command, SentTrajectory
from tendon.robots.spline import hermite

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

    def accept(self, trajectory: SentTrajectory, now_ns: int) -> None:
        """Replaces the running trajectory.

        Args:
            trajectory: for all of its joints, in any order; its times strictly increase.
            now_ns: when it arrived.

        Raises:
            MismatchError: other joints than its own.
            InvalidDataError: no points, wrong shape, times that do not increase, an end in the past or in motion.
        """
        names, times_ns = trajectory.joint_names, trajectory.times_ns
        if sorted(names) != sorted(self._names):
            raise MismatchError(f"trajectory is for joints {list(names)}, expected {list(self._names)}")
        positions, velocities = np.array(trajectory.position), np.array(trajectory.velocity)
        shape = (len(times_ns), len(self._names))
        if not shape[0] or positions.shape != shape or velocities.shape != shape:
            raise InvalidDataError(
                f"trajectory has {shape[0]} times, positions {positions.shape} and velocities {velocities.shape}: "
                f"needs at least one point of {shape[1]} joints each"
            )
        if any(later <= earlier for earlier, later in pairwise(times_ns)):
            raise InvalidDataError(f"time_from_start {list(times_ns)} ns is not strictly increasing")
        start_ns = trajectory.stamp_ns or now_ns
        if start_ns + times_ns[-1] < now_ns:
            late_ms = (now_ns - start_ns - times_ns[-1]) * 1e-6
            raise InvalidDataError(f"trajectory ended {late_ms:.1f} ms in the past")
        if np.any(np.abs(velocities[-1]) > 1e-9):
            raise InvalidDataError(f"trajectory ends with velocity {velocities[-1].tolist()}: it must end at rest")
        if names != self._names:
            columns = [names.index(name) for name in self._names]
            positions, velocities = positions[:, columns], velocities[:, columns]
        self._replace([start_ns + t for t in times_ns], positions, velocities, now_ns)

    def accept_command(self, command: Command, now_ns: int) -> None:
        """Replaces the running trajectory by a command in its own joint order; see `accept` for what it raises."""
        points = command.trajectory
        sent = SentTrajectory(
            stamp_ns=command.stamp_ns,
            joint_names=self._names,
            times_ns=points.time_from_start_ns,
            position=points.position,
            velocity=points.velocity,
        )
        self.accept(sent, now_ns)

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

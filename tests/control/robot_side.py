"""A controller and a robot side on a manual clock, with commands that arrive late."""

from __future__ import annotations

import numpy as np

from tendon.control.controller import Controller
from tendon.control.residual.bounded import BoundedResidual
from tendon.control.state_losses import StateLosses
from tendon.control.tick import Tick
from tendon.core.modes import Mode
from tendon.core.types import Array, Command, Observation
from tendon.robots.profile import RobotProfile
from tendon.robots.trajectory_controller import TrajectoryController
from tests.control.limits_checker import PROFILE

MS = 1_000_000
PERIOD_NS = 10 * MS
OLDEST_NS, LIFESPAN_NS = 40 * MS, 12 * MS


class Robot:
    """Ticks the controller on its grid and plays what arrives, sampled every millisecond.

    While `cut` nothing gets from one to the other. What was sent last meanwhile comes after it, if it is not too old.

    Args:
        position: (8,) where the robot stands.
        residual: for the controller.
        known: whether the controller knows what the robot side holds.
        from_measured: whether a trajectory that begins later is joined from the measured state, at rest:
            joint_trajectory_controller with `interpolate_from_desired_state: false`, its default.
        profile: of the robot, but for its limits.
        acknowledges: whether it says which commands it has; else none comes again, and they count as lost for a second
            after a joint state did not come, as in `tendon.ros2_nodes.control.link`.
    """

    def __init__(
        self,
        position: Array | None = None,
        residual: BoundedResidual | None = None,
        known: bool = True,
        from_measured: bool = False,
        profile: RobotProfile = PROFILE,
        acknowledges: bool = True,
    ) -> None:
        self._from_measured = from_measured
        start = PROFILE.vector("home") if position is None else position
        self._acknowledges = acknowledges
        self._losses = StateLosses(OLDEST_NS, round(1e9 / profile.control_hz), most=20)
        self.controller = Controller(
            profile,
            residual,
            held=start if known else None,
            arrived=self._arrived,
            interrupted=lambda: self._losses.interrupted,
        )
        self.side = TrajectoryController(PROFILE.joint_names, start)
        self.now_ns = 1000 * MS
        self.offset = np.zeros(8)
        self.stale_ns = 0
        self.cut = False
        self._lost: Command | None = None
        self._seen: Observation | None = None
        self._sent_ns = self._said = 0
        self.positions: list[Array] = []
        self.velocities: list[Array] = []
        self._flying: list[tuple[int, Command]] = []
        self.tick()

    def observe(self) -> Observation:
        if not self.cut or self._seen is None:
            stamp_ns = self.now_ns - self.stale_ns
            position, velocity = self.side.sample(stamp_ns)
            self._seen = Observation(stamp_ns=stamp_ns, joint_position=position + self.offset, joint_velocity=velocity)
        return self._seen

    def _arrived(self) -> bool:
        if self._acknowledges and self.now_ns - self._sent_ns <= LIFESPAN_NS:
            return self._lost is None
        return not self._losses.lossy(self.now_ns)

    def tick(self, delay_ns: int = 0, skip: int = 0) -> Tick:
        """Lets a period pass (and `skip` more without a tick), then ticks; the command arrives `delay_ns` later."""
        for _ in range(1 + skip):
            self.pass_time(self.controller.period_ns)
            self._said += 1
            if not self.cut:
                self._losses.came(self._said, self.now_ns, self.now_ns)
        self._losses.look(self.now_ns, on_time=not skip)
        tick = self.controller.tick(self.now_ns, self.observe())
        if not self.cut and self._lost is not None:
            if self._acknowledges and self.now_ns <= self._lost.stamp_ns + self.controller.period_ns:
                self._flying.append((self.now_ns, self._lost))
            self._lost = None
        if tick.command is not None:
            self._sent_ns = self.now_ns
        if tick.command is not None and self.cut:
            self._lost = tick.command
        elif tick.command is not None:
            earliest_ns = self._flying[-1][0] if self._flying else 0
            self._flying.append((max(earliest_ns, self.now_ns + delay_ns), tick.command))
        return tick

    def lose(self) -> None:
        """Loses the command of the last tick, and nothing else."""
        self._flying.pop()

    def pass_time(self, duration_ns: int) -> None:
        """Plays the robot side on, in steps of a millisecond."""
        for _ in range(duration_ns // MS):
            while self._flying and self._flying[0][0] <= self.now_ns:
                arrival_ns, command = self._flying.pop(0)
                if self._from_measured and command.stamp_ns + command.trajectory.time_from_start_ns[0] > arrival_ns:
                    self.side.reset(self.observe().joint_position)
                self.side.accept_command(command, arrival_ns)
            position, velocity = self.side.sample(self.now_ns)
            self.positions.append(position)
            self.velocities.append(velocity)
            self.now_ns += MS

    def arm(self) -> None:
        """Arms, and ticks until a chunk would be followed."""
        self.controller.arm()
        for _ in range(31 * PERIOD_NS // self.controller.period_ns):
            assert self.tick().mode is Mode.ARMED

    def assert_inside(self, since: int = 0) -> None:
        """Holds every limit on what the robot side played, recomputed from its samples."""
        q, v = np.array(self.positions[since:]), np.array(self.velocities[since:])
        lower, upper = PROFILE.vector("lower") - 1e-9, PROFILE.vector("upper") + 1e-9
        assert ((q >= lower) & (q <= upper)).all()
        assert (np.abs(v) <= PROFILE.vector("velocity") + 1e-9).all()
        assert (np.abs(np.diff(v, axis=0)) * 1e3 <= PROFILE.vector("acceleration") * (1 + 1e-6)).all()
        assert np.abs(np.diff(q, axis=0) - 5e-4 * (v[1:] + v[:-1])).max() < 1e-5, "position and velocity disagree"

"""One tick of the whole graph, without ROS: executor -> residual -> filter, under the supervisor."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from tendon.control.executor import Executor, Motion, Placement
from tendon.control.filter import SafetyFilter, Verdict
from tendon.control.residual import BoundedResidual
from tendon.control.supervisor import Mode, Supervisor
from tendon.core.errors import InvalidDataError, StoppedError
from tendon.core.profile import RobotProfile
from tendon.core.types import ActionChunk, Array, Command, Observation, Trajectory

LEAD_TICKS = 3
"""How far ahead the reference is committed. A command may arrive half of that late and the robot does not notice."""
SETTLE_NS = 300_000_000
"""Time the robot gets after arming to settle from what it held to the measured pose."""
JOINT_STATE_LIMIT_NS = 50_000_000
"""Oldest joint state to move on."""
REST_FRACTION = 0.05
"""Measured speed, as a part of the limit, below which a joint counts as at rest."""
INVALID_LIMIT = 3
"""Invalid chunks in a row that latch a stop."""
LATE_LIMIT = 5
"""Late ticks in a row that latch a stop."""
GAP_TICKS = 10
"""Ticks missed at once that latch a stop."""
HISTORY_TICKS = 20


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Tick:
    """What one control tick did.

    Attributes:
        command: to send now; `None` in standby and once latched, when the robot holds on its own.
        mode: after the tick.
        reasons: why the robot does not do what the policy asks; empty when it does.
        target: (n,) target of the newest committed point after the residual; `None` when there was none.
        reference: (n,) where the robot should be at the tick.
        acceleration: (n,) of the newest committed step.
        margin: free part of the tightest limit, see `Verdict`.
        binding: the tightest limit.
        late_ticks: ticks missed before this one.
    """

    command: Command | None
    mode: Mode
    reasons: tuple[str, ...]
    target: Array | None
    reference: Array
    acceleration: Array
    margin: float
    binding: str
    late_ticks: int


class Controller:
    """Executor, residual, filter and supervisor of one robot. Everything from one thread.

    Time is whatever clock stamps observations and chunks; `tick` is due once a control period. The reference
    of tick `k` at `t_k` is committed `LEAD_TICKS` ahead: a command holds the committed points after `t_k`,
    then the stop.

    Args:
        profile: the robot.
        residual: a bounded correction of every target.
    """

    def __init__(self, profile: RobotProfile, residual: BoundedResidual | None = None) -> None:
        self._names = profile.joint_names
        self.period_ns = round(1e9 / profile.control_hz)
        self._arrival_ns = LEAD_TICKS * self.period_ns // 2
        self._tolerance = np.array(
            [np.inf if j.tracking_tolerance is None else j.tracking_tolerance for j in profile.joints]
        )
        self._rest_speed = REST_FRACTION * profile.vector("velocity")
        self._residual = residual
        self._executor = Executor(len(self._names))
        self._filter = SafetyFilter(profile)
        self._supervisor = Supervisor()
        self._points: deque[Verdict] = deque(maxlen=HISTORY_TICKS + LEAD_TICKS)
        self._observation: Observation | None = None
        self._now_ns: int | None = None
        self._anchor_ns = 0
        self._tick = 0
        self._committed = 0
        self._settled_ns = 0
        self._invalid_in_a_row = 0
        self._late_in_a_row = 0

    @property
    def mode(self) -> Mode:
        """The supervisor's mode."""
        return self._supervisor.mode

    @property
    def lead_ns(self) -> int:
        """How far ahead of now the reference is committed."""
        return LEAD_TICKS * self.period_ns

    def window(self, start_ns: int, step_ns: int, rows: int) -> ActionChunk | None:
        """Returns the running plan on another grid, see `Executor.window`. Any thread."""
        return self._executor.window(start_ns, step_ns, rows)

    def submit(self, chunk: ActionChunk, now_ns: int) -> Placement:
        """Gives it a chunk. Only an armed or running graph takes one; others are looked at and dropped.

        Raises:
            InvalidDataError: the rows have another length; it counts as `reject` does.
        """
        if chunk.actions.shape[1] != len(self._names):
            error = InvalidDataError(f"chunk has rows of {chunk.actions.shape[1]} joints, expected {len(self._names)}")
            self.reject(str(error))
            raise error
        self._invalid_in_a_row = 0
        if self.mode not in (Mode.ARMED, Mode.RUNNING):
            return Placement.IDLE
        from_ns = max(self._time_ns(self._committed), now_ns)
        return self._executor.submit(chunk, from_ns, (self._filter.position, self._filter.velocity))

    def reject(self, reason: str) -> None:
        """Counts a message that was no valid chunk; `INVALID_LIMIT` in a row latch a stop."""
        self._invalid_in_a_row += 1
        if self._invalid_in_a_row >= INVALID_LIMIT and self.mode in (Mode.ARMED, Mode.RUNNING):
            self.stop(f"{self._invalid_in_a_row} invalid chunks in a row, the last: {reason}")

    def arm(self) -> None:
        """Makes it ready to run from the measured pose at rest.

        The first chunk from an observation after `SETTLE_NS` sets it in motion; earlier ones are `OLDER`, as
        the plan would be under way before the robot is.

        Raises:
            StoppedError: not in standby, no fresh joint state at the last tick, or the robot moves.
        """
        observation, now_ns = self._observation, self._now_ns
        if observation is None or now_ns is None:
            raise StoppedError("arm refused: no joint state yet")
        self._supervisor.arm(self._standing_causes())
        self._start_at(observation.joint_position, now_ns)
        self._settled_ns = now_ns + SETTLE_NS
        self._executor.clear(self._settled_ns)

    def stop(self, reason: str) -> None:
        """Stops and latches, from any mode; the robot is on its stop within the lead and one tick."""
        self._supervisor.stop(reason)
        if self.mode is Mode.STOPPING and not self._points:
            self._supervisor.rest()

    def reset(self) -> None:
        """Leaves a completed stop for standby. Moves nothing.

        Raises:
            StoppedError: not latched, or the cause is still there.
        """
        self._supervisor.reset(self._standing_causes())
        self._points.clear()

    def tick(self, now_ns: int, observation: Observation | None) -> Tick:
        """Advances the reference to `now_ns` plus the lead.

        Args:
            now_ns: the time now, on the clock of the observation's stamp.
            observation: the newest joint state; images are for the residual only.
        """
        before_ns, self._now_ns, self._observation = self._now_ns, now_ns, observation
        if not self._points:
            return self._idle()
        late = self._keep_time(now_ns, before_ns)
        for cause in self._causes():
            self._supervisor.stop(cause)
        target: Array | None = None
        notes: tuple[str, ...] = ()
        while self._committed < self._tick + LEAD_TICKS:
            target, notes = self._commit(now_ns)
        if not any(point.velocity.any() for point in self._ahead()):
            self._supervisor.rest()
        if self._supervisor.reason:
            notes = (self._supervisor.reason, *notes)
        newest = self._points[-1]
        return Tick(
            command=self._command(notes) if self.mode is not Mode.LATCHED else None,
            mode=self.mode,
            reasons=notes,
            target=target,
            reference=self._point(self._tick).position,
            acceleration=newest.acceleration,
            margin=newest.margin,
            binding=newest.binding,
            late_ticks=late,
        )

    def _idle(self) -> Tick:
        reason = self._supervisor.reason
        position = self._filter.position if self._observation is None else self._observation.joint_position
        return Tick(
            command=None,
            mode=self.mode,
            reasons=(reason,) if reason else (),
            target=None,
            reference=position,
            acceleration=np.zeros_like(position),
            margin=1.0,
            binding="",
            late_ticks=0,
        )

    def _time_ns(self, index: int) -> int:
        return self._anchor_ns + index * self.period_ns

    def _point(self, index: int) -> Verdict:
        """Returns the reference at a tick, the oldest there is for one before."""
        return self._points[max(0, len(self._points) - 1 - self._committed + index)]

    def _ahead(self) -> list[Verdict]:
        return [self._point(index) for index in range(self._tick + 1, self._committed + 1)]

    def _start_at(self, position: Array, now_ns: int) -> None:
        self._filter.reset(position)
        self._anchor_ns, self._tick, self._committed = now_ns, 0, LEAD_TICKS
        self._late_in_a_row = 0
        self._points.clear()
        self._points.extend(self._filter.step(None) for _ in range(LEAD_TICKS + 1))

    def _keep_time(self, now_ns: int, before_ns: int | None) -> int:
        """Moves to the tick that is nearest to now; returns how many were missed."""
        tick = (now_ns - self._anchor_ns + self.period_ns // 2) // self.period_ns
        late = max(0, tick - self._tick - 1)
        back = before_ns is not None and now_ns < before_ns
        self._late_in_a_row = self._late_in_a_row + 1 if late else 0
        if back or late > GAP_TICKS:
            # The robot has followed its stop alone; where it is on it is not known, so nothing is sent any more.
            self._supervisor.stop("the clock went back" if back else f"{late} control ticks missed at once")
            self._filter.halt()
            self._start_at(self._filter.position, now_ns)
            return late
        if self._late_in_a_row > LATE_LIMIT:
            self._supervisor.stop(f"{self._late_in_a_row} late control ticks in a row")
        self._tick = max(tick, self._tick)
        return late

    def _commit(self, now_ns: int) -> tuple[Array | None, tuple[str, ...]]:
        """Adds the next point of the reference; returns its target and what is to be said about it."""
        begin_ns, due_ns = self._time_ns(self._committed), self._time_ns(self._committed + 1)
        # After missed ticks the robot may be on the stop it holds before this can arrive: go the same way.
        passed = begin_ns < now_ns + self._arrival_ns
        motion, notes = (None, ()) if passed else self._target(due_ns)
        target: Array | None = None
        if motion is None:
            verdict = self._filter.step(None)
        else:
            target = motion[0]
            if self._residual is not None and self._observation is not None:
                target = self._residual.step(self._observation, target)
                if self._residual.problem:
                    notes = (*notes, self._residual.problem)
            verdict = self._filter.step(target, motion[1])
            notes = (*notes, *verdict.reasons)
        self._points.append(verdict)
        self._committed += 1
        return target, notes

    def _target(self, due_ns: int) -> tuple[Motion | None, tuple[str, ...]]:
        """Returns the motion due, or why there is none."""
        if self.mode not in (Mode.ARMED, Mode.RUNNING) or due_ns < self._settled_ns + self.lead_ns:
            return None, ()
        motion, end_ns = self._executor.sample(due_ns), self._executor.end_ns
        if motion is not None:
            self._supervisor.run()
        if self.mode is not Mode.RUNNING:
            return None, ()
        if motion is None:
            return None, ("starved: no action is due",)
        # One more step may lengthen the stop by a tick; it must not outlast the plan.
        stop_ns = (int(self._points[-1].stop.ticks[-1]) + 1) * self.period_ns
        if end_ns is not None and due_ns + stop_ns > end_ns:
            return None, ("starved: stopping before the plan ends",)
        return motion, ()

    def _standing_causes(self) -> list[str]:
        """Returns what would stop it again at once, while the reference is at rest."""
        causes = self._stale()
        if self._observation is not None:
            moving = np.flatnonzero(np.abs(self._observation.joint_velocity) > self._rest_speed)
            causes += [f"{self._names[i]} moves" for i in moving]
        if self._invalid_in_a_row >= INVALID_LIMIT:
            causes.append(f"{self._invalid_in_a_row} invalid chunks in a row and no valid one since")
        return causes

    def _stale(self) -> list[str]:
        if self._observation is None or self._now_ns is None:
            return ["no joint state"]
        if len(self._observation.joint_position) != len(self._names):
            return [f"joint state of {len(self._observation.joint_position)} joints, expected {len(self._names)}"]
        age_ns = self._now_ns - self._observation.stamp_ns
        if abs(age_ns) > JOINT_STATE_LIMIT_NS:
            return [f"stale joint state: {age_ns * 1e-6:.0f} ms old, allowed {JOINT_STATE_LIMIT_NS * 1e-6:.0f}"]
        return []

    def _causes(self) -> list[str]:
        """Returns what must stop a robot that may move."""
        stale = self._stale()
        if stale or self._observation is None:
            return stale
        index = (self._observation.stamp_ns - self._anchor_ns + self.period_ns // 2) // self.period_ns
        error = np.abs(self._observation.joint_position - self._point(min(index, self._committed)).position)
        if not (error > self._tolerance).any():
            return []
        return [
            f"tracking: {self._names[i]} is {error[i]:.3f} from its reference, allowed {self._tolerance[i]:.3f}"
            for i in np.flatnonzero(error > self._tolerance)
        ]

    def _command(self, reasons: tuple[str, ...]) -> Command:
        if self._time_ns(self._tick) < self._settled_ns:
            # One point far enough ahead for the robot to come gently from what it held to where it was measured.
            zero = np.zeros((1, len(self._names)))
            trajectory = Trajectory(
                position=self._filter.position[None],
                velocity=zero,
                acceleration=zero,
                time_from_start_ns=(self._settled_ns - self._time_ns(self._tick),),
            )
        else:
            trajectory = self._trajectory()
        return Command(stamp_ns=self._time_ns(self._tick), trajectory=trajectory, reasons=reasons)

    def _trajectory(self) -> Trajectory:
        """Returns the committed points after the tick, then the stop from the last of them."""
        ahead = self._ahead()
        stop = ahead[-1].stop
        lead = [index * self.period_ns for index in range(1, len(ahead))]
        tail = [(len(ahead) + ticks) * self.period_ns for ticks in stop.ticks.tolist()]
        return Trajectory(
            position=np.concatenate([[point.position for point in ahead[:-1]], stop.position]),
            velocity=np.concatenate([[point.velocity for point in ahead[:-1]], stop.velocity]),
            # A verdict holds the acceleration that led to its point; a trajectory the one that leaves it.
            acceleration=np.concatenate([[point.acceleration for point in ahead[1:]], stop.acceleration]),
            time_from_start_ns=(*lead, *tail),
        )

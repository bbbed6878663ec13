"""One tick of the whole graph, without ROS: executor -> residual -> filter, under the machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tendon.control.clearance.model import Clearance
from tendon.control.deadman import RELEASED
from tendon.control.executor import Placement
from tendon.control.feedback import Feedback
from tendon.control.filter import Guard, SafetyFilter
from tendon.control.guidance import Guidance
from tendon.control.mode_machine import ModeMachine
from tendon.control.reference import ARRIVAL_PERIODS, Reference
from tendon.control.rejections import Rejections
from tendon.control.residual.bounded import BoundedResidual
from tendon.control.sent_stops import SentStops
from tendon.control.settling import Settling
from tendon.control.standstill import Standstill, gap_ticks
from tendon.control.tick import Tick
from tendon.core.base_motion import Motion
from tendon.core.causes import Cause, Reason
from tendon.core.errors import InvalidDataError, StoppedError
from tendon.core.filter_input import LEAD_TICKS
from tendon.core.modes import Mode, Source
from tendon.core.types import ActionChunk, Array, Command, Observation
from tendon.robots.easing import Easing
from tendon.robots.profile import RobotProfile
from tendon.robots.safety_settings import nanoseconds

AWAY_DIGITS = 5
"""Of how far the robot is from its reference [rad, m], for the filter: a hundredth of a millimetre at 1 m."""
SLEPT_TICKS = 2
"""A loop that missed so many at once sent nothing while the robot may have come to its stop, if a command was lost."""
WENT_BACK = Reason(Cause.CLOCK, "the clock went back")


class Controller:
    """Executor, residual, filter and mode machine of one robot. Everything from one thread.

    Time is whatever clock stamps observations and chunks; `tick` is due once a control period. The reference
    of tick `k` at `t_k` is committed `LEAD_TICKS` ahead: a command holds the reference at `t_k`, the committed points
    after it, then the stop.

    Args:
        profile: the robot.
        residual: a bounded correction of what the policy asks for.
        clearance: what must be kept apart; `None` checks joint limits only.
        guards: further laws that a motion and its stop must obey, such as a `HumanZone`.
        held: (n,) the setpoint that the robot side holds; `None` when nobody knows.
        arrived: returns whether the robot side is known to have each command that was sent. It is asked when joint
            states do not come either.
        interrupted: returns whether so many joint states were lost since the last tick.
    """

    def __init__(
        self,
        profile: RobotProfile,
        residual: BoundedResidual | None = None,
        clearance: Clearance | None = None,
        guards: Sequence[Guard] = (),
        held: Array | None = None,
        arrived: Callable[[], bool] = lambda: True,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> None:
        self._profile, self._arrived, self._interrupted = profile, arrived, interrupted
        self.period_ns = round(1e9 / profile.control_hz)
        self._arrival_ns = round(ARRIVAL_PERIODS * self.period_ns)
        settings = self._settings = profile.safety
        self._residual = residual
        self._filter = SafetyFilter(profile, clearance)
        self._filter.guards = guards
        self._modes = ModeMachine()
        self._reference = Reference(self._filter, self.period_ns, profile)
        self._settling = Settling(profile, held)
        self._rejections = Rejections(settings)
        self._late_in_a_row = 0
        self._standstill = Standstill(settings, self.period_ns)
        self._gap_ticks = gap_ticks(settings, self.period_ns)
        self._feedback = Feedback(profile, self._standstill)
        self.guidance = Guidance(profile, residual, self._filter, self._reference, self._settling, self._feedback)
        self._easing = Easing(profile)
        self._sent = SentStops(2 + nanoseconds(settings.joint_state_age_s) // self.period_ns)

    @property
    def mode(self) -> Mode:
        """The mode machine's mode."""
        return self._modes.mode

    @property
    def lead_ns(self) -> int:
        """How far ahead of now the reference is committed."""
        return LEAD_TICKS * self.period_ns

    @property
    def settled(self) -> bool:
        """Whether chunks may lead: not from arming until the robot is where it starts, nor on a way back from touch."""
        return self._feedback.now_ns is not None and not self._settling.under_way(self._feedback.now_ns)

    def begin_home(self) -> Array:
        """Brakes; returns (n,) where it will rest, from where the way home is to be planned (`HomePlanner`).

        Raises:
            StoppedError: it is not armed.
        """
        if not self.mode.moving:
            raise StoppedError(f"home needs an armed robot, mode is {self.mode.value}")
        return self.guidance.begin_home()

    def follow_home(self, way: Array) -> None:
        """Moves along a (k, n) way home from `begin_home`, slowly, once it rests; after a hold it goes on.

        Raises:
            StoppedError: since then the robot was stopped, armed anew, moved or given to another source.
        """
        if not self.mode.moving or self.guidance.source is not Source.HOME:
            raise StoppedError(f"not going home: mode is {self.mode.value}, source is {self.guidance.source.value}")
        self.guidance.follow_home(way)

    def at_home(self) -> bool:
        """Returns whether there is a reference, and it rests at home."""
        return bool(self._reference) and not self._sent.unheard and self.guidance.at_home()

    def submit(
        self, chunk: ActionChunk, now_ns: int, source: Source = Source.POLICY, hold_ns: int = RELEASED
    ) -> Placement:
        """Gives it a chunk. An armed or running robot that is not held takes one, of its source; else it is dropped.

        Args:
            chunk: where to go.
            now_ns: the time now.
            source: who sends it.
            hold_ns: of a chunk of `TELEOP`, when the deadman was pressed that is held since; see `Deadman`.

        Raises:
            InvalidDataError: the rows have another length, or it lasts too long; it counts as `reject` does.
        """
        placement = self.guidance.hear(chunk, now_ns, source, hold_ns)
        if placement is None and self.mode.moving:
            try:
                if source is not Source.HOME:  # that way is planned here
                    self._rejections.check(chunk)
                placement = self.guidance.follow(chunk, now_ns)
            except InvalidDataError as error:
                self.reject(str(error), source)
                raise
        if source is self.guidance.source:
            self._rejections.clear()
        return placement or Placement.IDLE

    def reject(self, reason: str, source: Source = Source.POLICY) -> None:
        """Counts a message that was no valid chunk; `invalid_chunks` in a row of who leads latch a stop."""
        if source is not self.guidance.source:
            return
        stop = self._rejections.add(reason, self._feedback.now_ns or 0)
        if stop is not None and self.mode.moving:
            self.stop(stop)

    def arm(self) -> None:
        """Makes it ready to run from where the robot stands; `Settling` says where each joint starts.

        The first chunk from an observation after `arm_settle_s`, or longer where the setpoint is not known, sets it in
        motion; earlier ones are `OLDER`, as the plan would be under way before the robot is.

        Raises:
            StoppedError: not in standby, no fresh joint state at the last tick, the robot moves, or the profile
                is no good for it (`RobotProfile.arming_obstacle`).
        """
        if self._profile.arming_obstacle:
            raise StoppedError(f"arm refused: {self._profile.arming_obstacle}")
        observation, now_ns = self._feedback.observation, self._feedback.now_ns
        if observation is None or now_ns is None:
            raise StoppedError("arm refused: no joint state yet")
        self._modes.arm(self._standing_causes())
        self._late_in_a_row = 0
        self._feedback.largest_error = np.zeros(len(self._profile.joints))
        self.guidance.arm()
        self._settle(observation.joint_position, now_ns)

    def _settle(self, measured: Array, now_ns: int) -> None:
        """Starts anew from rest, where a robot stands whose setpoint may be another than the one it was sent last."""
        self._reference.start(self._settling.begin(measured, now_ns), now_ns)
        self._standstill.end()
        self._easing.begin()
        self._sent.clear()
        self.guidance.restart(self._settling.until_ns)

    @property
    def tracking_error(self) -> Array:
        """(n,) largest |measured - commanded| since the robot was armed, rad or m. Any thread."""
        return self._feedback.largest_error

    def stop(self, reason: Reason) -> None:
        """Stops and latches, from any mode; the robot is on its stop within the lead and one tick."""
        self._modes.stop(reason)
        if self.mode is Mode.STOPPING and not self._reference:
            self._modes.rest()

    def abandon(self, late_ns: int) -> None:
        """Takes back the command of the last tick, which was ready too late to be sent: a standstill in mid-tick.

        The robot may have left the way that it continues. It plays the stop of the command before.

        Args:
            late_ns: how long after its tick it was ready.
        """
        before = self._sent.take_back()
        if not self._reference or self._feedback.now_ns is None:
            return
        if self._settling.under_way(self._feedback.now_ns):
            self._settling.sent = 0
        woke_ns = self._feedback.now_ns + late_ns
        reason = self._standstill.miss(late_ns, woke_ns, None if before is None else self._sent.rest_ns)
        self._sent.unheard = True
        if reason is not None:
            self._easing.over = True
            self.stop(reason)
            self._settling.wait(woke_ns, max(woke_ns, self._sent.rest_ns))
        self._reference.start(self._filter.position if before is None else before.position, woke_ns)

    def reset(self) -> None:
        """Leaves a completed stop for standby. Moves nothing.

        Raises:
            StoppedError: not latched, or the cause is still there.
        """
        self._modes.reset(self._standing_causes())
        self._settling.learn(self._sent, self._feedback, self._filter.position)
        self._reference.clear()
        self._rejections.clear()

    def tick(self, now_ns: int, observation: Observation | None) -> Tick:
        """Advances the reference to `now_ns` plus the lead.

        Args:
            now_ns: the time now, on the clock of the observation's stamp.
            observation: the newest joint state.
        """
        before_ns = self._feedback.now_ns
        self._feedback.take(observation, now_ns)
        if not self._reference:
            position = self._filter.position if observation is None else observation.joint_position
            return self._quiet("", position)
        brakes = self.mode is Mode.STOPPING and (self._reference.moving() or bool(self._filter.velocity.any()))
        commands = self.mode.moving or brakes
        late = self._keep_time(now_ns, before_ns)
        if commands:
            self._mind_arrival(now_ns, late)
        until_ns = self._standstill.until_ns
        if until_ns is not None and not self._rests(now_ns, until_ns):
            # The robot plays a stop that must not be interrupted.
            return self._quiet(self._standstill.reason, self._filter.position, late)
        off, moving = self._feedback.off(self._reference), self.mode.moving
        away = self._feedback.away
        self._filter.away = None if away is None else away.round(AWAY_DIGITS)
        for reason in off:
            self._modes.stop(reason)
        added: tuple[Array | None, Array | None, tuple[str, ...]] = (None, None, ())
        self.guidance.look(now_ns)
        if (chunk := self.guidance.way_home(now_ns)) is not None:
            self.submit(chunk, now_ns, Source.HOME)
        while self._reference.committed < self._reference.tick + LEAD_TICKS:
            added = self._commit(now_ns)
        base, target, notes = added
        # While it settles it is not on the reference, from which a way back would begin.
        led = moving and not self._settling.under_way(now_ns)
        found = self._feedback.held_back(self._reference, off) if led else None
        if found is None:
            found = self._rest(now_ns)
        stop = self._modes.reason
        if stop is not None:
            notes = (stop.text, *notes)
        newest = self._reference.newest
        yielding = None if found is None else self._reference.retreat(found, notes)
        ended = self.mode.stopped and not self._reference.moving()  # the robot has what it needs to rest
        command = yielding or (None if ended else self._command(notes))
        if command is not None:
            self._sent.add(command)
        tick = Tick(
            command=command,
            mode=self.mode,
            reasons=notes,
            target=target,
            base=base,
            committed=None if target is None else self._filter.position,
            reference=self._reference.point(self._reference.tick).position,
            acceleration=newest.acceleration,
            margin=newest.margin,
            binding=newest.binding,
            late_ticks=late,
            cause=None if stop is None else stop.cause,
            inputs=self._reference.drain(),
            last=yielding is not None,
        )
        if yielding is not None and (stop_of := self._sent.newest) is not None:
            # Nothing is sent after it: the robot side plays it to its end, with permission or without.
            self._settling.wait(now_ns, stop_of.rest_ns)
            self._reference.start(stop_of.position, now_ns)
        return tick

    def _rest(self, now_ns: int) -> Array | None:
        """Completes a stop whose reference is at rest; returns (n,) where to hold a robot that is pressed on there."""
        if self.mode is not Mode.STOPPING or self._reference.moving() or self._settling.under_way(now_ns):
            return None
        seen = None if self._feedback.stale() else self._feedback.observation
        self._easing.over |= not self._sent.known  # a way back begins where the robot side is
        if not self._easing.over:
            found = self._easing.look(self._reference.newest.stop.position[-1], seen, now_ns)
            if found is not None or not self._easing.over:
                return found
        if seen is not None:
            self._settling.rested = seen.joint_position
        self._modes.rest()
        return None

    def _quiet(self, note: str, position: Array, late: int = 0) -> Tick:
        """Returns a tick that commands nothing, with the robot at (n,) `position`; a stop is said before a note."""
        stop = self._modes.reason
        said = note if stop is None else stop.text
        return Tick(
            mode=self.mode,
            reasons=(said,) if said else (),
            reference=position,
            acceleration=np.zeros_like(position),
            late_ticks=late,
            cause=None if stop is None else stop.cause,
            inputs=self._reference.drain(),
        )

    def _keep_time(self, now_ns: int, before_ns: int | None) -> int:
        """Moves to the tick that is nearest to now; returns how many were missed."""
        tick = self._reference.nearest(now_ns)
        late = max(0, tick - self._reference.tick - 1)
        back = before_ns is not None and now_ns < before_ns
        if self._standstill.until_ns is not None and not back and late <= self._gap_ticks:
            self._reference.tick = max(tick, self._reference.tick)
            return late
        self._late_in_a_row = self._late_in_a_row + 1 if late else 0
        if back or late > self._gap_ticks:
            # The robot follows its stop alone, and it is too late to ask which of the last it has heard.
            reason = WENT_BACK if back else self._standstill.begin(late * self.period_ns, now_ns, self._sent.rest_ns)
            self._sent.unheard = True
            if reason is not None:
                self._standstill.end()
                self._easing.over = True
                self._modes.stop(reason)
                # The robot side plays its stop to the end, whatever a clock that went back says.
                plays_ns = max(0, self._sent.rest_ns - max(now_ns, before_ns or now_ns))
                self._settling.wait(now_ns, now_ns + plays_ns)
            self._reference.halt(now_ns)
            self._late_in_a_row = 0
            return late
        self._standstill.doze(late * self.period_ns, now_ns)
        if self._late_in_a_row > self._settings.late_ticks:
            self._modes.stop(Reason(Cause.LATE, f"{self._late_in_a_row} late control ticks in a row"))
        self._reference.tick = max(tick, self._reference.tick)
        return late

    def _mind_arrival(self, now_ns: int, late: int) -> None:
        """Begins a hold when commands may not have come to the robot: it plays the stop of one of the last.

        One that came then would make it leap. So nothing is sent until it rests, wherever that is.
        """
        holds = self._standstill.until_ns is not None
        slept = late > self._gap_ticks if holds else late >= SLEPT_TICKS
        lost = slept or self._feedback.overdue or self._interrupted()
        if self._sent.unheard or not lost or self._arrived():
            return
        self._sent.unheard = True
        self._standstill.doubt(now_ns, self._sent.rest_ns)
        if not holds:
            self._reference.halt(now_ns)

    def _rests(self, now_ns: int, until_ns: int) -> bool:
        """Returns whether a hold is over: the robot rests at the end of the stop of a command that it has heard."""
        for stale in self._feedback.stale():
            self._modes.stop(stale)
        observation = self._feedback.observation
        if observation is None or now_ns < until_ns:
            return False
        ends = self._sent.ends_of_motion or self._settling.places(self._filter.position)
        if (off := self._feedback.off_stop(ends)) is not None:
            self._modes.stop(off)
        if self.mode.moving:
            self._settling.learn(self._sent, self._feedback, self._filter.position)
            self._settling.rested = observation.joint_position
            self._settle(observation.joint_position, now_ns)
            self.guidance.rest(self._settling.until_ns)
        else:
            self._standstill.end()
            self._reference.start(self._filter.position, now_ns)
        return True

    def _commit(self, now_ns: int) -> tuple[Array | None, Array | None, tuple[str, ...]]:
        """Adds the next point of the reference; returns its target before and after a residual, and notes about it."""
        newest = self._reference.committed
        begin_ns, due_ns = self._reference.time_ns(newest), self._reference.time_ns(newest + 1)
        # After missed ticks the robot may be on the stop it holds before this can arrive: go the same way.
        passed = begin_ns < now_ns + self._arrival_ns
        motion, notes = (None, ()) if passed else self._target(due_ns)
        if motion is None:
            self._reference.commit(None)
            return None, None, notes
        plain: Array | None = None
        if self._residual is not None and self.guidance.source is Source.POLICY and self.mode is Mode.RUNNING:
            plain = motion[0]
            base = self.guidance.base(due_ns, motion)
            motion = self._residual.correct(self._feedback.observation, base)
            notes = (*notes, *self._residual.problems)
        return plain, motion[0], (*notes, *self._reference.commit(*motion).reasons)

    def _target(self, due_ns: int) -> tuple[Motion | None, tuple[str, ...]]:
        """Returns the motion due, or why there is none."""
        if not self.mode.moving or due_ns < self._settling.until_ns + self.lead_ns:
            return None, ()
        motion, end_ns = self.guidance.sample(due_ns), self.guidance.end_ns
        if motion is not None:
            self._modes.run()
            self._settling.leave()
        if self.guidance.held:
            return None, ("held",)
        if self.mode is not Mode.RUNNING:
            return self._settling.motion(due_ns), ()
        if motion is None:
            return None, (self.guidance.idle(),)
        # One more step may lengthen the stop by a tick; it must not outlast the plan.
        stop_ns = (int(self._reference.newest.stop.ticks[-1]) + 1) * self.period_ns
        if end_ns is not None and due_ns + stop_ns > end_ns:
            return None, ("starved: stopping before the plan ends",)
        return motion, ()

    def _standing_causes(self) -> list[Reason]:
        """Returns what would stop it again at once, while the reference is at rest."""
        return self._feedback.standing() + self._rejections.standing(self._feedback.now_ns)

    def _command(self, reasons: tuple[str, ...]) -> Command | None:
        """Returns what to send: the reference, once the robot side has had time to come to its start."""
        tick, settling = self._reference.tick, self._settling
        now_ns = self._reference.time_ns(tick)
        if self.mode.moving and settling.overslept(now_ns):
            self.guidance.restart(settling.until_ns)
        if not settling.under_way(now_ns):
            return self._reference.command(reasons)
        if not self.mode.moving or not settling.send(now_ns):  # a stop leaves the robot side to what it has heard
            return None
        return self._reference.settling(settling.until_ns, reasons)

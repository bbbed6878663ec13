"""Who leads the robot: whose chunks are followed, how fast, and when what they plan ends."""

from __future__ import annotations

import numpy as np

from tendon.control.deadman import RELEASED, Deadman
from tendon.control.executor import STARVED, Executor, Placement
from tendon.control.feedback import Feedback
from tendon.control.filter import SafetyFilter
from tendon.control.homing.chunk import SPEED_SHARE
from tendon.control.homing.follower import HomeFollower
from tendon.control.reference import Reference
from tendon.control.residual.bounded import BoundedResidual
from tendon.control.settling import Settling
from tendon.core.base_motion import BaseMotion, Motion
from tendon.core.errors import InvalidDataError
from tendon.core.modes import Source
from tendon.core.types import ActionChunk, Array
from tendon.robots.profile import RobotProfile
from tendon.robots.safety_settings import nanoseconds


class Guidance:
    """The plan of whoever leads, and what ends it. Not thread-safe, but for `window`.

    Args:
        profile: the robot.
        residual: whose authority follows the speed.
        safety_filter: which keeps the speed.
        reference: what the robot is committed to; a plan goes on from there.
        settling: until when a start takes.
        feedback: says the time.
    """

    def __init__(
        self,
        profile: RobotProfile,
        residual: BoundedResidual | None,
        safety_filter: SafetyFilter,
        reference: Reference,
        settling: Settling,
        feedback: Feedback,
    ) -> None:
        self._residual, self._filter = residual, safety_filter
        self._reference, self._settling, self._feedback = reference, settling, feedback
        self._executor = Executor(len(profile.joints), nanoseconds(profile.safety.chunk_ahead_s))
        # A plan says where the robot is to be: what it does later than it is told, it is told earlier.
        self._delay_ns = nanoseconds(safety_filter.delay_s + profile.latencies.command)
        self._homeward = HomeFollower(profile)
        self._deadman = Deadman(profile)
        self._source, self._held, self._speed = Source.POLICY, False, 1.0
        self._strays, self._strayed_ns = False, 0
        self.looked_at_ns = 0
        """Stamp of the observation of the policy's last chunk, taken or not; 0 before one."""

    @property
    def source(self) -> Source:
        """Whose chunks are followed."""
        return self._source

    @property
    def held(self) -> bool:
        """Whether it is held, at speed 0."""
        return self._held

    @property
    def plan_ns(self) -> int:
        """Stamp of the observation of the chunk that is followed; 0 without a plan."""
        return self._executor.plan_ns or 0

    @property
    def end_ns(self) -> int | None:
        """When the plan ends; `None` without one."""
        return self._executor.end_ns

    def window(self, start_ns: int, step_ns: int, rows: int) -> ActionChunk | None:
        """Returns the running plan on another grid, see `Executor.window`. Any thread."""
        return self._executor.window(start_ns, step_ns, rows)

    def sample(self, due_ns: int) -> Motion | None:
        """Returns what the plan asks for at a time; `None` before and after it."""
        return self._executor.sample(due_ns + self._delay_ns)

    def base(self, due_ns: int, motion: Motion) -> BaseMotion:
        """Returns that with what it comes from, for a residual.

        Raises:
            InvalidDataError: there is no plan.
        """
        return self._executor.base(due_ns + self._delay_ns, motion)

    def select(self, source: Source) -> None:
        """Hands over to another source without a jump: the robot brakes until that one's first chunk leads it on."""
        if source is not self._source:
            leaves, self._source = self._source is Source.POLICY, source
            self._limit_speed()
            self._drop_plan(leaves)
            self._homeward.forget()
            if source is Source.TELEOP and self._feedback.now_ns is not None:
                self._deadman.hand_over(self._feedback.now_ns)

    def set_speed_scale(self, speed: float) -> None:
        """Sets which part of the velocity limits may be used, 0 to 1. At 0 the robot comes to rest, unlatched.

        Its plan ends with that, see `_drop_plan`.

        Raises:
            InvalidDataError: it is not in that range.
        """
        if not 0.0 <= speed <= 1.0:
            raise InvalidDataError(f"speed is {speed}, must be 0 (hold) to 1 (full)")
        if self._source is Source.HOME and not self._held and speed < self._speed:
            self._executor.clear()  # behind a target that goes on it would cut corners: it rests, then goes on slower
        before, self._held = self._held, speed == 0.0
        if before is not self._held:
            self._drop_plan(leaves=self._held)
        if self._residual is not None:
            self._residual.authority.speed = speed
        if not self._held:
            self._speed = speed
            self._limit_speed()

    def _limit_speed(self) -> None:
        """Sets the filter's speed: on its way home a robot that was kept from following its plan must not race on."""
        self._filter.speed = self._speed * (SPEED_SHARE if self._source is Source.HOME else 1.0)

    def _drop_plan(self, leaves: bool) -> None:
        """Ends the plan, which would go on without a robot that leaves it, by a hold or to another source.

        When the policy leads again, a chunk counts that was asked for when the robot had come to rest.
        """
        if leaves:
            self._strays, self._strayed_ns = True, self._feedback.now_ns or 0
        led = self._source is Source.POLICY
        self._executor.clear(max(self._settling.until_ns, self._strayed_ns) if led else None)

    def arm(self) -> None:
        """Begins with a robot that is armed: nobody moved it, and no way home is asked for."""
        self._strays, self._strayed_ns = False, 0
        self._homeward.forget()

    def restart(self, until_ns: int) -> None:
        """Begins anew from rest: neither chunks of observations up to then nor presses before it count any more."""
        self._deadman.end(until_ns)
        self._executor.clear(until_ns)

    def rest(self, until_ns: int) -> None:
        """Drops the plan of a robot that was kept from it and rests: no chunk of an observation up to then counts."""
        self._executor.clear(until_ns)
        self._strayed_ns = until_ns

    def hear(self, chunk: ActionChunk, now_ns: int, source: Source, hold_ns: int) -> Placement | None:
        """Takes note of a chunk; returns why it does not lead, `None` when it does.

        Args:
            chunk: where to go.
            now_ns: the time now.
            source: who sends it.
            hold_ns: of a chunk of `TELEOP`, when the deadman was pressed; see `Deadman`.
        """
        if source is Source.POLICY:
            self.looked_at_ns = chunk.observation_stamp_ns
        if source is Source.TELEOP and not self._is_pressed(chunk, now_ns, hold_ns):
            return Placement.IDLE if hold_ns == RELEASED else Placement.RELEASED
        return None if source is self._source and not self._held else Placement.IDLE

    def follow(self, chunk: ActionChunk, now_ns: int) -> Placement:
        """Plans a chunk that leads, from the first time that is not committed yet.

        Raises:
            InvalidDataError: the rows have another length.
        """
        from_ns = max(self._reference.time_ns(self._reference.committed), now_ns)
        return self._executor.submit(chunk, from_ns, (self._filter.position, self._filter.velocity))

    def _is_pressed(self, chunk: ActionChunk, now_ns: int, hold_ns: int) -> bool:
        """Returns whether the deadman is held behind a chunk; at its release the robot brakes."""
        self._mind_deadman(now_ns)
        pressed = self._deadman.take(hold_ns, chunk.observation_stamp_ns, now_ns)
        if self._source is Source.TELEOP and not self._deadman.held:
            self._executor.clear()
        return pressed

    def _mind_deadman(self, now_ns: int) -> None:
        """Ends a hold that nothing is heard of, or that outlasts one of the monitor: a leap would follow."""
        if self._held and self._deadman.held:
            self._deadman.end(now_ns)
        if self._deadman.lapse(now_ns) and self._source is Source.TELEOP:
            self._executor.clear()

    def look(self, now_ns: int) -> None:
        """Ends what does not lead any more, once a tick.

        A robot that somebody else moved, or that is held, takes no chunk of the policy until it has come to rest.
        """
        led = self._source is Source.POLICY
        self._strays = (self._strays or self._held or not led) and self._reference.moving()
        if self._strays:
            self._strayed_ns = now_ns
            if led:
                self._drop_plan(leaves=False)
        self._mind_deadman(now_ns)

    def begin_home(self) -> Array:
        """Leads home from now on; returns (n,) where the robot will rest, from where the way is to be planned."""
        self.select(Source.HOME)
        self._executor.clear()
        self._homeward.ask()
        self._settling.leave()
        return np.array(self._reference.newest.stop.position[-1])

    def follow_home(self, way: Array) -> None:
        """Takes a (k, n) way home from `begin_home`.

        Raises:
            StoppedError: nobody waits for it, or the robot does not rest where it begins.
        """
        self._homeward.follow(way, self._reference.newest.stop.position[-1])

    def way_home(self, now_ns: int) -> ActionChunk | None:
        """Returns a chunk along what is left of the way home; `None` while it moves, waits, or needs none."""
        waits = self._held or self._reference.moving() or now_ns <= self._settling.until_ns
        if self._source is not Source.HOME or waits:
            return None
        from_ns, end_ns = self._reference.time_ns(self._reference.committed), self._executor.end_ns
        here = self._filter.position
        if end_ns is not None and (end_ns >= from_ns or not self._homeward.came_nearer(here)):
            return None
        return self._homeward.chunk(here, self._speed, from_ns, now_ns)

    def at_home(self) -> bool:
        """Returns whether the reference rests at home."""
        return self._homeward.at_home(self._filter.position) and not self._filter.velocity.any()

    def idle(self) -> str:
        """Returns why nothing is due, in words."""
        if self._source is Source.HOME:
            return self._homeward.idle(self._filter.position)
        return STARVED if self._source is not Source.TELEOP or self._deadman.held else self._deadman.note

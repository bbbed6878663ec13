"""Moves the robot from pose to pose through the controller and its filter, slowly, and lets it rest at each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np

from tendon.control.clearance.model import Clearance
from tendon.control.controller import Controller
from tendon.control.homing.chunk import HomingChunks
from tendon.control.homing.planner import HomePlanner
from tendon.control.tick import Tick
from tendon.core.causes import Cause, Reason
from tendon.core.errors import StoppedError
from tendon.core.types import ActionChunk, Array, Command, Observation
from tendon.robots.profile import RobotProfile

NEAR = 2e-3
"""How near to a pose [rad or m] the reference counts as there."""
STILL = 2e-3
"""Speed of a joint [rad/s or m/s] below which it rests."""
SETTLE_NS = 300_000_000
"""How long it rests before a view is taken."""
LIMIT_S = 60.0
"""Of one way."""


class Robot(Protocol):
    """A robot whose time passes in steps: a simulated one, or a real one that waits for the clock."""

    @property
    def now_ns(self) -> int:
        """The time now."""

    def observe_joints(self) -> tuple[Array, Array]:
        """Returns measured (n,) positions and velocities."""

    def apply(self, command: Command) -> Command:
        """Sends a command."""

    def advance(self, until_ns: int) -> None:
        """Lets time pass."""


class Guide:
    """Leads a robot. Not thread-safe.

    Args:
        profile: of the robot.
        robot: which moves.
        clearance: what is kept apart.

    Raises:
        StoppedError: the robot cannot be armed.
    """

    def __init__(self, profile: RobotProfile, robot: Robot, clearance: Clearance) -> None:
        self._profile, self._robot, self._clearance = profile, robot, clearance
        self._chunks = HomingChunks(profile)
        joints = self._joints()
        self._controller = Controller(profile, clearance=clearance, held=joints.joint_position)
        self._period_ns = self._controller.period_ns
        self._controller.tick(robot.now_ns, joints)
        self._controller.arm()
        for _ in range(round(profile.safety.arm_settle_s * 1e9 / self._period_ns) + 2):
            self._tick()

    def way(self, start: Array, goal: Array) -> Array:
        """Returns (k, n) points of a free way.

        Raises:
            NoWayError: there is none.
        """
        return free_way(self._profile, self._clearance, start, goal)

    def go(self, goal: Array) -> Observation:
        """Moves to a (n,) joint vector and returns the joints there, once the robot rests.

        Raises:
            NoWayError: there is no free way.
            StoppedError: it was stopped on the way; the message says why.
        """
        tick = self._tick()
        start = np.array(tick.reference)
        now_ns = self._robot.now_ns
        chunk = self._chunks.chunk(self.way(start, goal), 1.0, now_ns + self._controller.lead_ns, now_ns)
        self._controller.submit(chunk, now_ns)
        deadline_ns, rested_ns = chunk.end_ns + round(LIMIT_S * 1e9), 0
        while rested_ns < SETTLE_NS:
            tick = self._tick()
            joints = self._joints()
            there = bool((np.abs(tick.reference - goal) < NEAR).all())
            rested_ns = rested_ns + self._period_ns if there and self._rests(joints) else 0
            if self._robot.now_ns > deadline_ns:
                said = "; ".join(tick.reasons) or "the reference did not arrive"
                raise StoppedError(
                    f"the robot is not at its next pose after {LIMIT_S:g} s: {said}; lead it there by hand"
                )
        return self._joints()

    def play(self, rows: Array, step_ns: int, watch: Callable[[Observation, Tick], None]) -> None:
        """Follows (k, n) rows, one each `step_ns`, and calls `watch` with joints and answer of every tick.

        Raises:
            StoppedError: it was stopped; the message says why.
        """
        now_ns = self._robot.now_ns
        start_ns = now_ns + self._controller.lead_ns
        chunk = ActionChunk(actions=rows, start_ns=start_ns, step_ns=step_ns, observation_stamp_ns=now_ns)
        self._controller.submit(chunk, now_ns)
        while self._robot.now_ns < chunk.end_ns + SETTLE_NS:
            self._tick(watch)

    def stop(self, why: str) -> None:
        """Stops the robot and waits until it rests: the first thing to do after Ctrl-C."""
        self._controller.stop(Reason(Cause.REQUESTED, why))
        for _ in range(round(5e9 / self._period_ns)):
            tick = self._controller.tick(self._robot.now_ns, self._joints())
            self._send(tick)
            if tick.command is None and self._rests(self._joints()):
                return

    def _rests(self, joints: Observation) -> bool:
        return bool((np.abs(joints.joint_velocity) < STILL).all())

    def _joints(self) -> Observation:
        position, velocity = self._robot.observe_joints()
        return Observation(stamp_ns=self._robot.now_ns, joint_position=position, joint_velocity=velocity)

    def _tick(self, watch: Callable[[Observation, Tick], None] | None = None) -> Tick:
        joints = self._joints()
        tick = self._controller.tick(self._robot.now_ns, joints)
        if watch is not None:
            watch(joints, tick)
        self._send(tick)
        if not tick.mode.moving:
            raise StoppedError(
                f"the robot was stopped: {'; '.join(tick.reasons) or tick.mode.value}; see to the cause, then lead it "
                "with another guide: this one arms it no more"
            )
        return tick

    def _send(self, tick: Tick) -> None:
        if tick.command is not None:
            self._robot.apply(tick.command)
        self._robot.advance(self._robot.now_ns + self._period_ns)


def free_way(profile: RobotProfile, clearance: Clearance, start: Array, goal: Array) -> Array:
    """Returns (k, n) points of a way from one joint vector to another.

    Raises:
        NoWayError: there is none.
    """
    inside = np.clip(goal, profile.vector("lower"), profile.vector("upper"))  # a measured one trembles
    joints = tuple(replace(joint, home=float(value)) for joint, value in zip(profile.joints, inside, strict=True))
    return HomePlanner(replace(profile, joints=joints), clearance).plan(start)


def clear_of(clearance: Clearance, room_m: float = 0.01) -> Callable[[Array], bool]:
    """Returns what says whether a joint vector keeps all margins, and some room more."""

    def clear(joints: Array) -> bool:
        return bool((clearance.distances(joints) > clearance.margin + room_m).all())

    return clear

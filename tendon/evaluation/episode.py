"""One simulated episode through the same control code as on a robot, in lock-step, with a chosen inference delay."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from tendon.control.clearance.model import Clearance
from tendon.control.continuation import continuation, on_plan_tolerance
from tendon.control.controller import Controller
from tendon.core.modes import Mode
from tendon.core.protocols import Policy
from tendon.core.types import ActionChunk, Array, Observation
from tendon.evaluation.switching import Switch, another_task
from tendon.robots.environment import Environment
from tendon.robots.rest import STILL_SPEED
from tendon.sim.backend import SimBackend
from tendon.sim.scene import Scene

HOLD_CHECKS = 3
CHECK_NS = 100_000_000
REPLAN_STEPS = 2


class Timing(Enum):
    """How inference and execution share time.

    - TRAINED_PREFIX, INPAINTING, OVERLAP: inference runs while the robot moves; the chunk continues the running plan
      in that way, see `tendon.policies.spec.manifest.Continuation`.
    - OVERWRITE: the same without a prefix: the new chunk replaces the old one where it stands.
    - SYNCHRONOUS: the robot runs part of a chunk, comes to rest, and waits for the next inference.
    """

    TRAINED_PREFIX = "trained_prefix"
    INPAINTING = "inpainting"
    OVERLAP = "overlap"
    OVERWRITE = "overwrite"
    SYNCHRONOUS = "synchronous"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How to run episodes.

    Attributes:
        timing: see `Timing`.
        delay_ns: from observation to chunk, in simulated time; the policy's own compute time is not added.
        replan_steps: steps of a chunk between two observations.
        limit_s: an episode longer than this failed.
        blank: leave the instruction empty: the control run that shows that language matters.
        synchronous_rows: rows that SYNCHRONOUS executes of each chunk.
        switch: another task is asked for on the way; `limit_s` and success are that task's then.
    """

    timing: Timing = Timing.TRAINED_PREFIX
    delay_ns: int = 0
    replan_steps: int = REPLAN_STEPS
    limit_s: float = 12.0
    blank: bool = False
    synchronous_rows: int = 8
    switch: Switch | None = None


@dataclass(frozen=True, kw_only=True)
class Episode:
    """What came of one episode.

    Attributes:
        seed: of the scene.
        family: of the task.
        instruction: as given; the last one.
        success: the task was done and stayed done for `HOLD_CHECKS` checks.
        duration_s: until then, or until the limit; from the switch on where there was one.
        peak_acceleration: largest commanded |acceleration| over its joint's limit, arm joints; must be <= 1.
        rms_jerk: of the commanded motion over all arm joints [rad/s^3].
        peak_jump: largest step of the target where one chunk replaces another, before filter [rad].
        stopped_share: share of control ticks after the first chunk without a fresh target.
        stop: why it ended latched; empty when it did not.
        held: an item was between the fingers at the switch; `None` when there was none.
    """

    seed: int
    family: str
    instruction: str
    success: bool
    duration_s: float
    peak_acceleration: float
    rms_jerk: float
    peak_jump: float
    stopped_share: float
    stop: str = ""
    held: bool | None = None


class _Inference:
    """Inference that takes simulated time: what was observed now arrives `delay_ns` later."""

    def __init__(self, policy: Policy, controller: Controller, setting: Setting, tolerance: Array) -> None:
        self._tolerance = tolerance
        self._policy, self._controller, self._setting = policy, controller, setting
        self._pending: tuple[int, ActionChunk] | None = None
        self._next_ns = 0
        self.delivered = 0
        self.peak_jump = 0.0

    def wants(self, now_ns: int, at_rest: bool) -> bool:
        """Returns whether it is time to observe."""
        if self._pending is not None or now_ns < self._next_ns:
            return False
        return self._setting.timing is not Timing.SYNCHRONOUS or not self.delivered or at_rest

    def begin(self, observation: Observation, now_ns: int) -> None:
        """Infers from an observation; the answer is delivered later."""
        prefix, frozen, step_ns = None, 0, self._policy.step_ns
        if self._setting.timing not in (Timing.OVERWRITE, Timing.SYNCHRONOUS):
            frozen = math.ceil((self._setting.delay_ns + self._controller.lead_ns) / step_ns)
            frozen = min(frozen, self._policy.prefix_rows)
            rows = frozen + self._policy.overlap_rows
            prefix = continuation(self._controller.window, observation, step_ns, rows, self._tolerance)
        chunk = self._policy.infer(observation, prefix, frozen)
        if self._setting.timing is Timing.SYNCHRONOUS:
            chunk = replace(
                chunk,
                actions=chunk.actions[: self._setting.synchronous_rows],
                start_ns=now_ns + self._setting.delay_ns + step_ns,
            )
        self._pending = (now_ns + self._setting.delay_ns, chunk)
        self._next_ns = now_ns + self._setting.replan_steps * step_ns

    def hurry(self) -> None:
        """Makes the next observation due at once, as a new instruction does."""
        self._next_ns = 0

    def deliver(self, now_ns: int) -> None:
        """Hands a chunk that is due to the controller."""
        if self._pending is None or now_ns < self._pending[0]:
            return
        chunk, self._pending = self._pending[1], None
        before = self._controller.window(now_ns + self._controller.lead_ns, 1, 1)
        self._controller.submit(chunk, now_ns)
        self.delivered += 1
        if before is not None:
            at_ns = now_ns + self._controller.lead_ns
            times = chunk.start_ns + chunk.step_ns * np.arange(len(chunk.actions))
            new = [np.interp(at_ns, times, column) for column in chunk.actions.T]
            self.peak_jump = max(self.peak_jump, float(np.abs(new - before.actions[0])[:-1].max()))


class Runner:
    """Runs episodes in one world.

    Args:
        backend: the simulated robot.
        policy: any core `Policy`.
        environment: what the filter keeps clear of, besides the robot itself.
    """

    def __init__(self, backend: SimBackend, policy: Policy, environment: Environment | None = None) -> None:
        self._backend, self._policy = backend, policy
        self._clearance = Clearance(backend.world.profile, environment)
        self._profile = backend.world.profile
        self._arm = self._profile.group_indices("arm")
        self._period_ns = round(1e9 / self._profile.control_hz)

    def run(self, scene: Scene, setting: Setting) -> Episode:
        """Runs one episode from the scene's start to success or the time limit."""
        backend, switch = self._backend, setting.switch
        backend.load(scene)
        controller = Controller(self._profile, clearance=self._clearance)
        controller.tick(backend.world.time_ns, self._joints())
        controller.arm()
        inference = _Inference(self._policy, controller, setting, on_plan_tolerance(self._profile))
        commanded: list[Array] = []
        idle = ticks = done = begin_ns = 0
        held: bool | None = None
        while backend.world.time_ns - begin_ns < setting.limit_s * 1e9 and done < HOLD_CHECKS:
            now_ns = backend.world.time_ns
            if switch is not None and now_ns >= switch.at_ns:
                controller.pace(0.0 if switch.stop_first and not self._at_rest() else 1.0)
                if not switch.stop_first or self._at_rest():
                    held = backend.world.held() is not None
                    scene, begin_ns, done = another_task(backend.world) or scene, switch.at_ns, 0
                    backend.world.ask(scene)
                    inference.hurry()
                    switch = None
            inference.deliver(now_ns)
            if inference.wants(now_ns, self._at_rest()):
                inference.begin(backend.observe("" if setting.blank else scene.instruction), now_ns)
                inference.deliver(now_ns)
            tick = controller.tick(now_ns, self._joints())
            if tick.command is not None:
                backend.apply(tick.command)
                commanded.append(tick.command.trajectory.acceleration[0][self._arm])
            idle += tick.target is None and inference.delivered > 0
            ticks += inference.delivered > 0
            backend.advance(now_ns + self._period_ns)
            if (now_ns // self._period_ns) % (CHECK_NS // self._period_ns) == 0:
                done = done + 1 if backend.world.succeeded() else 0
        motion = np.array(commanded)
        limit = self._profile.vector("acceleration")[self._arm]
        jerk = np.diff(motion, axis=0) * self._profile.control_hz
        return Episode(
            seed=scene.seed,
            family=scene.task.family,
            instruction="" if setting.blank else scene.instruction,
            success=done >= HOLD_CHECKS,
            duration_s=(backend.world.time_ns - begin_ns) * 1e-9,
            peak_acceleration=float(np.abs(motion / limit).max()),
            rms_jerk=float(np.sqrt(np.mean(jerk**2))),
            peak_jump=inference.peak_jump,
            stopped_share=idle / max(1, ticks),
            stop="; ".join(tick.reasons[:1]) if tick.mode in (Mode.STOPPING, Mode.LATCHED) else "",
            held=held,
        )

    def _at_rest(self) -> bool:
        _, velocity = self._backend.observe_joints()
        return bool(np.abs(velocity[self._arm]).max() < STILL_SPEED)

    def _joints(self) -> Observation:
        position, velocity = self._backend.observe_joints()
        return Observation(stamp_ns=self._backend.world.time_ns, joint_position=position, joint_velocity=velocity)

"""One simulated episode through the same control code as on a robot, in lock-step, with a chosen inference delay."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from tendon.control.clearance.model import Clearance
from tendon.control.continuation import on_plan_tolerance
from tendon.control.controller import Controller
from tendon.core.modes import Mode
from tendon.core.protocols import Policy
from tendon.core.types import Array, Observation
from tendon.evaluation.controller_plan import ControllerPlan
from tendon.evaluation.switching import Switch, another_task
from tendon.evaluation.timed_policy import TimedPolicy
from tendon.policies.inference.loaded import Loaded
from tendon.policies.inference.schedule import REPLAN_STEPS
from tendon.policies.inference.session import PolicySession
from tendon.policies.inference.stepped import SteppedInference
from tendon.robots.environment import Environment
from tendon.robots.rest import STILL_SPEED
from tendon.sim.backend import SimBackend
from tendon.sim.scene import Scene

HOLD_CHECKS = 3
CHECK_NS = 100_000_000


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
        plan = ControllerPlan(controller)
        session, inference = self._session(controller, plan, setting)
        session.follow("" if setting.blank else scene.instruction)
        commanded: list[Array] = []
        idle = ticks = done = begin_ns = 0
        held: bool | None = None
        while backend.world.time_ns - begin_ns < setting.limit_s * 1e9 and done < HOLD_CHECKS:
            now_ns = backend.world.time_ns
            if switch is not None and now_ns >= switch.at_ns:
                controller.set_speed_scale(0.0 if switch.stop_first and not self._at_rest() else 1.0)
                if not switch.stop_first or self._at_rest():
                    held = backend.world.held() is not None
                    scene, begin_ns, done = another_task(backend.world) or scene, switch.at_ns, 0
                    backend.world.ask(scene)
                    session.follow("" if setting.blank else scene.instruction)
                    inference.replan_now()
                    switch = None
            inference.advance(now_ns)
            waits = setting.timing is Timing.SYNCHRONOUS and plan.delivered > 0 and not self._at_rest()
            if not waits and inference.wants(now_ns, session.instruction):
                session.offer(backend.observe(session.instruction))
                inference.advance(now_ns)
            tick = controller.tick(now_ns, self._joints())
            if tick.command is not None:
                backend.apply(tick.command)
                commanded.append(tick.command.trajectory.acceleration[0][self._arm])
            idle += tick.target is None and plan.delivered > 0
            ticks += plan.delivered > 0
            backend.advance(now_ns + self._period_ns)
            if (now_ns // self._period_ns) % (CHECK_NS // self._period_ns) == 0:
                done = done + 1 if backend.world.succeeded() else 0
        motion = np.array(commanded)
        limit = self._profile.vector("acceleration")[self._arm]
        jerk = np.diff(motion, axis=0) * self._profile.control_hz
        return Episode(
            seed=scene.seed,
            family=scene.task.family,
            instruction=session.instruction,
            success=done >= HOLD_CHECKS,
            duration_s=(backend.world.time_ns - begin_ns) * 1e-9,
            peak_acceleration=float(np.abs(motion / limit).max()),
            rms_jerk=float(np.sqrt(np.mean(jerk**2))),
            peak_jump=plan.peak_jump,
            stopped_share=idle / max(1, ticks),
            stop="; ".join(tick.reasons[:1]) if tick.mode in (Mode.STOPPING, Mode.LATCHED) else "",
            held=held,
        )

    def _session(
        self, controller: Controller, plan: ControllerPlan, setting: Setting
    ) -> tuple[PolicySession[TimedPolicy], SteppedInference]:
        """Returns a session that may move the robot, and what computes its inferences in simulated time."""
        synchronous = setting.timing is Timing.SYNCHRONOUS
        policy = TimedPolicy(
            self._policy,
            continues=not synchronous and setting.timing is not Timing.OVERWRITE,
            rows=setting.synchronous_rows if synchronous else None,
            delay_ns=setting.delay_ns,
        )
        session = PolicySession((Loaded(name="policy", policy=policy),), plan, lambda: self._backend.world.time_ns)
        inference = SteppedInference(
            policy,
            delay_ns=setting.delay_ns,
            replan_steps=setting.replan_steps,
            plan_window=plan.window,
            tolerance=on_plan_tolerance(self._profile),
            lead_ns=controller.lead_ns,
            publish=session.deliver,
        )
        session.permit(armed=True, slowed=False)
        session.start(inference)
        return session, inference

    def _at_rest(self) -> bool:
        _, velocity = self._backend.observe_joints()
        return bool(np.abs(velocity[self._arm]).max() < STILL_SPEED)

    def _joints(self) -> Observation:
        position, velocity = self._backend.observe_joints()
        return Observation(stamp_ns=self._backend.world.time_ns, joint_position=position, joint_velocity=velocity)

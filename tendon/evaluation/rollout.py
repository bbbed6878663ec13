"""One episode in progress: the same control code as on a robot, in lock-step, a control tick at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tendon.control.clearance.model import Clearance
from tendon.control.continuation import on_plan_tolerance
from tendon.control.controller import Controller
from tendon.control.residual.bounded import BoundedResidual
from tendon.control.tick import Tick
from tendon.core.errors import ConfigError
from tendon.core.modes import Mode
from tendon.core.protocols import Policy
from tendon.core.types import ActionChunk, Array, Observation
from tendon.evaluation.controller_plan import ControllerPlan
from tendon.evaluation.episode import HOLD_CHECKS, Episode, Setting, Timing
from tendon.evaluation.limits import worst_of
from tendon.evaluation.motion import Motion
from tendon.evaluation.timed_policy import TimedPolicy
from tendon.policies.inference.loaded import Loaded
from tendon.policies.inference.session import PolicySession
from tendon.policies.inference.stepped import SteppedInference
from tendon.robots.profile import RobotProfile
from tendon.robots.rest import STILL_SPEED, Rest
from tendon.sim.backend import SimBackend
from tendon.sim.suite import Scene, TaskSwitching, World

CHECK_NS = 100_000_000
"""Between two checks of success."""


class Rollout:
    """Runs one episode from the scene's start to success, a stop that latched, or the time limit.

    Args:
        backend: a world of the scene's suite; it is reset.
        policy: any core `Policy`.
        scene: where it begins.
        setting: how policy and robot share time.
        clearance: what the filter keeps apart.
        residual: corrects the policy.
        profile: the robot as control has it, with its calibration; by default the world's.
        heard: takes each chunk as it became part of the plan.

    Attributes:
        scene: with the task that is asked for now.

    Raises:
        ConfigError: the setting switches tasks, and the world cannot.
    """

    def __init__(
        self,
        backend: SimBackend[World],
        policy: Policy,
        scene: Scene,
        setting: Setting,
        clearance: Clearance | None = None,
        residual: BoundedResidual | None = None,
        profile: RobotProfile | None = None,
        heard: Callable[[ActionChunk], None] = lambda _: None,
    ) -> None:
        self._backend, self._policy, self.scene, self._setting = backend, policy, scene, setting
        world = backend.world
        self._switching = world if isinstance(world, TaskSwitching) else None
        self._switch = setting.switch
        if self._switch is not None and self._switching is None:
            raise ConfigError(
                f"switch is {self._switch}, and {type(world).__name__} has one task a scene: leave it out"
            )
        self._profile = world.profile if profile is None else profile
        self._arm = self._profile.group_indices("arm")
        self._period_ns = round(1e9 / self._profile.control_hz)
        self._check_ticks = CHECK_NS // self._period_ns
        backend.reset(scene)
        joints = self._joints()
        self._controller = Controller(self._profile, residual, clearance, held=joints.joint_position)
        self._tick = self._controller.tick(world.time_ns, joints)
        self._controller.arm()
        self._plan = ControllerPlan(self._controller, self._arm)
        self._session, self._inference = self._start(heard)
        self._session.rests = setting.rests
        self._session.follow("" if setting.blank else scene.instruction)
        self._commanded: list[Array] = []
        self._idle = self._ticks = self._done = self._begin_ns = self._shown_ns = 0
        self._held: bool | None = None

    @property
    def over(self) -> bool:
        """Whether the last task is done, and stayed so, the robot was stopped, or the time is up."""
        switch, now_ns = self._switch, self._backend.world.time_ns
        another = switch is not None and (switch.at_ns is None or now_ns >= switch.at_ns)
        return self.passed >= 1.0 or (self.success and not another) or self.stopped

    @property
    def switched(self) -> bool:
        """Whether the last task is the one that is asked for now."""
        return self._switch is None

    @property
    def passed(self) -> float:
        """Share of the task's time that is over."""
        limit_s = self.scene.task.limit_s if self._setting.limit_s is None else self._setting.limit_s
        return (self._backend.world.time_ns - self._begin_ns) * 1e-9 / limit_s

    @property
    def success(self) -> bool:
        """Whether the task is done, and stayed so."""
        return self._done >= HOLD_CHECKS

    @property
    def estimate(self) -> float | None:
        """How much of the task is done, as the newest chunk's policy sees it; `None` where it does not tell."""
        return self._plan.estimate

    @property
    def settled(self) -> bool:
        """Whether the robot has settled since it was armed: from then on the policy is asked."""
        return self._controller.settled

    @property
    def resting(self) -> bool:
        """Whether the policy counts its task as done, and is asked nothing more for it."""
        return self._session.done

    @property
    def stopped(self) -> bool:
        """Whether the robot was stopped, and stays so."""
        return self._tick.mode is Mode.LATCHED

    def tick(self) -> Tick:
        """Advances the episode by a control period."""
        backend, setting = self._backend, self._setting
        now_ns = backend.world.time_ns
        self._change_task(now_ns)
        self._inference.advance(now_ns)
        self._show_past(now_ns)
        waits = setting.timing is Timing.SYNCHRONOUS and self._plan.delivered > 0 and not self._at_rest()
        asks = self.settled and not self.resting and not waits
        if asks and self._inference.wants(now_ns, self._session.instruction):
            self._session.offer(backend.observe(self._session.instruction))
            self._inference.advance(now_ns)
        self._tick = tick = self._controller.tick(now_ns, self._joints())
        if tick.command is not None:
            backend.apply(tick.command)
            self._commanded.append(tick.command.trajectory.acceleration[0][self._arm])
        self._idle += tick.target is None and self._plan.delivered > 0
        self._ticks += self._plan.delivered > 0
        backend.advance(now_ns + self._period_ns)
        if (now_ns // self._period_ns) % self._check_ticks == 0:
            self._done = self._done + 1 if self.scene.task.success(backend.world) else 0
        return tick

    def _show_past(self, now_ns: int) -> None:
        """Shows a policy that sees its past what cameras show it between its inferences, as often as the fastest."""
        if not self._timed.sees_past:
            return
        rate_hz = max((camera.rate_hz for camera in self._profile.cameras), default=1e9 / self._timed.step_ns)
        if now_ns - self._shown_ns >= round(1e9 / rate_hz):
            self._shown_ns = now_ns
            self._timed.observe(self._backend.observe(self._session.instruction))

    def episode(self) -> Episode:
        """Returns what came of it so far."""
        world, scene = self._backend.world, self.scene
        motion = np.array(self._commanded)
        limit = self._profile.vector("acceleration")[self._arm]
        jerk = np.diff(motion, axis=0) * self._profile.control_hz
        stopped = self._tick.mode in (Mode.STOPPING, Mode.LATCHED)
        return Episode(
            seed=scene.seed,
            family=scene.task.family,
            instruction=self._session.instruction,
            success=self.success,
            progress=1.0 if self.success else float(scene.task.progress(world)),
            duration_s=(world.time_ns - self._begin_ns) * 1e-9,
            peak_acceleration=float(np.abs(motion / limit).max()),
            rms_jerk=float(np.sqrt(np.mean(jerk**2))),
            peak_jump=self._plan.peak_jump,
            stopped_share=self._idle / max(1, self._ticks),
            stop="; ".join(self._tick.reasons[:1]) if stopped else "",
            held=self._held,
            broken=self._broken(),
            estimate=self.estimate,
        )

    def _broken(self) -> int:
        """Returns how many samples of what was commanded are beyond a limit, by a check of its own."""
        commanded = self._backend.commanded
        if len(commanded) < 2:
            return 0
        times_ns, positions, velocities = zip(*commanded, strict=True)
        motion = Motion(
            profile=self._profile,
            time_ns=np.array(times_ns),
            position=np.array(positions),
            velocity=np.array(velocities),
        )
        return worst_of(motion).broken

    def _change_task(self, now_ns: int) -> None:
        """Asks for another task when it is time, and the robot rests where it has to first."""
        switch, switching = self._switch, self._switching
        if switch is None or switching is None:
            return
        if switch.at_ns is None and self.success:  # from now on it is time, also if the first task is undone
            switch = self._switch = replace(switch, at_ns=now_ns)
        if switch.at_ns is None or now_ns < switch.at_ns:
            return
        ready = not switch.stop_first or self._at_rest()
        self._controller.guidance.set_speed_scale(1.0 if ready else 0.0)
        if not ready:
            return
        self._held = switching.held() is not None
        self._begin_ns, self._done = switch.at_ns, 0
        self.scene = switching.another_task() or self.scene
        switching.ask(self.scene)
        self._session.follow("" if self._setting.blank else self.scene.instruction)
        self._inference.replan_now()
        self._plan.estimate, self._switch = None, None

    def _start(self, heard: Callable[[ActionChunk], None]) -> tuple[PolicySession[TimedPolicy], SteppedInference]:
        """Returns a session that may move the robot, and what computes its inferences in simulated time."""
        setting, controller, plan = self._setting, self._controller, self._plan
        synchronous = setting.timing is Timing.SYNCHRONOUS
        policy = self._timed = TimedPolicy(
            self._policy,
            continues=not synchronous and setting.timing is not Timing.OVERWRITE,
            rows=setting.synchronous_rows if synchronous else None,
            delay_ns=setting.delay_ns,
            pace=setting.pace,
        )
        loaded = Loaded(name="policy", policy=policy)
        session = PolicySession(
            (loaded,), plan, lambda: self._backend.world.time_ns, publish=lambda answer: heard(answer.chunk)
        )
        inference = SteppedInference(
            policy,
            delay_ns=setting.delay_ns,
            plan_window=plan.window,
            tolerance=on_plan_tolerance(self._profile),
            rest_speed=Rest(self._profile).speed,
            lead_ns=controller.lead_ns,
            publish=session.deliver,
        )
        session.permit(armed=True, speed=1.0)
        session.start(inference)
        return session, inference

    def _at_rest(self) -> bool:
        _, velocity = self._backend.observe_joints()
        return bool(np.abs(velocity[self._arm]).max() < STILL_SPEED)

    def _joints(self) -> Observation:
        position, velocity = self._backend.observe_joints()
        return Observation(stamp_ns=self._backend.world.time_ns, joint_position=position, joint_velocity=velocity)

"""Runs episodes through the same control code as on a robot, in lock-step, with a chosen inference delay."""

from __future__ import annotations

import numpy as np

from tendon.control.clearance.model import Clearance
from tendon.control.continuation import on_plan_tolerance
from tendon.control.controller import Controller
from tendon.core.errors import ConfigError
from tendon.core.modes import Mode
from tendon.core.protocols import Policy
from tendon.core.types import Array, Observation
from tendon.evaluation.controller_plan import ControllerPlan
from tendon.evaluation.episode import HOLD_CHECKS, Episode, Setting, Timing
from tendon.evaluation.timed_policy import TimedPolicy
from tendon.policies.inference.loaded import Loaded
from tendon.policies.inference.session import PolicySession
from tendon.policies.inference.stepped import SteppedInference
from tendon.robots.environment import Environment
from tendon.robots.rest import STILL_SPEED
from tendon.sim.backend import SimBackend
from tendon.sim.suite import Scene, TaskSwitching, World

CHECK_NS = 100_000_000
"""Between two checks of success."""


class Runner:
    """Runs episodes in one world.

    Args:
        backend: a world of any suite.
        policy: any core `Policy`.
        environment: what the filter keeps clear of, besides the robot itself.

    Attributes:
        profile: the robot.
    """

    def __init__(self, backend: SimBackend[World], policy: Policy, environment: Environment | None = None) -> None:
        self._backend, self._policy = backend, policy
        self._clearance = Clearance(backend.world.profile, environment)
        self.profile = backend.world.profile
        self._arm = self.profile.group_indices("arm")
        self._period_ns = round(1e9 / self.profile.control_hz)

    def run(self, scene: Scene, setting: Setting) -> Episode:
        """Runs one episode from the scene's start to success or the time limit.

        Raises:
            ConfigError: the setting switches tasks, and the world cannot.
        """
        backend, switch = self._backend, setting.switch
        world = backend.world
        switching = world if isinstance(world, TaskSwitching) else None
        if switch is not None and switching is None:
            raise ConfigError(f"switch is {switch}, and {type(world).__name__} has one task a scene: leave it out")
        backend.reset(scene)
        joints = self._joints()
        controller = Controller(self.profile, clearance=self._clearance, held=joints.joint_position)
        controller.tick(world.time_ns, joints)
        controller.arm()
        plan = ControllerPlan(controller, self._arm)
        session, inference = self._session(controller, plan, setting)
        session.follow("" if setting.blank else scene.instruction)
        commanded: list[Array] = []
        idle = ticks = done = begin_ns = 0
        held: bool | None = None
        while world.time_ns - begin_ns < setting.limit_s * 1e9 and done < HOLD_CHECKS:
            now_ns = world.time_ns
            if switching is not None and switch is not None and now_ns >= switch.at_ns:
                controller.set_speed_scale(0.0 if switch.stop_first and not self._at_rest() else 1.0)
                if not switch.stop_first or self._at_rest():
                    held = switching.held() is not None
                    scene, begin_ns, done = switching.another_task() or scene, switch.at_ns, 0
                    switching.ask(scene)
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
                done = done + 1 if scene.task.success(world) else 0
        motion = np.array(commanded)
        limit = self.profile.vector("acceleration")[self._arm]
        jerk = np.diff(motion, axis=0) * self.profile.control_hz
        return Episode(
            seed=scene.seed,
            family=scene.task.family,
            instruction=session.instruction,
            success=done >= HOLD_CHECKS,
            duration_s=(world.time_ns - begin_ns) * 1e-9,
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
            tolerance=on_plan_tolerance(self.profile),
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

"""An episode runs a policy on its own time grid, and its session has no plan beside the controller's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tendon.control.controller import Controller
from tendon.core.types import ActionChunk, Observation
from tendon.evaluation.controller_plan import ControllerPlan
from tendon.evaluation.episode import Setting, Timing
from tendon.evaluation.pool import Job, Tools, run_jobs
from tendon.evaluation.runner import Runner
from tendon.policies.bundle.bundle import load_bundle, write_bundle
from tendon.policies.inference.policy import BundlePolicy
from tendon.robots.profile import load_profile
from tendon.sim.backend import SimBackend
from tendon.sim.simulators import AUTO
from tendon.sim.tabletop.suite import TABLETOP

SEED, STEP_NS = 100_000, 100_000_000
DONE_SEED = 100_120  # the policy does its task at every delay


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tabletop bundle with rows every 0.05 s: it does all at twice the speed."""
    bundle, folder = load_bundle("bundles/tabletop"), tmp_path_factory.mktemp("quick")
    manifest = replace(bundle.manifest, action=replace(bundle.manifest.action, step_s=0.05))
    write_bundle(folder, manifest, bundle.content)
    return folder


@pytest.mark.parametrize("timing", [Timing.TRAINED_PREFIX, Timing.SYNCHRONOUS])
def test_rows_may_be_half_as_far_apart_as_in_our_own_bundle(quick: Path, timing: Timing) -> None:
    setting = Setting(timing=timing, delay_ns=50_000_000, limit_s=2.0)
    ((_, episode),) = run_jobs([Job(bundle=quick, robot="panda", seed=SEED, setting=setting)], 1)
    assert episode.duration_s == pytest.approx(2.0)
    assert not episode.stop
    assert episode.stopped_share < 1.0
    assert episode.peak_acceleration <= 1.0 + 1e-9


def test_a_controller_in_the_same_process_has_the_only_copy_of_the_plan() -> None:
    """What an interruption clears is what the controller runs."""
    profile = load_profile("panda")
    home = profile.vector("home")
    controller = Controller(profile, held=home)
    now_ns = 10**9

    def tick(now_ns: int) -> None:
        joints = Observation(stamp_ns=now_ns, joint_position=home, joint_velocity=np.zeros_like(home))
        controller.tick(now_ns, joints)

    tick(now_ns)
    controller.arm()
    while now_ns < 1_500_000_000:
        now_ns += controller.period_ns
        tick(now_ns)
    plan = ControllerPlan(controller, profile.group_indices("arm"))
    chunk = ActionChunk(
        actions=np.tile(home, (8, 1)), start_ns=now_ns + STEP_NS, step_ns=STEP_NS, observation_stamp_ns=now_ns
    )
    plan.submit(chunk, now_ns)
    assert plan.delivered == 1 and plan.window(now_ns + STEP_NS, STEP_NS, 1) is not None
    plan.clear()
    assert controller.guidance.window(now_ns + STEP_NS, STEP_NS, 1) is None
    plan.submit(chunk, now_ns)
    assert plan.delivered == 2


@pytest.mark.parametrize("delay_ms", [200, 400])
def test_a_slow_policy_is_followed_from_its_first_answer_on(delay_ms: int) -> None:
    """The robot is never behind a plan that began before it did: each later answer continues what is carried out."""
    profile = load_profile("panda")
    slow = Recorded(BundlePolicy(load_bundle("bundles/tabletop"), profile, threads=1))
    backend = SimBackend(TABLETOP.world(profile))
    episode = Runner(backend, slow, TABLETOP.load_environment()).run(
        TABLETOP.scene(profile, DONE_SEED), Setting(delay_ns=delay_ms * 1_000_000)
    )
    backend.close()
    assert episode.success and len(slow.moving) > 3
    assert all(slow.moving), "whether an answer to a robot in motion continued its plan"


class Recorded:
    """A policy, with whether each answer to a robot in motion continued a plan."""

    def __init__(self, policy: BundlePolicy) -> None:
        self._policy, self.moving = policy, list[bool]()
        self.step_ns, self.prefix_rows, self.overlap_rows = policy.step_ns, policy.prefix_rows, policy.overlap_rows
        self.pace = policy.pace

    def infer(
        self, observation: Observation, prefix: ActionChunk | None = None, frozen: int | None = None
    ) -> ActionChunk:
        if np.abs(observation.joint_velocity).max() > 0.1:
            self.moving.append(prefix is not None)
        return self._policy.infer(observation, prefix, frozen)


class Remembers(BundlePolicy):
    """A policy that sees its past; keeps when what it was shown, and inferred from, was seen."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.shown_ns: list[int] = []
        self.inferred_ns: list[int] = []

    @property
    def sees_past(self) -> bool:
        return True

    def observe(self, observation: Observation) -> None:
        assert observation.images
        self.shown_ns.append(observation.stamp_ns)

    def infer(
        self, observation: Observation, prefix: ActionChunk | None = None, frozen: int | None = None
    ) -> ActionChunk:
        self.inferred_ns.append(observation.stamp_ns)
        return super().infer(observation, prefix, frozen)


def test_a_policy_that_sees_its_past_is_shown_what_cameras_see_between_its_inferences() -> None:
    """It was shown what it inferred from alone: the present stood in as its own past."""
    suite, profile = TABLETOP, load_profile("panda")
    policy = Remembers(load_bundle("bundles/tabletop"), profile)
    tools = Tools(suite, policy, "panda", Timing.AUTO, AUTO)
    tools.run(SEED, Setting(limit_s=2.0, delay_ns=50_000_000))
    tools.close()
    frame_ns = 1e9 / max(camera.rate_hz for camera in profile.cameras)
    assert policy.shown_ns[0] < policy.inferred_ns[0] and len(policy.inferred_ns) < len(policy.shown_ns) / 3
    assert np.diff(policy.shown_ns).max() <= frame_ns + 1e7


def test_a_robot_rests_when_the_policy_sees_that_its_task_is_done() -> None:
    setting = Setting(timing=Timing.AUTO, delay_ns=50_000_000, limit_s=20.0)
    tools = Tools(TABLETOP, Path("bundles/tabletop"), "panda", setting.timing, AUTO)
    targets: list[bool] = []
    try:
        rollout = tools.begin(DONE_SEED, setting)
        while rollout.passed < 1.0:
            targets.append(rollout.tick().target is not None)
    finally:
        tools.close()
    assert rollout.success and not rollout.stopped
    assert any(targets[:1000]) and not any(targets[1500:])

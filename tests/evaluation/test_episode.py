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
from tendon.evaluation.pool import Job, run_jobs
from tendon.policies.bundle.bundle import load_bundle, write_bundle
from tendon.robots.profile import load_profile

SEED, STEP_NS = 100_000, 100_000_000


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
    assert controller.window(now_ns + STEP_NS, STEP_NS, 1) is None
    plan.submit(chunk, now_ns)
    assert plan.delivered == 2

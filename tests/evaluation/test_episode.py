"""An episode runs a policy on its own time grid."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tendon.evaluation.episode import Setting, Timing
from tendon.evaluation.pool import Job, run_jobs
from tendon.policies.bundle.bundle import load_bundle, write_bundle

SEED = 100_000


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

"""A detector is calibrated on the episodes that an evaluation would run, and on nothing that does not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tendon.cli import main
from tendon.evaluation.detection.tracing import TraceJob, trace_episode
from tendon.evaluation.episode import Setting
from tendon.evaluation.pool import Job, run_job
from tendon.evaluation.suites import load_suite
from tendon.policies.bundle.places import find_bundle
from tests import ROOT
from tests.policies.residual.tiny import write_constant

RESIDUAL = ROOT / "bundles" / "residuals" / "tabletop"


@pytest.mark.parametrize("residual", [None, RESIDUAL], ids=["alone", "corrected"])
def test_what_is_traced_is_what_is_evaluated(residual: Path | None) -> None:
    suite, bundle, seed = "tabletop_hard", find_bundle("tabletop"), 100_004
    delay_ns = round(1e9 * load_suite(suite).difficulty.delay_s)
    traced = trace_episode(
        TraceJob(bundle=bundle, robot="panda", seed=seed, delay_ns=delay_ns, suite=suite, residual=residual)
    )
    job = Job(
        bundle=bundle, robot="panda", seed=seed, setting=Setting(delay_ns=delay_ns), suite=suite, residual=residual
    )
    evaluated = run_job(job)[1]
    assert (traced.episode.success, traced.episode.duration_s) == (evaluated.success, evaluated.duration_s)
    assert len(traced.observed_ns) > 3


def test_a_residual_of_another_policy_is_refused_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_constant(tmp_path / "other", [0.0, 0.0, 0.0, 0.0], "0" * 64)
    assert main(["policy", "calibrate-detector", "tabletop", "--dry-run", "--residual", str(other)]) == 2
    assert "train one for it" in capsys.readouterr().err

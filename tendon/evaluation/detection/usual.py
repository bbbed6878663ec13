"""The episodes that a detector is calibrated on: a robot as it is used, told one task after the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from tendon.evaluation.detection.tracing import TraceJob
from tendon.evaluation.episode import usual_switch
from tendon.evaluation.suites import DEFAULT_SUITE

DELAYS_MS = (0.0, 50.0, 100.0)
"""Inference delays that a promise is to hold for."""


def usual_jobs(
    bundle: Path,
    robot: str,
    seeds: Iterable[int],
    *,
    delays_ms: Sequence[float] = DELAYS_MS,
    suite: str = DEFAULT_SUITE,
    residual: Path | None = None,
) -> list[TraceJob]:
    """Returns an episode of each scene; what is drawn for it depends on nothing but its seed.

    In a third of them the robot has one task. In a third it is told another one when that is done, and in a third on
    the way there: a policy sees then what it never sees after a start from rest.

    Args:
        bundle: of the policy.
        robot: profile.
        seeds: of the scenes.
        delays_ms: of inference; one is drawn for each.
        suite: whose scenes they are.
        residual: corrects the policy.
    """
    jobs = []
    for seed in seeds:
        rng = np.random.default_rng([seed, 41])
        delay_ns = int(1e6 * rng.choice(delays_ms))
        switch = usual_switch(rng)
        jobs.append(
            TraceJob(
                bundle=bundle, robot=robot, seed=seed, delay_ns=delay_ns, suite=suite, residual=residual, switch=switch
            )
        )
    return jobs

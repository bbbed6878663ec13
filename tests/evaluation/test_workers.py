"""Episodes in one process, in several, or on Ray: the same ones, and nobody waits for a process that is gone."""

from __future__ import annotations

import importlib.util
import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tendon.core.errors import ConfigError, WorkerError
from tendon.evaluation.episode import Episode, Setting, Timing
from tendon.evaluation.pool import Job, run_jobs
from tendon.evaluation.ray_workers import run_in_ray
from tendon.evaluation.workers import run_in_processes
from tendon.policies.bundle.bundle import load_bundle, write_bundle
from tendon.policies.bundle.places import find_bundle
from tendon.policies.spec.sampling import Flow
from tests.policies.tiny_denoiser import TOKENS, build_denoised, denoised_manifest

SEEDS = (100_001, 100_002, 100_003)


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy whose answers are half noise."""
    folder = tmp_path_factory.mktemp("noisy")
    built = build_denoised(folder / "quiet")
    words = load_bundle(find_bundle("tabletop")).manifest.instruction
    assert words is not None
    words = replace(words, tokens=TOKENS)
    denoiser = denoised_manifest().denoiser
    assert denoiser is not None
    left = replace(denoiser, schedule=Flow(steps=2, start=1.0, end=0.5))
    manifest = replace(built.manifest, denoiser=left, instruction=words)
    write_bundle(folder / "noisy", manifest, built.content)
    return folder / "noisy"


def jobs(bundle: Path | str, seeds: Sequence[int] = SEEDS) -> list[Job]:
    setting = Setting(timing=Timing.OVERWRITE, limit_s=1.0, perturbations=(("pixel_noise", 1.0), ("joint_zero", 1.0)))
    return [Job(bundle=bundle, robot="panda", seed=seed, setting=setting) for seed in seeds]


def found(runs: Iterator[tuple[Job, Episode]]) -> dict[int, Episode]:
    return {job.seed: episode for job, episode in runs}


def test_by_default_a_policy_continues_its_plan_in_the_best_way_that_it_has(noisy: Path) -> None:
    """One with a denoiser has no rows that it was trained to continue: it was refused."""
    named, usual = (Setting(timing=timing, limit_s=1.0) for timing in (Timing.INPAINTING, Timing.AUTO))
    first, second = (next(run_jobs([replace(jobs(noisy)[0], setting=each)], 1))[1] for each in (named, usual))
    assert first == second and not second.stop


def test_a_seed_has_one_outcome_however_many_workers_there_are_and_whatever_ran_before(noisy: Path) -> None:
    alone = found(run_jobs(jobs(noisy), 1))
    assert len({episode.rms_jerk for episode in alone.values()}) == len(SEEDS)
    assert found(run_jobs(jobs(noisy, SEEDS[::-1]), 1)) == alone
    assert found(run_jobs(jobs(noisy), 3)) == alone


def square(number: int) -> int:
    """Also sleeps, fails or dies, as it is told."""
    if number == 13:
        raise ConfigError("thirteen is no number")
    if number == 99:
        os.kill(os.getpid(), signal.SIGKILL)
    if number > 1000:
        time.sleep(60.0)
    return number**2


@pytest.mark.parametrize("workers", [1, 9])
def test_each_job_is_done_once(workers: int) -> None:
    assert sorted(run_in_processes(square, range(3), workers)) == [0, 1, 4]
    assert list(run_in_processes(square, [], workers)) == []


def test_a_killed_worker_is_told_with_its_job_and_what_was_done_before_is_kept() -> None:
    kept = []
    with pytest.raises(WorkerError, match=r"ended \(-9\) in 99"):
        for value in run_in_processes(square, [1, 2, 3, 99], 1):
            kept.append(value)
    assert kept == [1, 4, 9]


def test_an_error_there_is_the_same_error_here() -> None:
    with pytest.raises(ConfigError, match="thirteen is no number"):
        list(run_in_processes(square, [1, 13], 2))


def test_who_has_seen_enough_waits_for_nobody() -> None:
    begin = time.monotonic()
    runs = run_in_processes(square, [2, 2000, 3000], 2)
    assert next(runs) == 4
    assert len(psutil.Process().children()) >= 2
    runs.close()  # type: ignore[attr-defined]
    assert time.monotonic() - begin < 50, "it waited for a job of a minute"


def test_an_engine_that_there_is_not_is_named() -> None:
    with pytest.raises(ConfigError, match="did you mean ray"):
        run_jobs([], 1, "rya")


@pytest.mark.laws
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="extra ray is not installed")
def test_ray_runs_the_same_episodes_and_tells_who_died(noisy: Path) -> None:
    assert found(run_jobs(jobs(noisy), 2, "ray")) == found(run_jobs(jobs(noisy), 1))
    with pytest.raises(ConfigError, match="thirteen is no number"):
        list(run_in_ray(square, [1, 13], 2))
    with pytest.raises(WorkerError, match="Ray did not finish 99"):
        list(run_in_ray(square, [1, 99], 2))

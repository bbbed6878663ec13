"""Collect demonstrations of the scripted expert in simulation, or expert labels for a learner's states (DAgger).

Examples:
  tendon data demos --out outputs/demos/expert --seeds 0:6400
  tendon data demos --out outputs/demos/dagger1 --seeds 20000:22000 --learner outputs/bundles/stage1
  tendon data demos --out outputs/demos/stacking --seeds 30000:36000 --families stack --learner outputs/bundles/stage1
  tendon data demos --out outputs/demos/two_hands --robot panda_pair --suite bimanual --seeds 0:800
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tendon.cli.options import RobotOption, WorkersOption
from tendon.cli.outputs import require_folder
from tendon.cli.progress import CountingBar
from tendon.cli.seeds import parse_seeds
from tendon.core.checks import closest
from tendon.core.errors import ConfigError
from tendon.core.files import lock_folder, replace_file
from tendon.core.json_object import read_json_object
from tendon.evaluation.evaluate import FIRST_SEED
from tendon.evaluation.suites import AUTO_SUITE, load_suite, suite_for
from tendon.evaluation.workers import run_in_processes
from tendon.robots.digest import profile_digest
from tendon.robots.profile import RobotProfile, load_profile
from tendon.sim.demonstrations import SHARD_SEEDS, Collector, collect_shard, collected
from tendon.sim.suite import Suite

MADE_BY_FILE = "made_by.json"


@dataclass(frozen=True, kw_only=True)
class Job:
    """A shard to collect."""

    out: Path
    robot: str
    suite: str
    learner: Path | None
    seeds: list[int]


def command(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder of shards; finished shards are kept.")],
    seeds: Annotated[str, typer.Option(metavar="FIRST:END", help="Training scenes, within 0:100000.")] = "0:6400",
    learner: Annotated[
        str | None, typer.Option(metavar="BUNDLE", help="Bundle that acts while the expert labels.")
    ] = None,
    families: Annotated[
        str | None, typer.Option(metavar="NAME,...", help="Only scenes of these families of tasks; by default of all.")
    ] = None,
    robot: RobotOption = "panda",
    suite: Annotated[
        str, typer.Option(metavar="NAME", help="Suite whose expert acts; auto takes the one that fits the robot.")
    ] = AUTO_SUITE,
    workers: WorkersOption = 2,
) -> int:
    """Collects every shard that is missing."""
    from tendon.policies.bundle.bundle import load_bundle
    from tendon.policies.bundle.places import find_bundle
    from tendon.policies.inference.identity import policy_digest
    from tendon.sim import require_sim

    scenes = parse_seeds(seeds, 0, FIRST_SEED)
    require_folder(out)
    require_sim()
    profile = load_profile(robot)  # what is wrong is one line here, not one a process
    suite = suite_for(profile, suite)
    loaded = load_suite(suite)
    if loaded.collector is None:
        raise ConfigError(f"suite {suite} makes no demonstrations; tabletop and bimanual do")
    acting = find_bundle(learner) if learner else None
    chosen = list(scenes) if families is None else _of_families(loaded, profile, scenes, families)
    shards = [chosen[first : first + SHARD_SEEDS] for first in range(0, len(chosen), SHARD_SEEDS)]
    made_by = {
        "robot": profile_digest(profile, whole=True),
        "suite": suite,
        "learner": None if acting is None else policy_digest(load_bundle(acting).manifest),
        "families": families,
    }
    lock = lock_folder(out)
    try:
        _check_same(out, made_by)
        for shard in shards:  # all of them, before hours are spent on the first
            collected(out, shard)
        jobs = [Job(out=out, robot=robot, suite=suite, learner=acting, seeds=shard) for shard in shards]
        frames = 0
        with CountingBar("demos", len(chosen)) as bar:
            for played, more in run_in_processes(_collect, jobs, workers):
                frames += more
                bar.advance(played, f"{frames} frames")
    finally:
        os.close(lock)
    return 0


def _check_same(out: Path, made_by: Mapping[str, object]) -> None:
    """Raises ConfigError where a folder holds demonstrations that something else made; else notes what makes them."""
    file = out / MADE_BY_FILE
    if not file.is_file():
        if any(out.glob("seeds-*")):
            raise ConfigError(f"{out} holds demonstrations, and nothing says what made them: name another folder")
        replace_file(file, json.dumps(made_by, indent=1).encode())
        return
    before = read_json_object(file, "name another folder")
    for name, value in made_by.items():
        if before.get(name) != value:
            raise ConfigError(
                f"{out} holds demonstrations of {name} {before.get(name)}, now it is {value}: name another folder; "
                "training takes several (--data)"
            )


def _of_families(suite: Suite, profile: RobotProfile, scenes: range, families: str) -> list[int]:
    wanted = {family.strip() for family in families.split(",")}
    if unknown := sorted(wanted - set(suite.families)):
        raise ConfigError(f"families has {unknown[0]!r}{closest(unknown[0], suite.families)}")
    found = [seed for seed in scenes if suite.scene(profile, seed).task.family in wanted]
    if not found:
        raise ConfigError(f"seeds has no scene of {families}: take more")
    return found


@functools.lru_cache(maxsize=1)
def _collector(robot: str, suite: str, learner: Path | None) -> Collector:
    profile = load_profile(robot)
    policy = None
    if learner:
        from tendon.policies.bundle.bundle import load_bundle
        from tendon.policies.inference.policy import BundlePolicy

        policy = BundlePolicy(load_bundle(learner), profile, threads=1)
    make = load_suite(suite).collector
    assert make is not None
    return make(profile, policy)


def _collect(job: Job) -> tuple[int, int]:
    """Returns how many scenes and frames a shard has."""
    return len(job.seeds), collect_shard(_collector(job.robot, job.suite, job.learner), job.out, job.seeds)

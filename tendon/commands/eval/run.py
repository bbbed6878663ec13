"""Run a policy for numbers: success per family with 95 % Wilson intervals, on scenes it was not trained on.

Examples:
  tendon eval run bundles/tabletop --seeds 200000:200240
  tendon eval run bundles/tabletop --seeds 200000:200240 --blank
  tendon eval run bundles/tabletop --seeds 200000:200060 --timing overwrite --delay-ms 200
  tendon eval run expert --robot so101 --simulator mujoco
  tendon eval run bundles/mine --at-least 0.8 --junit outputs/eval.xml
"""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tendon.cli.options import BundleArgument, RobotOption, WorkersOption, check_delay
from tendon.cli.outputs import require_file, writing
from tendon.cli.progress import CountingBar
from tendon.cli.seeds import parse_seeds

if TYPE_CHECKING:
    from tendon.evaluation.episode import Episode


class TimingName(str, Enum):
    """How inference is timed; the values of `tendon.evaluation.episode.Timing`."""

    TRAINED_PREFIX = "trained_prefix"
    INPAINTING = "inpainting"
    OVERLAP = "overlap"
    OVERWRITE = "overwrite"
    SYNCHRONOUS = "synchronous"


def command(
    bundle: BundleArgument,
    seeds: Annotated[
        str, typer.Option(metavar="FIRST:END", help="Scenes; 100000-199999 tune, 200000-299999 report.")
    ] = "100000:100060",
    timing: Annotated[TimingName, typer.Option(help="Of inference.")] = TimingName.TRAINED_PREFIX,
    delay_ms: Annotated[float, typer.Option(help="Inference delay in simulated time.")] = 0.0,
    blank: Annotated[bool, typer.Option("--blank", help="Leave the instruction empty: a control run.")] = False,
    suite: Annotated[
        str, typer.Option(metavar="NAME", help="Of scenes, tasks and their world; auto fits the robot.")
    ] = "auto",
    robot: RobotOption = "panda",
    simulator: Annotated[str, typer.Option(metavar="NAME", help="pybullet, mujoco, or auto.")] = "auto",
    workers: WorkersOption = 2,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="JSON for the summary and every episode.")] = None,
    at_least: Annotated[
        float | None,
        typer.Option(metavar="RATE", help="Exit code 1 unless the episodes show so much success, with 95 %."),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="JUnit XML: a case a scene; with --at-least, one a family and one for all."),
    ] = None,
) -> int:
    """Evaluates and prints the summary.

    Returns:
        0, or 1 when less success was shown than `--at-least` asks for.
    """
    from tendon.evaluation.episode import Setting, Timing
    from tendon.evaluation.evaluate import END_SEED, FIRST_SEED
    from tendon.evaluation.junit import episode_cases, family_cases, junit_xml
    from tendon.evaluation.pool import Job, run_jobs
    from tendon.evaluation.report import lines, summarise
    from tendon.evaluation.statistics import check_bound, doubt_of, wilson
    from tendon.evaluation.suites import load_suite, suite_for
    from tendon.policies.bundle.bundle import load_bundle
    from tendon.policies.bundle.places import EXPERT, find_bundle
    from tendon.robots.profile import load_profile
    from tendon.sim.simulators import SIMULATORS, choose

    scenes = parse_seeds(seeds, FIRST_SEED, END_SEED)
    check_delay(delay_ms)
    if out is not None:
        require_file(out)
    if junit is not None:
        require_file(junit, "--junit")
    if at_least is not None:
        check_bound("--at-least", at_least)
    folder = EXPERT if bundle == EXPERT else find_bundle(bundle)
    profile = load_profile(robot)  # a wrong name is one line here, not one a process
    suite, chosen = suite_for(profile, suite), choose(simulator)
    families = load_suite(suite).families
    load_suite(suite).scene(profile, scenes[0])
    digest = EXPERT if isinstance(folder, str) else load_bundle(folder).digest
    setting = Setting(timing=Timing(timing.value), delay_ns=round(delay_ms * 1e6), blank=blank)
    jobs = [
        Job(bundle=folder, robot=robot, seed=seed, setting=setting, suite=suite, simulator=chosen) for seed in scenes
    ]
    episodes: list[Episode] = []
    with CountingBar("eval", len(jobs)) as bar:
        for _, episode in run_jobs(jobs, workers):
            episodes.append(episode)
            bar.advance(1, f"{sum(e.success for e in episodes)} succeeded")
    summary = summarise(episodes, families)
    print(
        f"{bundle} ({digest[:12]}), {robot}, {suite} {seeds} in {SIMULATORS[chosen]}, "
        f"{timing.value}, delay {delay_ms:g} ms" + (", instruction blanked" if blank else "")
    )
    print("\n".join(lines(summary)))
    success = wilson(sum(e.success for e in episodes), len(episodes))
    doubt = "" if at_least is None else doubt_of(success, at_least)
    if doubt:
        print(doubt)
    where = {"bundle": digest, "robot": robot, "suite": suite, "simulator": chosen}
    how = {"timing": timing.value, "delay_ms": delay_ms, "blank": blank}
    if junit is not None:
        cases = episode_cases(suite, episodes) if at_least is None else family_cases(suite, episodes, at_least)
        with writing(junit):
            junit.write_text(junit_xml(f"tendon eval run {bundle}", cases, {**where, **how, "success": success}))
    if out:
        rows = [asdict(e) for e in sorted(episodes, key=lambda e: e.seed)]
        with writing(out):
            out.write_text(json.dumps({**where, **how, "summary": summary, "episodes": rows}, indent=1))
    return int(bool(doubt))

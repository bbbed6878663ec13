"""Run a policy for numbers: success per family with 95 % Wilson intervals, on scenes it was not trained on.

Examples:
  tendon eval run bundles/tabletop --seeds 200000:200240
  tendon eval run bundles/tabletop --seeds 200000:200240 --blank
  tendon eval run bundles/tabletop --perturb light_and_colour=0.5,dynamics
  tendon eval run bundles/tabletop --seeds 200000:200060 --timing overwrite --delay-ms 200
  tendon eval run bundles/tabletop+outputs/residual/seed0 --suite tabletop_hard
  tendon eval run expert --robot so101 --simulator mujoco
  tendon eval run bundles/mine --at-least 0.8 --junit outputs/eval.xml
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tendon.cli.eval_options import (
    ContenderArgument,
    DelayOption,
    PerturbOption,
    SeedsOption,
    SimulatorOption,
    SuiteOption,
    TimingName,
    TimingOption,
    find_contender,
    shortened,
    trials,
)
from tendon.cli.options import RobotOption, WorkersOption
from tendon.cli.outputs import require_file, writing
from tendon.cli.progress import CountingBar

if TYPE_CHECKING:
    from tendon.evaluation.episode import Episode


def command(
    bundle: ContenderArgument,
    seeds: SeedsOption = "100000:100060",
    timing: TimingOption = TimingName.TRAINED_PREFIX,
    delay_ms: DelayOption = None,
    blank: Annotated[bool, typer.Option("--blank", help="Leave the instruction empty: a control run.")] = False,
    perturb: PerturbOption = "",
    suite: SuiteOption = "auto",
    robot: RobotOption = "panda",
    simulator: SimulatorOption = "auto",
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
    from tendon.evaluation.junit import episode_cases, family_cases, junit_xml
    from tendon.evaluation.pool import run_jobs
    from tendon.evaluation.report import lines, summarise
    from tendon.evaluation.statistics import check_bound, doubt_of, wilson

    if out is not None:
        require_file(out)
    if junit is not None:
        require_file(junit, "--junit")
    if at_least is not None:
        check_bound("--at-least", at_least)
    asked = trials(
        seeds=seeds,
        timing=timing,
        delay_ms=delay_ms,
        suite=suite,
        robot=robot,
        simulator=simulator,
        perturb=perturb,
        blank=blank,
    )
    contender = find_contender(bundle, robot)
    jobs = asked.jobs(contender)
    episodes: list[Episode] = []
    with CountingBar("eval", len(jobs)) as bar:
        for _, episode in run_jobs(jobs, workers):
            episodes.append(episode)
            bar.advance(1, f"{sum(e.success for e in episodes)} succeeded")
    summary = summarise(episodes, asked.families)
    print(f"{bundle} ({shortened(contender.digest)}), {asked}")
    print("\n".join(lines(summary)))
    success = wilson(sum(e.success for e in episodes), len(episodes))
    doubt = "" if at_least is None else doubt_of(success, at_least)
    if doubt:
        print(doubt)
    where = {"bundle": contender.digest, "robot": robot, "suite": asked.suite, "simulator": asked.simulator}
    how = {"timing": timing.value, "delay_ms": asked.delay_ms, "blank": blank, "perturb": perturb}
    if junit is not None:
        cases = (
            episode_cases(asked.suite, episodes) if at_least is None else family_cases(asked.suite, episodes, at_least)
        )
        with writing(junit):
            junit.write_text(junit_xml(f"tendon eval run {bundle}", cases, {**where, **how, "success": success}))
    if out:
        rows = [asdict(e) for e in sorted(episodes, key=lambda e: e.seed)]
        with writing(out):
            out.write_text(json.dumps({**where, **how, "summary": summary, "episodes": rows}, indent=1))
    return int(bool(doubt))

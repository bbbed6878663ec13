"""Run a policy for numbers: success per family with 95 % Wilson intervals, on scenes it was not trained on.

Examples:
  tendon eval run bundles/tabletop --seeds 200000:200240
  tendon eval run bundles/tabletop --seeds 200000:200240 --blank
  tendon eval run bundles/tabletop --perturb light_and_colour=0.5,dynamics
  tendon eval run bundles/tabletop --seeds 200000:200060 --timing overwrite --delay-ms 200
  tendon eval run bundles/tabletop --suite outputs/redteam/suite.yaml --report outputs/report.html
  tendon eval run bundles/tabletop+outputs/residual/seed0 --suite tabletop_hard
  tendon eval run expert --robot so101 --simulator mujoco
  tendon eval run bundles/mine --at-least 0.8 --junit outputs/eval.xml
"""

from __future__ import annotations

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
    TimingOption,
    shortened,
    trials,
)
from tendon.cli.eval_results import (
    EngineOption,
    ReportOption,
    VideosOption,
    draw_films,
    gather,
    keep_before,
    require_results,
    write_results,
)
from tendon.cli.options import RobotOption, WorkersOption
from tendon.cli.outputs import require_file, require_ours, write_whole

if TYPE_CHECKING:
    from tendon.evaluation.episode import Episode
    from tendon.evaluation.pool import Job


def command(
    bundle: ContenderArgument,
    seeds: SeedsOption = None,
    timing: TimingOption = None,
    delay_ms: DelayOption = None,
    blank: Annotated[bool, typer.Option("--blank", help="Leave the instruction empty: a control run.")] = False,
    perturb: PerturbOption = "",
    suite: SuiteOption = "auto",
    robot: RobotOption = "panda",
    simulator: SimulatorOption = "auto",
    workers: WorkersOption = 2,
    engine: EngineOption = "processes",
    report: ReportOption = None,
    videos: VideosOption = 4,
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
    from tendon.evaluation.contender import find_contender
    from tendon.evaluation.junit import Case, episode_cases, family_cases, junit_xml
    from tendon.evaluation.page.origin import origin
    from tendon.evaluation.report import lines, summarise
    from tendon.evaluation.statistics import check_bound, doubt_of, wilson

    require_results(report, out, junit=junit, suite=Path(suite))
    if junit is not None:
        require_file(junit, "--junit")
        require_ours(junit, "--junit", b"<testsuites")
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
    done: list[bool] = []

    def take(job: Job, episode: Episode) -> bool:
        done.append(episode.success)
        return False

    gathered = gather("eval", asked.jobs(contender), workers, engine, take, lambda: f"{sum(done)} succeeded")
    episodes = gathered.episodes
    if not episodes:
        gathered.raise_empty()
    if gathered.ended_early:
        print(f"of these the first {len(episodes)} count, none of them is missing")
    summary = summarise(episodes, asked.families)
    print(f"{bundle} ({shortened(contender.digest)}), {asked}")
    print("\n".join(lines(summary)))
    success = wilson(sum(e.success for e in episodes), len(episodes))
    doubt = "" if at_least is None else doubt_of(success, at_least)
    if doubt:
        print(doubt)
    where: dict[str, object] = {"bundle": contender.digest, "robot": robot, "suite": asked.suite}
    where |= {"simulator": asked.simulator}
    how = {"timing": asked.timing.value, "delay_ms": asked.delay_ms, "blank": blank, "perturb": perturb}
    if junit is not None:
        cases = (
            episode_cases(asked.suite, episodes) if at_least is None else family_cases(asked.suite, episodes, at_least)
        )
        if gathered.ended_early:
            cases.append(Case(group=asked.suite, name="all episodes", time_s=0.0, problem=gathered.ended_early))
            keep_before(junit)
        properties = {**where, **how, "success": success, "ended_early": gathered.ended_early}
        write_whole(junit, junit_xml(f"tendon eval run {bundle}", cases, properties))
    if out or report:
        found = {
            **where,
            **how,
            "policy": bundle,
            "described": str(asked),
            "ended_early": gathered.ended_early,
            "origin": origin(policies={bundle: contender.digest}, robot=robot, suite=asked.suite),
            "summary": summary,
            "episodes": [asdict(episode) for episode in episodes],
        }
        from tendon.evaluation.page.pages import run_page

        write_results(found, out, report, lambda found: run_page(found, draw_films(gathered, videos)))
    gathered.raise_error()
    return int(bool(doubt))

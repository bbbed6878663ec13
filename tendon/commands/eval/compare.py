"""Compare two policies on the same scenes: which is better, with an answer that may be looked at after every scene.

Examples:
  tendon eval compare bundles/tabletop bundles/mine --seeds 200000:200240
  tendon eval compare bundles/tabletop bundles/mine --until-shown
  tendon eval compare bundles/tabletop expert --robot panda --simulator mujoco
  tendon eval compare --plan 0.1
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from tendon.cli.eval_options import (
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
    require_results,
    write_results,
)
from tendon.cli.options import RobotOption, WorkersOption
from tendon.cli.pairs import Pairs
from tendon.core.checks import check_number
from tendon.core.errors import ConfigError

if TYPE_CHECKING:
    from tendon.evaluation.episode import Episode
    from tendon.evaluation.pool import Job

DISCORDANT = (0.1, 0.2, 0.3, 0.4)
"""Shares of scenes in which policies differ, for a plan."""
LEAST_DIFFERENCE = 0.02
"""Of a plan: smaller ones take more scenes than anybody runs."""


def command(
    first: Annotated[str | None, typer.Argument(metavar="A", help="A bundle, or expert.")] = None,
    second: Annotated[str | None, typer.Argument(metavar="B", help="Another one.")] = None,
    seeds: SeedsOption = None,
    timing: TimingOption = None,
    delay_ms: DelayOption = None,
    perturb: PerturbOption = "",
    suite: SuiteOption = "auto",
    robot: RobotOption = "panda",
    simulator: SimulatorOption = "auto",
    workers: WorkersOption = 2,
    engine: EngineOption = "processes",
    report: ReportOption = None,
    videos: VideosOption = 4,
    until_shown: Annotated[bool, typer.Option("--until-shown", help="End when one is shown to be better.")] = False,
    plan: Annotated[
        float | None,
        typer.Option(
            metavar="DIFFERENCE", help="Run nothing: say how many scenes show a difference of success, as 0.1."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="JSON for the tests and every episode.")] = None,
) -> int:
    """Compares and prints what is shown."""
    from tendon.evaluation.contender import find_contender
    from tendon.evaluation.episode import Episode
    from tendon.evaluation.page.origin import origin

    if plan is not None:
        return _plan(plan)
    if first is None or second is None:
        raise ConfigError("name two policies to compare, A and B; or --plan 0.1")
    require_results(report, out, suite=Path(suite))
    asked = trials(
        seeds=seeds,
        usual_seeds="100000:100240",
        timing=timing,
        delay_ms=delay_ms,
        suite=suite,
        robot=robot,
        simulator=simulator,
        perturb=perturb,
    )
    one, other = find_contender(first, robot), find_contender(second, robot)
    if one.digest == other.digest:
        raise ConfigError(
            f"{first} and {second} are the same policy, {shortened(one.digest)}: there is nothing to compare"
        )
    jobs = [job for pair in zip(asked.jobs(one), asked.jobs(other), strict=True) for job in pair]
    found = Pairs[Episode]()
    waiting: dict[int, dict[bool, Episode]] = defaultdict(dict)

    def take(job: Job, episode: Episode) -> bool:
        waiting[job.seed][(job.bundle, job.residual) == (other.bundle, other.residual)] = episode
        # In the order of seeds: a good episode ends sooner, so the order in which they end is not fair.
        while (done := len(found.pairs)) < len(asked.scenes) and len(waiting[seed := asked.scenes[done]]) == 2:
            found.take(waiting[seed][False], waiting[seed][True])
        return until_shown and bool(found.test.better)

    def note() -> str:
        test = found.test
        return f"only A {test.first}, only B {test.second}, p {test.p_value:.3g} at any time"

    gathered = gather("compare", jobs, workers, engine, take, note)
    if not found.pairs:
        gathered.raise_empty()
    print(f"A {first} ({shortened(one.digest)})\nB {second} ({shortened(other.digest)})\n{asked}")
    Console().print(found.table(asked.families))
    print("\n".join(found.verdict()))
    if out or report:
        said = {"a": one.digest, "b": other.digest, "robot": robot, "suite": asked.suite, "simulator": asked.simulator}
        how = {"timing": asked.timing.value, "delay_ms": asked.delay_ms, "perturb": perturb, "until_shown": until_shown}
        whole = {
            **said,
            **how,
            **found.found(),
            "policies": {"A": first, "B": second},
            "described": str(asked),
            "ended_early": gathered.ended_early,
            "origin": origin(policies={"A": one.digest, "B": other.digest}, robot=robot, suite=asked.suite),
        }
        from tendon.evaluation.page.pages import compare_page

        write_results(whole, out, report, lambda found: compare_page(found, draw_films(gathered, videos)))
    gathered.raise_error()
    return 0


def _plan(difference: float) -> int:
    from tendon.evaluation.paired import ALPHA, POWER, looked_at_scenes, planned_scenes

    check_number("--plan", difference, least=LEAST_DIFFERENCE, most=0.9)
    table = Table(
        title=f"scenes that show a difference of {100 * difference:g} points, {100 * POWER:g} % of the time, "
        f"at {100 * (1 - ALPHA):g} % confidence",
        title_justify="left",
    )
    for column in ("scenes in which one does it and the other does not", "fixed number", "looked at: half of the time"):
        table.add_column(column, justify="right")
    table.add_column(f"{100 * POWER:g} % of the time", justify="right")
    for discordant in sorted({*(share for share in DISCORDANT if share > difference), difference}):
        half, enough = looked_at_scenes(difference, discordant)
        fixed = planned_scenes(difference, discordant)
        table.add_row(f"{100 * discordant:g} %", str(fixed), str(half), str(enough))
    Console().print(table)
    return 0

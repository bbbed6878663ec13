"""Compare two policies on the same scenes: which is better, with an answer that may be looked at after every scene.

Examples:
  tendon eval compare bundles/tabletop bundles/mine --seeds 200000:200240
  tendon eval compare bundles/tabletop bundles/mine --until-shown
  tendon eval compare bundles/tabletop expert --robot panda --simulator mujoco
  tendon eval compare --plan 0.1
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import asdict
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
    TimingName,
    TimingOption,
    find_contender,
    shortened,
    trials,
)
from tendon.cli.options import RobotOption, WorkersOption
from tendon.cli.outputs import require_file, writing
from tendon.cli.progress import CountingBar
from tendon.core.checks import check_number
from tendon.core.errors import ConfigError

if TYPE_CHECKING:
    from tendon.evaluation.episode import Episode
    from tendon.evaluation.paired import PairedTest

Pair = tuple["Episode", "Episode"]
DISCORDANT = (0.1, 0.2, 0.3, 0.4)
"""Shares of scenes in which policies differ, for a plan."""


def command(
    first: Annotated[str | None, typer.Argument(metavar="A", help="A bundle, or expert.")] = None,
    second: Annotated[str | None, typer.Argument(metavar="B", help="Another one.")] = None,
    seeds: SeedsOption = "100000:100240",
    timing: TimingOption = TimingName.TRAINED_PREFIX,
    delay_ms: DelayOption = None,
    perturb: PerturbOption = "",
    suite: SuiteOption = "auto",
    robot: RobotOption = "panda",
    simulator: SimulatorOption = "auto",
    workers: WorkersOption = 2,
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
    from tendon.evaluation.paired import PairedTest
    from tendon.evaluation.pool import run_jobs

    if plan is not None:
        return _plan(plan)
    if first is None or second is None:
        raise ConfigError("name two policies to compare, A and B; or --plan 0.1")
    if out is not None:
        require_file(out)
    asked = trials(
        seeds=seeds,
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
    test, pairs = PairedTest(), list[Pair]()
    waiting: dict[int, dict[bool, Episode]] = defaultdict(dict)
    with CountingBar("compare", len(asked.scenes)) as bar:
        for job, episode in run_jobs(jobs, workers):
            waiting[job.seed][(job.bundle, job.residual) == (other.bundle, other.residual)] = episode
            # In the order of seeds: a good episode ends sooner, so the order in which they end is not fair.
            while len(pairs) < len(asked.scenes) and len(waiting[seed := asked.scenes[len(pairs)]]) == 2:
                pair = waiting[seed][False], waiting[seed][True]
                pairs.append(pair)
                test.take(pair[0].success, pair[1].success, pair[1].progress - pair[0].progress)
                bar.advance(1, f"only A {test.first}, only B {test.second}, p {test.p_value:.3g} at any time")
            if until_shown and test.better:
                break
    print(f"A {first} ({shortened(one.digest)})\nB {second} ({shortened(other.digest)})\n{asked}")
    Console().print(_table(pairs, asked.families))
    print("\n".join(_verdict(test)))
    if out is not None:
        rows = [{"a": asdict(a), "b": asdict(b)} for a, b in pairs]
        said = {"a": one.digest, "b": other.digest, "robot": robot, "suite": asked.suite, "simulator": asked.simulator}
        found = {
            "scenes": test.count,
            "only_a": test.first,
            "only_b": test.second,
            "p_any_time": test.p_value,
            "progress_p_any_time": test.progress_p_value,
        }
        how = {"timing": timing.value, "delay_ms": asked.delay_ms, "perturb": perturb}
        with writing(out):
            out.write_text(json.dumps({**said, **how, **found, "episodes": rows}, indent=1))
    return 0


def _table(pairs: list[Pair], families: tuple[str, ...]) -> Table:
    from tendon.evaluation.paired import mcnemar
    from tendon.evaluation.statistics import paired_difference, wilson

    table = Table()
    for column in ("family", "A", "B", "B - A", "p (McNemar)"):
        table.add_column(column)
    for family in (*families, "all"):
        own = [(a, b) for a, b in pairs if family in (a.family, "all")]
        if not own:
            continue
        outcomes = [[episode.success for episode in side] for side in zip(*own, strict=True)]
        change = paired_difference(*outcomes)
        rates = (str(wilson(sum(side), len(side))) for side in outcomes)
        table.add_row(family, *rates, str(change), f"{mcnemar(change.first, change.second):.3g}")
    return table


def _verdict(test: PairedTest) -> list[str]:
    names = {"first": "A", "second": "B"}

    def said(which: str, what: str, p_value: float) -> str:
        shown = f"{names[which]} {what}" if which else f"not shown which {what}"
        return f"{shown}, p {p_value:.3g} at any time"

    return [
        f"after {test.count} scenes: {said(test.better, 'succeeds more often', test.p_value)}; "
        f"{said(test.further, 'gets further', test.progress_p_value)}",
        "McNemar's p is for a number of scenes that was fixed beforehand; the other holds whenever one looks.",
    ]


def _plan(difference: float) -> int:
    from tendon.evaluation.paired import ALPHA, POWER, looked_at_scenes, planned_scenes

    check_number("--plan", difference, above=0, most=0.9)
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

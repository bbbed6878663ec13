"""Success along each axis of difficulty alone: pose, light, words, dynamics, delay and so on, on the same scenes.

Examples:
  tendon eval axes bundles/tabletop --seeds 100000:100060 --report outputs/axes.html
  tendon eval axes bundles/tabletop --axes pose,dynamics,delay --strengths 0.5,1,2
  tendon eval axes expert --robot so101 --axes dynamics --workers 4
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tendon.cli.eval_options import (
    ContenderArgument,
    DelayOption,
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
    gather,
    require_results,
    write_results,
)
from tendon.cli.options import RobotOption, WorkersOption
from tendon.core.errors import ConfigError

if TYPE_CHECKING:
    from tendon.evaluation.episode import Episode
    from tendon.evaluation.pool import Job

Cell = tuple[str, float]
NOMINAL: Cell = ("", 0.0)


def command(
    bundle: ContenderArgument,
    axes: Annotated[
        str, typer.Option(metavar="NAME,...", help="Of the suite's perturbations; by default all of them.")
    ] = "",
    strengths: Annotated[str, typer.Option(metavar="NUMBER,...", help="Of each, 0 to 3; 1 is as named.")] = "1",
    seeds: SeedsOption = None,
    timing: TimingOption = None,
    delay_ms: DelayOption = None,
    suite: SuiteOption = "auto",
    robot: RobotOption = "panda",
    simulator: SimulatorOption = "auto",
    workers: WorkersOption = 2,
    engine: EngineOption = "processes",
    report: ReportOption = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="JSON for the table and every episode.")] = None,
) -> int:
    """Runs each axis at each strength, and the same scenes without any, and prints the table."""
    from tendon.evaluation.contender import find_contender
    from tendon.evaluation.page.origin import origin
    from tendon.evaluation.suites import load_suite
    from tendon.policies.bundle.places import EXPERT

    require_results(report, out, suite=Path(suite))
    asked = trials(
        seeds=seeds,
        usual_seeds="100000:100030",
        timing=timing,
        delay_ms=delay_ms,
        suite=suite,
        robot=robot,
        simulator=simulator,
        perturb="",
    )
    known = load_suite(asked.suite)
    names = [each.strip() for each in axes.split(",") if each.strip()] or [each.key for each in known.perturbations]
    cells = [NOMINAL, *((name, strength) for name in dict.fromkeys(names) for strength in _strengths(strengths))]
    for name, strength in cells[1:]:
        known.harder({name: strength})
    contender = find_contender(bundle, robot)
    # A scene whose own perturbations are those of a cell is the same episode there and without any: it is run once.
    jobs: dict[Job, list[Cell]] = {}
    for name, strength in cells:
        for job in replace(asked, perturbations=((name, strength),) if name else ()).jobs(contender):
            jobs.setdefault(job, []).append((name, strength))
    found: dict[Cell, dict[int, Episode]] = {cell: {} for cell in cells}
    gathered = gather("axes", list(jobs), workers, engine)
    for job, episode in gathered.counted:
        for cell in jobs[job]:
            found[cell][job.seed] = episode
    if not found[NOMINAL]:
        gathered.raise_empty()
    nominal, table = _measured(found)
    print(f"{bundle} ({shortened(contender.digest)}), {asked}")
    Console().print(_table(nominal, table))
    if contender.bundle == EXPERT:
        print("the expert looks at no pictures: an axis that changes only these changes nothing for it")
    if out or report:
        whole = {
            "bundle": contender.digest,
            "policy": bundle,
            "described": str(asked),
            "ended_early": gathered.ended_early,
            "origin": origin(policies={bundle: contender.digest}, robot=robot, suite=asked.suite),
            "nominal": nominal,
            "axes": table,
            "episodes": list(_rows(found)),
        }
        from tendon.evaluation.page.pages import axes_page

        write_results(whole, out, report, axes_page)
    gathered.raise_error()
    return 0


def _strengths(text: str) -> list[float]:
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError as error:
        raise ConfigError(f"--strengths is {text!r}: give numbers, such as 0.5,1,2") from error
    if wrong := [each for each in found if not 0 < each <= 3]:
        raise ConfigError(f"--strengths has {wrong[0]:g}: each must be above 0 and at most 3; 0 is run in any case")
    return sorted(set(found))


def _measured(found: Mapping[Cell, Mapping[int, Episode]]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Returns success without any axis, and of each axis at each strength, beside that on the same scenes."""
    from dataclasses import asdict

    from tendon.evaluation.paired import compare
    from tendon.evaluation.statistics import wilson

    plain = found[NOMINAL]
    table: dict[str, dict[str, Any]] = {}
    for (name, strength), episodes in found.items():
        seeds = sorted(set(episodes) & set(plain))
        if not name or not seeds:
            continue
        beside = compare([plain[k].success for k in seeds], [episodes[k].success for k in seeds])
        table.setdefault(name, {})[f"{strength:g}"] = {
            "success": asdict(wilson(sum(each.success for each in episodes.values()), len(episodes))),
            "difference": str(beside.change),
            "p": beside.p_value,
        }
    return asdict(wilson(sum(each.success for each in plain.values()), len(plain))), table


def _table(nominal: Mapping[str, Any], axes: Mapping[str, Mapping[str, Any]]) -> Table:
    from tendon.evaluation.statistics import Proportion

    table = Table()
    for column in ("axis", "strength", "success, 95 % Wilson", "difference, paired", "p (McNemar)"):
        table.add_column(column)
    table.add_row("none", "", str(Proportion(**nominal)), "", "")
    for name, cells in axes.items():
        for strength, cell in cells.items():
            success = str(Proportion(**cell["success"]))
            table.add_row(name, strength, success, cell["difference"], f"{cell['p']:.3g}")
    return table


def _rows(found: Mapping[Cell, Mapping[int, Episode]]) -> Iterator[dict[str, Any]]:
    from dataclasses import asdict

    for (name, strength), episodes in found.items():
        for seed in sorted(episodes):
            yield {"axis": name, "strength": strength, **asdict(episodes[seed])}

"""Search for what a policy fails at: scenes and perturbations, with as little of them as it takes.

CMA-ES tries them. Limits that the commanded motion breaks are counted by a check that shares nothing with the filter.
The worst that is found becomes a suite. A run that was cut goes on; Ctrl-C keeps what was found.

Examples:
  tendon eval redteam bundles/tabletop --out outputs/redteam
  tendon eval redteam bundles/tabletop --out outputs/redteam --axes pose,dynamics,delay --episodes 600
  tendon eval run bundles/tabletop --suite outputs/redteam/suite.yaml --report outputs/redteam.html
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tendon.cli.eval_options import (
    ContenderArgument,
    DelayOption,
    SeedsOption,
    SimulatorOption,
    SuiteOption,
    TimingOption,
    trials,
)
from tendon.cli.options import RobotOption, WorkersOption
from tendon.cli.outputs import require_folder, writing
from tendon.cli.progress import CountingBar
from tendon.core.checks import check_count, check_number
from tendon.core.errors import ConfigError
from tendon.core.files import replace_file

if TYPE_CHECKING:
    from tendon.evaluation.redteam.attack import Attack
    from tendon.evaluation.redteam.search import Search

STRONGEST = 3.0


def command(
    bundle: ContenderArgument,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="For log.jsonl and suite.yaml; a cut run goes on there.")],
    episodes: Annotated[
        int,
        typer.Option(min=1, help="To try at least, those of a run that goes on included: generations are finished."),
    ] = 240,
    axes: Annotated[
        str, typer.Option(metavar="NAME,...", help="Of the suite's perturbations; by default all that are graded.")
    ] = "",
    most: Annotated[float, typer.Option(help="Strength of each, at most.")] = 1.0,
    cases: Annotated[int, typer.Option(min=1, help="In the suite, at most.")] = 12,
    seeds: SeedsOption = None,
    timing: TimingOption = None,
    delay_ms: DelayOption = None,
    suite: SuiteOption = "auto",
    robot: RobotOption = "panda",
    simulator: SimulatorOption = "auto",
    workers: WorkersOption = 2,
    generation: Annotated[int, typer.Option(help="Attacks that the search tries at once.")] = 12,
    seed: Annotated[int, typer.Option(min=0, help="Of the search.")] = 0,
) -> int:
    """Searches and writes the suite.

    Returns:
        0, or 1 when a limit was broken.
    """
    from tendon.evaluation.contender import find_contender
    from tendon.evaluation.page.origin import origin
    from tendon.evaluation.redteam.attack import Space
    from tendon.evaluation.redteam.search import Search
    from tendon.evaluation.suite_file import is_suite_file
    from tendon.evaluation.suites import load_suite

    check_number("--most", most, above=0, most=STRONGEST)
    check_count("--generation", generation, least=4, most=1000)
    if is_suite_file(suite):
        raise ConfigError(f"--suite is {suite}: name a suite, what is found is written as a file of it")
    asked = trials(
        seeds=seeds,
        usual_seeds="100000:100012",
        timing=timing,
        delay_ms=delay_ms,
        suite=suite,
        robot=robot,
        simulator=simulator,
        perturb="",
    )
    if len(asked.scenes) < 2:
        raise ConfigError("--seeds has one scene: give the search at least two, such as 100000:100012")
    known = load_suite(asked.suite)
    graded = [each.key for each in known.perturbations if each.graded]
    names = list(dict.fromkeys(each.strip() for each in axes.split(",") if each.strip())) or graded
    known.harder(dict.fromkeys(names, most))
    contender = find_contender(bundle, robot)
    require_folder(out)
    made = origin(policies={}, robot=robot, suite=asked.suite)
    said = {"policy": contender.digest, "robot": robot, "suite": asked.suite, "simulator": asked.simulator}
    said |= {"versions": made["versions"], "hashes": made["sha256"]}
    said |= {"timing": asked.timing.value, "delay_ms": str(asked.delay_ms)}
    like = asked.jobs(contender)[0]
    search = Search(
        Space(scenes=list(asked.scenes), axes=names, most=most),
        like,
        out / "log.jsonl",
        size=generation,
        seed=seed,
        said=said,
    )
    found: list[Attack] = []
    try:
        _search(search, found, episodes, workers)
    finally:
        broken = _finish(
            found, out / "suite.yaml", cases, suite=asked.suite, timing=asked.timing.value, delay_s=asked.delay_ms / 1e3
        )
    return int(broken > 0)


def _search(search: Search, found: list[Attack], episodes: int, workers: int) -> None:
    with CountingBar("redteam", episodes) as bar:
        for attack in search.run(episodes, workers):
            found.append(attack)
            failed = [each for each in found if each.failed]
            least = min((each.effort for each in failed), default=None)
            at = "" if least is None else f", least effort {least:.2f}"
            bar.advance(1, f"{len(failed)} failures{at}, {sum(each.broken > 0 for each in found)} break a limit")


def _finish(found: list[Attack], file: Path, cases: int, *, suite: str, timing: str, delay_s: float) -> int:
    """Writes the suite and prints what was found; returns how many attacks broke a limit."""
    from tendon.evaluation.redteam.worst import suite_text, worst_of

    worst, broken = worst_of(found, cases), sum(each.broken > 0 for each in found)
    table = Table()
    for column in ("scene", "effort", "perturbations", "found"):
        table.add_column(column)
    for each in worst:
        strengths = ", ".join(f"{name} {strength:g}" for name, strength in each.perturbations.items())
        table.add_row(str(each.seed), f"{each.effort:.2f}", strengths, escape(each.found))
    if worst:
        text = suite_text(
            worst, suite=suite, timing=timing, delay_s=delay_s, command=shlex.join(["tendon", *sys.argv[1:]])
        )
        with writing(file):
            replace_file(file, text.encode())
        Console().print(table)
        print(f"suite: {file}")
    else:
        print("no suite was written: no attack was a failure, try more of them or a larger --most")
    failures = sum(each.failed for each in found)
    print(f"{len(found)} attacks: {failures} failures, {broken} broke a limit of the commanded motion")
    return broken

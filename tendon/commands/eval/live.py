"""Two policies on the running graph, blind: in random order, without their names; you judge by keys.

The graph holds both policies. Both try each task once, one after the other; nobody is told which one it is, and of
every two pairs one begins with A and one with B. Between two turns the robot goes home, and you set the scene up as it
was. A session that was ended goes on from its file. The report is that of `tendon eval compare`, and tells which policy
is which.

Examples:
  tendon run policy:=bundles/tabletop standby:=outputs/bundles/mine
  tendon eval live tabletop mine --task "lift the red cube" --task "open the drawer" --pairs 10
  tendon eval live tabletop mine --task "lift the red cube" --session outputs/lift.jsonl --report outputs/lift.html
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from tendon.cli.eval_results import ReportOption, require_results, write_results
from tendon.cli.keys import Keys
from tendon.cli.operator import ask, robot_of, wait_for_policy
from tendon.cli.outputs import require_folder
from tendon.cli.pairs import Pairs
from tendon.core.checks import check_number
from tendon.core.errors import ConfigError, MissingDependencyError, StoppedError

if TYPE_CHECKING:
    from tendon.evaluation.live.session import Session
    from tendon.ros2_nodes.clients.operator import Operator


def command(
    first: Annotated[str, typer.Argument(metavar="A", help="A policy of the graph: its bundle, or its name.")],
    second: Annotated[str, typer.Argument(metavar="B", help="The other one.")],
    task: Annotated[list[str], typer.Option(metavar="TEXT", help="An instruction; may be repeated, they take turns.")],
    pairs: Annotated[int, typer.Option(min=1, max=10_000, help="How often both try.")] = 10,
    limit_s: Annotated[float, typer.Option(help="A turn that takes longer is over.")] = 60.0,
    session: Annotated[
        Path, typer.Option(metavar="FILE", help="JSON lines of what was judged; one that is there is gone on from.")
    ] = Path("outputs/live.jsonl"),
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Of the order; by default that of the session's file, in a new one a fresh."),
    ] = None,
    report: ReportOption = None,
) -> int:
    """Plays the turns that are left, and reports.

    Raises:
        ConfigError: an option has no meaning, or the session's file is of another one.
        StoppedError: there is no graph with both policies, or it does not do what it is asked.
        MissingDependencyError: ROS is not installed.
    """
    from tendon.evaluation.live.session import Session, Settings, check_tasks, session_seed

    _require_what_reports_need(report)
    check_number("--limit-s", limit_s, above=0)
    require_results(report, None, session=session)
    require_folder(session.parent, "--session")
    (a, a_whole, a_digest), (b, b_whole, b_digest) = _named(first), _named(second)
    if a == b:
        raise ConfigError(f"{first} and {second} are the same policy, {a}: there is nothing to compare")
    seed = session_seed(session) if seed is None else seed
    settings = Settings(
        a=a, b=b, tasks=check_tasks(task), pairs=pairs, seed=seed, digests=(a_whole, b_whole), limit_s=limit_s
    )
    played = Session(session, settings)
    keys = Keys()
    try:
        if played.next is not None:
            ask("tendon_live", lambda operator: _play(operator, keys, played, limit_s))
    finally:
        _report(played, report, {"A": a_digest, "B": b_digest})
        left = len(settings.turns()) - len(played.turns)
        print(f"{left} turns are left; the same command goes on" if left else f"all turns are in {session}")
    return 0


def _require_what_reports_need(report: Path | None) -> None:
    """Checks, before a session of hours, that its end can be reported.

    Raises:
        MissingDependencyError: it cannot: on a robot these are not installed with the graph.
    """
    needs = ["scipy"] if report is None else ["scipy", "matplotlib"]
    if missing := [name for name in needs if find_spec(name) is None]:
        raise MissingDependencyError(f"the report needs {' and '.join(missing)}: pip install {' '.join(missing)}")


def _play(operator: Operator, keys: Keys, session: Session, limit_s: float) -> None:
    from tendon.cli.live_turns import Turns

    wanted = {session.settings.a, session.settings.b}
    status = wait_for_policy(operator, lambda status: bool(status.policy), "there is no policy node")
    if missing := sorted(wanted - {status.policy, *status.standby}):
        known = ", ".join((status.policy, *status.standby))
        raise StoppedError(
            f"the graph has no policy {missing[0]}, it has: {known}; start it with `tendon run policy:=A standby:=B`"
        )
    from tendon.robots.profile import profile_file

    robot = robot_of(operator)
    profile_file(robot)  # the report says which one it was
    if session.robot not in ("", robot):
        raise ConfigError(
            f"the graph runs {robot}, the turns of this session were on {session.robot}: take another --session"
        )
    operator.at_rest()  # from here on it listens to joint states
    with keys:
        Turns(operator, keys, session, robot, limit_s).play()


def _named(policy: str) -> tuple[str, str, str]:
    """Returns what the graph calls a policy, and the digests of its bundle and of the policy in it, where it is here.

    Turns of one session are of one detector too; reports name a policy as those of simulation do.
    """
    from tendon.policies.bundle.bundle import load_bundle
    from tendon.policies.bundle.places import find_bundle
    from tendon.policies.inference.identity import policy_digest

    try:
        bundle = load_bundle(find_bundle(policy))
    except ConfigError:
        return policy, "not known here", "not known here"
    return bundle.manifest.name, bundle.digest, policy_digest(bundle.manifest)


def _report(session: Session, report: Path | None, digests: dict[str, str]) -> None:
    """Prints what is shown by the pairs that are complete, and writes the report; names are told from here on."""
    from tendon.evaluation.live.session import Turn
    from tendon.evaluation.page.origin import origin

    found = Pairs[Turn]()
    for one, other in session.pairs():
        found.take(one, other)
    if not found.pairs:
        return
    if session.next is not None and report is None:
        return  # who goes on stays blind
    settings = session.settings
    print(f"A {settings.a}\nB {settings.b}")
    Console().print(found.table(tuple(dict.fromkeys(settings.tasks))))
    print("\n".join(found.verdict()))
    repeats = session.repeats()
    if any(repeats.values()):
        print(f"turns that were repeated and did not count: A {repeats['A']}, B {repeats['B']}")
    if report is None:
        return
    left, robot = len(settings.turns()) - len(session.turns), session.robot
    whole = {
        "policies": {"A": settings.a, "B": settings.b},
        "described": f"{robot or 'a robot'}, {len(found.pairs)} pairs on the running graph, "
        "judged by an operator who was not told which",
        "ended_early": f"{left} turns are left" if left else "",
        **found.found(),
        "repeated": repeats,
        "origin": origin(policies=digests, robot=robot, suite=""),
    }
    from tendon.evaluation.page.pages import compare_page

    write_results(whole, None, report, compare_page, goes_on=True)

"""Stop, reset or arm the robot of a running graph; read, verify or replay its event log."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tendon.control.clearance import Clearance
from tendon.control.event_log import Reading, log_files, profile_digest, read_log
from tendon.control.filter import SafetyFilter
from tendon.control.latch_file import state_folder
from tendon.control.replay import replay
from tendon.core.environment import load_environment
from tendon.core.errors import IntegrityError, MismatchError
from tendon.core.profile import RobotProfile, load_profile
from tendon.ros2_nodes.runtime import require_ros

EXAMPLES = """examples:
  tendon safety stop              the robot comes to rest and stays latched
  tendon safety reset             when the cause is gone; moves nothing
  tendon safety arm               permits motion
  tendon safety log               what happened in the newest run
  tendon safety log --all FILE    with each command and what the filter was given
  tendon safety verify FILE       whether a line was altered; exit code 1 when one was
  tendon safety replay FILE       computes each committed point again; exit code 1 when one differs

logs are in $TENDON_STATE/log, else ~/.local/state/tendon/log, a file a run: ROBOT-DOMAIN-TIME-PID-PART.jsonl"""
STREAMS = ("input", "command", "settle")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what to do."""
    parser.epilog = EXAMPLES
    requests = parser.add_subparsers(dest="request", required=True, metavar="REQUEST")
    for name, text in (
        ("stop", "stop the robot and latch"),
        ("reset", "release the latch; moves nothing"),
        ("arm", "permit motion"),
    ):
        requests.add_parser(name, help=text, description=text)
    log = requests.add_parser("log", help="print a log as a table", description="Prints a log as a table.")
    log.add_argument("file", nargs="?", type=Path, help="default: the newest")
    log.add_argument("--all", action="store_true", help="commands and filter inputs too")
    for name, text in (("verify", "check that no line was altered"), ("replay", "run it through the same filter")):
        request = requests.add_parser(name, help=text, description=text)
        request.add_argument("file", type=Path)


def run(args: argparse.Namespace) -> int:
    """Does what was asked and prints the answer.

    Returns:
        0, or 1 when a log is altered or its replay differs.

    Raises:
        StoppedError: the safety monitor refuses, or there is none.
        MissingDependencyError: ROS is not installed.
        IntegrityError: there is no such log.
        MismatchError: the log is of another profile.
    """
    if args.request == "log":
        return _print(args.file or _newest(), args.all)
    if args.request == "verify":
        return _verdict(args.file, read_log(args.file))
    if args.request == "replay":
        return _replay(args.file)
    require_ros()
    from tendon.ros2_nodes.operator import Operator

    operator = Operator("tendon_safety")
    try:
        print(getattr(operator, args.request)())
    finally:
        operator.close()
    return 0


def _newest() -> Path:
    files = log_files(state_folder() / "log")
    if not files:
        raise IntegrityError(f"no event log in {state_folder() / 'log'}: a graph has not run yet, or set TENDON_STATE")
    return files[-1]


def _print(path: Path, everything: bool) -> int:
    reading = read_log(path)
    table = Table(title=f"{path}", title_justify="left")
    for column in ("time", "event", "what"):
        table.add_column(column, overflow="fold")
    skipped = 0
    for event in reading.events:
        if event["kind"] in STREAMS and not everything:
            skipped += 1
            continue
        seconds, nanoseconds = divmod(event["at"], 10**9)
        at = f"{time.strftime('%H:%M:%S', time.localtime(seconds))}.{nanoseconds // 10**6:03d}"
        table.add_row(at, event["kind"], _words(event).replace("[", "\\["))
    Console().print(table)
    if skipped:
        print(f"{skipped} commands and filter inputs are not shown; --all shows them")
    return _verdict(path, reading)


def _words(event: dict[str, Any]) -> str:
    """Returns an event's values for a person."""
    kind = event["kind"]
    if kind == "header":
        return f"{event['robot']}, profile {event['profile'][:12]}, {event['control_hz']:.0f} Hz"
    if kind == "permission":
        speed = "" if event["speed"] == 1.0 else f" at speed {event['speed']:.2g}"
        return f"{event['state']}{speed}" + (f": {event['reason']}" if event["reason"] else "")
    if kind == "findings":
        return "; ".join(f"{response}: {reason}" for _, response, reason in event["found"]) or "nothing any more"
    if kind == "command":
        return f"{event['controller']}: {len(event['points'])} more points, at rest after {event['rest_ms']} ms"
    if kind == "input":
        return "reset" if event["reset"] is not None else f"{len(event['steps'])} filter steps"
    values = {key: value for key, value in event.items() if key not in ("kind", "at") and value not in ("", None)}
    return ", ".join(f"{key} {value}" for key, value in values.items())


def _verdict(path: Path, reading: Reading) -> int:
    if reading.altered is not None:
        print(f"{path}: line {reading.altered} was altered, or one before it is missing; nothing after it counts")
        return 1
    count = f"{len(reading.events)} lines, each as it was written"
    ended = bool(reading.events) and reading.events[-1]["kind"] == "end"
    if reading.cut:
        print(f"{path}: {count}; the last line is cut, as by a loss of power")
    elif not ended:
        print(f"{path}: {count}; no end: the monitor still runs, was killed, or the last lines were taken away")
    else:
        print(f"{path}: {count}, to the end")
    return 0


def _replay(path: Path) -> int:
    reading = read_log(path)
    if _verdict(path, reading):
        return 1
    if not reading.events or reading.events[0]["kind"] != "header":
        raise IntegrityError(f"{path} does not begin with a header: nothing says which robot it is of")
    header = reading.events[0]
    profile = load_profile(header["robot"])
    if profile_digest(profile) != header["profile"]:
        raise MismatchError(
            f"profile {profile.name} has changed since {path.name} was written: replay it with the profile of then"
        )
    result = replay(reading.events, profile, _filter(profile, header["environment"]))
    print(f"{result.steps} filter steps computed again, {result.compared} of their points found in commands")
    where = f", {result.where}" if result.where else ": the same to the last bit"
    print(f"largest difference {result.difference:.3g}{where}")
    for broken in result.broken:
        print(f"law broken: {broken}")
    if not result.compared:
        print("nothing to compare: the robot was not commanded, or the log begins within a motion")
    return 0 if result.same or not result.steps else 1


def _filter(profile: RobotProfile, environment: str) -> SafetyFilter:
    return SafetyFilter(profile, Clearance(profile, load_environment(environment) if environment else None))

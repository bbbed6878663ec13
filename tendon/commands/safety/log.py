"""Print the event log of a run as a table.

Logs are in $TENDON_STATE/log, else ~/.local/state/tendon/log, a file a run: ROBOT-DOMAIN-TIME-PID-PART.jsonl.

By default it is the newest of a graph in this ROS domain and namespace.

Examples:
  tendon safety log                      # what happened in the newest run
  tendon safety log --all RUN.jsonl      # with each command and what the filter was given
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tendon.cli.log_verdict import verdict
from tendon.core.errors import IntegrityError
from tendon.graph.domain import domain_id
from tendon.graph.namespace import own_namespace, place_name
from tendon.safety.event_log import log_files, read_log
from tendon.safety.latch import state_folder

STREAMS = ("input", "command", "settle")


def command(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="By default the newest.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Commands and filter inputs too.")] = False,
) -> int:
    """Prints it; returns 1 when a line was altered.

    Raises:
        IntegrityError: there is no such log, or it is none.
    """
    return _print(file or _newest(), everything)


def _newest() -> Path:
    folder = state_folder() / "log"
    files = log_files(folder)
    if not files:
        raise IntegrityError(f"no event log in {folder}: a graph has not run yet, or set TENDON_STATE")
    domain, namespace = domain_id(), own_namespace()
    own = re.compile(rf".*{re.escape(place_name('', domain, namespace))}-\d{{8}}T\d{{6}}Z-\d+-\d+\.jsonl")
    if not (ours := [file for file in files if own.fullmatch(file.name)]):
        place = f"ROS domain {domain}" + (f", namespace {namespace}" if namespace else "")
        other = f"tendon safety log {files[-1]}"
        raise IntegrityError(f"no graph of {place} left an event log; the newest of another one: {other}")
    return ours[-1]


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
    return verdict(path, reading)


def _words(event: dict[str, Any]) -> str:
    """Returns an event's values for a person."""
    kind = event["kind"]
    if kind == "header":
        changed = "".join(f", {name} {value:g}" for name, value in event.get("safety", {}).items())
        return f"{event['robot']}, profile {event['profile'][:12]}, {event['control_hz']:.0f} Hz{changed}"
    if kind == "permission":
        speed = "" if event["speed"] == 1.0 else f" at speed {event['speed']:.2g}"
        cause = f" ({event['cause']})" if event.get("cause") else ""
        return f"{event['state']}{speed}{cause}" + (f": {event['reason']}" if event["reason"] else "")
    if kind == "findings":
        return "; ".join(f"{response}: {reason}" for _, response, reason, *_ in event["found"]) or "nothing any more"
    if kind == "command":
        return f"{event['controller']}: {len(event['points'])} more points, at rest after {event['rest_ms']} ms"
    if kind == "input":
        return "reset" if event["reset"] is not None else f"{len(event['steps'])} filter steps"
    values = {key: value for key, value in event.items() if key not in ("kind", "at") and value not in ("", None)}
    return ", ".join(f"{key} {value}" for key, value in values.items())

"""Runs the fault matrix and prints fault -> reaction -> distance -> limits broken. `make faults` calls it.

Leaves outputs/faults/faults.md and faults.json. Exit code 1 when a limit was broken or a fault had another effect than
expected.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT)]

from tendon.graph.domain import free_domain  # noqa: E402

if __name__ == "__main__":
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ.setdefault("ROS_DOMAIN_ID", str(free_domain()))

import harness  # noqa: E402
from harness import Number, Value  # noqa: E402

from tests.faults import start_faults  # noqa: E402
from tests.faults.bench import Bench  # noqa: E402
from tests.faults.faults import FAULTS, Fault  # noqa: E402
from tests.faults.trial import AGREED_MS, Trial, try_fault  # noqa: E402

OUTPUT = Path("outputs/faults")
PAIRWISE = "stop during every other fault"
NAMESPACE = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table."""

    row: str
    name: str
    trials: tuple[Trial, ...]
    note: str = ""
    clock: str = ""

    def values(self) -> dict[str, Value]:
        """What a row of results holds."""
        signs = [trial.sign for trial in self.trials if trial.sign]
        return {
            "n": Number(len(self.trials)),
            **_ends("reaction", [trial.reaction_s for trial in self.trials], "ms"),
            **({"first sign": max(set(signs), key=signs.count)} if signs else {}),
            **_ends("rest", [trial.rest_s for trial in self.trials], "ms"),
            **_ends("tool path", [trial.tool_m for trial in self.trials], "mm"),
            "limits broken": Number(sum(trial.broken for trial in self.trials)),
        }

    def cells(self) -> list[str]:
        """Text of each column."""
        if not self.trials:
            return [self.row, self.name, "0", "", "", "", "", "", self.note]
        problems = sorted({trial.problem for trial in self.trials if trial.problem})
        count = sum(bool(trial.problem) for trial in self.trials)
        signs = [trial.sign for trial in self.trials if trial.sign]
        late = sum(trial.late_ms > AGREED_MS for trial in self.trials)
        note = f"{count} of {len(self.trials)} not as expected: {'; '.join(problems)[:160]}" if count else self.note
        return [
            self.row,
            self.name,
            str(len(self.trials)),
            _spread([trial.reaction_s for trial in self.trials], 1e3, "ms"),
            max(set(signs), key=signs.count) if signs else "",
            _spread([trial.rest_s for trial in self.trials], 1e3, "ms"),
            _spread([trial.tool_m for trial in self.trials], 1e3, "mm"),
            str(sum(trial.broken for trial in self.trials)),
            (note or "as expected") + (f"; commands later than {AGREED_MS:.0f} ms in {late}" if late else ""),
        ]


COLUMNS = (
    "row",
    "fault",
    "n",
    "reaction p50 / max",
    "first sign",
    "rest p50 / max",
    "tool path p50 / max",
    "limits broken",
    "",
)


def _ends(name: str, values: Sequence[float | None], unit: str) -> dict[str, Value]:
    known = [1e3 * value for value in values if value is not None]
    return {f"{name}, p50": Number(median(known), unit), f"{name}, max": Number(max(known), unit)} if known else {}


def _spread(values: Sequence[float | None], scale: float, unit: str) -> str:
    known = [value * scale for value in values if value is not None]
    return f"{median(known):.0f} / {max(known):.0f} {unit}" if known else ""


def run_fault(bench: Bench, fault: Fault, repeats: int, stop: bool = False) -> list[Trial]:
    """Runs a fault again and again; what fails is a trial with a problem, and the graph is started anew."""
    trials = []
    for _ in range(repeats):
        try:
            trials.append(try_fault(bench, fault, stop))
        except (AssertionError, LookupError, OSError, RuntimeError, ValueError) as error:
            text = str(error).splitlines()
            trials.append(Trial(problem=f"{type(error).__name__}: {text[0] if text else ''}"))
            bench.end()
    return trials


def run_in_namespace(fault: Fault, repeats: int, seed: int) -> tuple[list[Trial], str]:
    """Runs a fault in a process that has a network of its own, and returns its trials, or why there are none."""
    if os.geteuid() != 0 or shutil.which("unshare") is None or shutil.which("ip") is None:
        return [], "not tried: needs root, unshare and ip"
    script = [sys.executable, __file__, "--only", fault.name, "--repeats", str(repeats), "--seed", str(seed), "--inner"]
    result = subprocess.run([*NAMESPACE, *script], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return [], f"not tried: {result.stderr.strip().splitlines()[-1:]}"
    return [start_faults.trial_of(item) for item in json.loads(result.stdout.splitlines()[-1])], ""


def _graph(fault: Fault) -> tuple[str, str]:
    """What kind of graph it needs: faults of one kind follow one another."""
    return fault.clock, fault.graph


def _named(fault: Fault | start_faults.StartFault, only: Sequence[str]) -> bool:
    return not only or any(part in fault.name or part in fault.row for part in only)


def run(
    only: Sequence[str],
    repeats: int,
    seed: int,
    quick: bool,
    folder: Path,
    clock: str,
    results: harness.Bench | None = None,
) -> list[Row]:
    """Runs everything whose name or row contains one of `only`, or everything; what is known is written at once."""
    bench = Bench(seed=seed, clock=clock)
    rows: list[Row] = []

    def add(row: Row) -> None:
        rows.append(row)
        print(" | ".join(row.cells()), flush=True)
        write(rows, repeats, folder)
        if results is not None and row.trials:
            case = {"row": row.row, "fault": row.name, "clock": row.clock or clock}
            results.add(case, row.values(), note=row.cells()[-1].removeprefix("as expected").removeprefix("; "))

    try:
        chosen = [fault for fault in FAULTS.values() if _named(fault, only)]
        for fault in sorted(chosen, key=_graph):
            if quick and not fault.quick:
                continue
            note = ""
            if fault.namespace:
                bench.end()
                trials, note = run_in_namespace(fault, repeats, seed)
            else:
                trials = run_fault(bench, fault, repeats)
            add(Row(row=fault.row, name=fault.name, trials=tuple(trials), note=note, clock=fault.clock))
        if not only or any(part in PAIRWISE for part in only):
            others = [fault for fault in FAULTS.values() if not fault.namespace and (fault.quick or not quick)]
            each = 1 if quick else max(1, -(-repeats // len(others)))
            trials = []
            for fault in sorted(others, key=_graph):
                trials += run_fault(bench, fault, each, stop=True)
            add(Row(row=PAIRWISE, name=f"the stop service during each of {len(others)}", trials=tuple(trials)))
        bench.end()
        for start in start_faults.FAULTS:
            if _named(start, only) and (start.quick or not quick):
                trials = [start.run(random.Random(seed + k), bench.folder) for k in range(repeats * bool(start.run))]
                add(Row(row=start.row, name=start.name, trials=tuple(trials), note=start.note))
    finally:
        bench.close()
    return rows


def write(rows: Sequence[Row], repeats: int, folder: Path) -> None:
    """Writes the table as Markdown, and every trial as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    lines = [f"Fault matrix, {repeats} repeats, {time.strftime('%Y-%m-%d %H:%M')}, {machine}.", ""]
    lines += [" | ".join(["", *COLUMNS, ""]).strip(), "|" + "---|" * len(COLUMNS)]
    lines += [" | ".join(["", *row.cells(), ""]).strip() for row in rows]
    (folder / "faults.md").write_text("\n".join(lines) + "\n")
    record = [
        {"row": row.row, "fault": row.name, "note": row.note, "trials": [trial.as_dict() for trial in row.trials]}
        for row in rows
    ]
    (folder / "faults.json").write_text(json.dumps(record, indent=1))


def main() -> int:
    """Runs the matrix."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=20, help="of each fault (%(default)s)")
    parser.add_argument("--only", nargs="+", default=(), metavar="TEXT", help="faults with one of these in name or row")
    parser.add_argument("--out", type=Path, default=OUTPUT, help="folder of the table (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="the subset that CI runs")
    parser.add_argument("--seed", type=int, default=0, help="of the moments (%(default)s)")
    parser.add_argument("--clock", default="simulated", choices=("simulated", "realtime"), help="of faults for either")
    parser.add_argument("--inner", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--results", action="store_true", help="add rows to docs/results; not on a busy machine")
    harness.add_arguments(parser)
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the graph has to end with this process
    if args.inner:
        bench = Bench(seed=args.seed, clock=args.clock)
        try:
            trials = run_fault(bench, FAULTS[args.only[0]], args.repeats)
        finally:
            bench.close()
        print(json.dumps([trial.as_dict() for trial in trials]))
        return 0
    results = harness.begin(args, "faults/matrix") if args.results else None
    rows = run(args.only, args.repeats, args.seed, args.quick, args.out, args.clock, results)
    print(f"{args.out}/faults.md")
    return int(any(trial.problem or trial.broken for row in rows for trial in row.trials))


if __name__ == "__main__":
    sys.exit(main())

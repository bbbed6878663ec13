"""Runs the fault matrix and prints fault -> reaction -> distance -> limits broken. `make faults` calls it.

Leaves outputs/faults/faults.md, and every trial in matrix-CLOCK.jsonl. Exit code 1 when a limit was broken or a fault
had another effect than expected.

Examples:
  python tests/faults/matrix.py --repeats 3 --only camera jammed
  python tests/faults/matrix.py --clock realtime --results
  python tests/faults/matrix.py --clock realtime --results --resume    goes on where that was interrupted
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
from tests.faults.record import Record, parser_of, trial_of  # noqa: E402
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


def try_once(bench: Bench, fault: Fault, stop: bool = False) -> Trial:
    """Tries a fault; what fails is a trial with a problem, and the graph is started anew."""
    try:
        return try_fault(bench, fault, stop)
    except (AssertionError, LookupError, OSError, RuntimeError, ValueError) as error:
        text = str(error).splitlines()
        bench.end()
        return Trial(problem=f"{type(error).__name__}: {text[0] if text else ''}")


def run_in_namespace(fault: Fault, repeats: int, seed: int) -> tuple[list[Trial], str]:
    """Runs a fault in a process that has a network of its own, and returns its trials, or why there are none."""
    if os.geteuid() != 0 or shutil.which("unshare") is None or shutil.which("ip") is None:
        return [], "not tried: needs root, unshare and ip"
    script = [sys.executable, __file__, "--only", fault.name, "--repeats", str(repeats), "--seed", str(seed), "--inner"]
    result = subprocess.run([*NAMESPACE, *script], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return [], f"not tried: {result.stderr.strip().splitlines()[-1:]}"
    return [trial_of(item) for item in json.loads(result.stdout.splitlines()[-1])], ""


def _graph(fault: Fault) -> tuple[str, str]:
    """What kind of graph it needs: faults of one kind follow one another."""
    return fault.clock, fault.graph


def _named(fault: Fault | start_faults.StartFault, only: Sequence[str]) -> bool:
    return not only or any(part in fault.name or part in fault.row for part in only)


class Matrix:
    """One run of the table.

    Args:
        bench: starts graphs.
        record: keeps every trial, and has those of a run that goes on.
        repeats: of each fault.
        seed: of the moments.
        folder: of the table.
        results: takes a row for each fault; `None` takes none.
    """

    def __init__(
        self, bench: Bench, record: Record, repeats: int, seed: int, folder: Path, results: harness.Bench | None
    ) -> None:
        self._bench, self._record, self._repeats, self._seed = bench, record, repeats, seed
        self._folder, self._results = folder, results
        self.rows: list[Row] = []

    def fault(self, fault: Fault) -> None:
        """Tries a fault that breaks a running graph."""
        kept = len(self._record.of(fault.name))
        note = ""
        if fault.namespace and kept < self._repeats:
            self._bench.end()
            trials, note = run_in_namespace(fault, self._repeats - kept, self._seed + kept)
            for trial in trials:
                self._add(fault.name, trial)
        for _ in range(0 if fault.namespace else self._repeats - kept):
            self._add(fault.name, try_once(self._bench, fault))
        self._row(fault.row, fault.name, note, fault.clock)

    def stop_during(self, others: Sequence[Fault]) -> None:
        """Calls the stop service during each of these."""
        each = max(1, -(-self._repeats // len(others)))
        done = len(self._record.of(PAIRWISE))
        for fault in [fault for fault in sorted(others, key=_graph) for _ in range(each)][done:]:
            self._add(PAIRWISE, try_once(self._bench, fault, stop=True))
        self._row(PAIRWISE, f"the stop service during each of {len(others)}", tried=PAIRWISE)

    def start(self, start: start_faults.StartFault) -> None:
        """Tries a fault that a graph is started with."""
        if start.run is not None:
            for k in range(len(self._record.of(start.name)), self._repeats):
                self._add(start.name, start.run(random.Random(self._seed + k), self._bench.folder))
        self._row(start.row, start.name, start.note)

    def _add(self, tried: str, trial: Trial) -> None:
        print(f"{self._record.add(tried, trial)}: {tried}{f': {trial.problem}' if trial.problem else ''}", flush=True)

    def _row(self, row: str, name: str, note: str = "", clock: str = "", tried: str = "") -> None:
        made = Row(row=row, name=name, trials=tuple(self._record.of(tried or name)), note=note, clock=clock)
        self.rows.append(made)
        print(" | ".join(made.cells()), flush=True)
        write(self.rows, self._repeats, self._folder)
        if self._results is not None and made.trials:
            case = {"row": row, "fault": name, "clock": clock or self._bench.clock}
            text = made.cells()[-1].removeprefix("as expected").removeprefix("; ")
            self._results.add(case, made.values(), note=text)


def write(rows: Sequence[Row], repeats: int, folder: Path) -> None:
    """Writes the table as Markdown."""
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    lines = [f"Fault matrix, {repeats} repeats, {time.strftime('%Y-%m-%d %H:%M')}, {machine}.", ""]
    lines += [" | ".join(["", *COLUMNS, ""]).strip(), "|" + "---|" * len(COLUMNS)]
    lines += [" | ".join(["", *row.cells(), ""]).strip() for row in rows]
    (folder / "faults.md").write_text("\n".join(lines) + "\n")


def main() -> int:
    """Runs the matrix."""
    parser = parser_of(__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="of each fault (%(default)s)")
    parser.add_argument("--only", nargs="+", default=(), metavar="TEXT", help="faults with one of these in name or row")
    parser.add_argument("--out", type=Path, default=OUTPUT, help="folder of the table (%(default)s)")
    parser.add_argument("--clock", default="simulated", choices=("simulated", "realtime"), help="of faults for either")
    parser.add_argument("--inner", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the graph has to end with this process
    if args.inner:
        bench = Bench(seed=args.seed, clock=args.clock)
        try:
            trials = [try_once(bench, FAULTS[args.only[0]]) for _ in range(args.repeats)]
        finally:
            bench.close()
        print(json.dumps([trial.as_dict() for trial in trials]))
        return 0
    results = harness.begin(args, "faults/matrix") if args.results else None
    chosen = sorted((fault for fault in FAULTS.values() if _named(fault, args.only)), key=_graph)
    starts = [start for start in start_faults.FAULTS if _named(start, args.only)]
    stopped = [fault for fault in FAULTS.values() if not fault.namespace]
    pairwise = not args.only or any(part in PAIRWISE for part in args.only)
    tried = len(chosen) + sum(start.run is not None for start in starts)
    total = tried * args.repeats + pairwise * len(stopped) * max(1, -(-args.repeats // len(stopped)))
    run = {"commit": harness.commit(), "clock": args.clock, "seed": args.seed, "repeats": args.repeats}
    record = Record(args.out / f"matrix-{args.clock}.jsonl", run | {"only": list(args.only)}, total, args.resume)
    bench = Bench(seed=args.seed + len(record.all), clock=args.clock)
    matrix = Matrix(bench, record, args.repeats, args.seed, args.out, results)
    try:
        for fault in chosen:
            matrix.fault(fault)
        if pairwise:
            matrix.stop_during(stopped)
        bench.end()
        for start in starts:
            matrix.start(start)
    finally:
        bench.close()
    print(f"{args.out}/faults.md")
    return int(any(trial.problem or trial.broken for _, trial in record.all))


if __name__ == "__main__":
    sys.exit(main())

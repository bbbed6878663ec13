"""A benchmark is refused on a busy machine, says so in its rows where it is allowed, and does not replace good rows."""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.bench import Bench, add_arguments, begin
from harness.load import Instant, Others, instant, look, others_between, refusal
from harness.rows import Number, RowError, read_rows

CLAIM = "control/tick"
IDLE, FULL = Others(0.05, 0.0), Others(1.2, 0.0)


@contextlib.contextmanager
def spinning(parent: str = "exec") -> Iterator[subprocess.Popen[bytes]]:
    """Runs a process that takes a whole core, as a child of another one when `parent` is "fork"."""
    spin = f"{sys.executable} -c 'while True: pass'"
    # A grandchild whose parent ended belongs to nobody here, as a colleague's job does.
    command = f"{spin} & echo $!" if parent == "fork" else f"exec {spin}"
    with subprocess.Popen(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        pid = process.pid
        if parent == "fork":
            assert process.stdout is not None
            pid = int(process.stdout.readline())
            process.wait(timeout=10)
        try:
            yield process
        finally:
            subprocess.run(["kill", "-9", str(pid)], check=False)


def options(folder: Path, *words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(["--rows", str(folder), *words])


def test_a_real_busy_loop_is_refused_and_named(tmp_path: Path) -> None:
    """Somebody else's process that takes a core stops a benchmark before it begins, with a line and no traceback."""
    with spinning("fork"), pytest.raises(SystemExit) as caught:
        begin(options(tmp_path), CLAIM)
    assert "this machine is busy: other processes take" in str(caught.value)
    assert "--busy" in str(caught.value)
    assert not list(tmp_path.rglob("*.jsonl"))


def test_with_busy_it_runs_and_the_row_says_so(tmp_path: Path) -> None:
    """The same loop, allowed."""
    with spinning("fork"):
        bench = begin(options(tmp_path, "--busy"), CLAIM)
        row = bench.add({"robot": "panda"}, {"p50": Number(1, "ms")})
    assert row.busy and row.load["others_before"] > 0.3
    assert read_rows(CLAIM, tmp_path) == [row]


def test_what_a_benchmark_starts_itself_is_not_others() -> None:
    """Its own worker takes a core; the nothing that others do is not blamed for it."""
    with spinning() as own:
        before = instant()
        found = look()
        assert instant().own_s > before.own_s
    assert not any(f"(pid {own.pid})" in name for name, _ in found.busiest)
    with spinning("fork"):
        assert look().cores > 0.3


def at(seconds: float, worked: float = 0.0, own: float = 0.0, stolen: float = 0.0, **each: float) -> Instant:
    return Instant(
        at_s=seconds,
        worked_s=worked,
        stolen_s=stolen,
        whole_s=2 * seconds,
        own_s=own,
        each_s={(len(name), 0.0): spent for name, spent in each.items()},
        names={(len(name), 0.0): name for name in each},
    )


def test_processes_that_came_and_went_are_found_by_the_machines_counters() -> None:
    """A build starts a compiler for each file; none lives long enough to be in both looks."""
    found = others_between(at(0), at(10, worked=9.0, own=2.0))
    assert found.cores == pytest.approx(0.7) and found.busy and not found.busiest


def test_where_the_machines_counters_are_blind_the_processes_count() -> None:
    """As in containers whose /proc/stat stands still."""
    found = others_between(at(0, cc1plus=1.0), at(10, cc1plus=9.0, stolen=1.0))
    assert found.cores == pytest.approx(0.8) and found.steal == pytest.approx(0.05)
    assert "cc1plus (pid 7) 0.80" in refusal(found)


def test_a_process_that_changes_its_name_took_nothing_by_that() -> None:
    """The kernel's workers do, all the time; what one took since the machine started is not of the last moment."""
    assert not others_between(at(0, kworker_a=60.0), at(10, kworker_b=60.1)).busy


def test_own_work_is_taken_off() -> None:
    """Two busy cores of its own are an idle machine."""
    assert not others_between(at(0), at(10, worked=20.0, own=20.0)).busy


def bench_of(folder: Path, before: Others, simulated: bool = False) -> Bench:
    return Bench((CLAIM,), {CLAIM} if simulated else set(), folder, before)


@pytest.mark.parametrize("simulated", [False, True])
def test_a_busy_row_replaces_an_idle_one_only_where_load_cannot_change_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], simulated: bool
) -> None:
    """A quick look on a full machine does not spoil a good number."""
    monkeypatch.setattr("harness.bench.others_between", lambda before, after: IDLE)
    bench_of(tmp_path, IDLE).add({"robot": "panda"}, {"p50": Number(1, "ms")})
    bench_of(tmp_path, FULL, simulated).add({"robot": "panda"}, {"p50": Number(9, "ms")})
    [row] = read_rows(CLAIM, tmp_path)
    assert row.busy is simulated
    assert ("stays; --rows FOLDER" in capsys.readouterr().err) is not simulated
    bench_of(tmp_path, IDLE).add({"robot": "panda"}, {"p50": Number(2, "ms")})
    assert read_rows(CLAIM, tmp_path)[0].values == {"p50": Number(2, "ms")}


def test_a_machine_that_became_busy_meanwhile_is_a_busy_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Idle at the start is not enough."""
    monkeypatch.setattr("harness.bench.others_between", lambda before, after: FULL)
    assert bench_of(tmp_path, IDLE).add({"robot": "panda"}, {"p50": Number(1, "ms")}).busy


@pytest.mark.parametrize("claim", ["control/tik", "nonsense/at-all"])
def test_a_claim_in_no_page_ends_before_anything_is_measured(tmp_path: Path, claim: str) -> None:
    """With the line to add."""
    with pytest.raises(SystemExit, match=rf"no table {claim}.*docs/results/claims/{claim.split('/')[0]}.yaml"):
        begin(options(tmp_path, "--busy"), claim)


def test_a_damaged_file_of_rows_ends_before_anything_is_measured(tmp_path: Path) -> None:
    """Not after the hour that the benchmark takes."""
    (tmp_path / "control").mkdir()
    (tmp_path / "control/tick.jsonl").write_text("{\n")
    with pytest.raises(SystemExit, match=r"tick.jsonl, line 1: not JSON"):
        begin(options(tmp_path, "--busy"), CLAIM)


def test_rows_of_another_claim_are_refused(tmp_path: Path) -> None:
    """A typing error in a benchmark does not make a file that no page shows."""
    with pytest.raises(RowError, match="expected one of control/tick"):
        bench_of(tmp_path, IDLE).add({}, {"p50": Number(1, "ms")}, claim="control/tock")


def test_counters_of_this_machine_grow() -> None:
    """The real ones: time passes and somebody works."""
    before = instant()
    sum(range(2_000_000))
    after = instant()
    assert after.own_s > before.own_s and after.worked_s > before.worked_s


def test_what_ended_and_was_waited_for_was_its_own_work() -> None:
    """Most benchmarks start processes that are gone when the row is added."""
    before = instant()
    spin = "import time\nwhile time.process_time() < 0.5: pass"
    subprocess.run([sys.executable, "-c", spin], check=True)
    assert instant().own_s - before.own_s >= 0.4

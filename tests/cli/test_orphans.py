"""A long command that is killed leaves no worker behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PATIENCE_S, ENDS_S = 60.0, 20.0


def descendants(pid: int) -> set[int]:
    found = {pid}
    while True:
        more = {
            int(path.parent.name)
            for path in Path("/proc").glob("[0-9]*/stat")
            if (fields := _fields(path)) and int(fields[1]) in found
        } - found
        if not more:
            return found - {pid}
        found |= more


def _fields(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return []


def running(pid: int) -> bool:
    fields = _fields(Path(f"/proc/{pid}/stat"))
    return bool(fields) and fields[0] != "Z"


@pytest.mark.parametrize(
    ("command", "signum"),
    [
        (["data", "demos", "--seeds", "0:80", "--out", "demos"], signal.SIGTERM),
        (["eval", "run", "expert", "--seeds", "100000:100400"], signal.SIGKILL),
    ],
    ids=["data demos", "eval run"],
)
def test_no_worker_outlives_a_command_that_is_killed(command: list[str], signum: int, tmp_path: Path) -> None:
    tendon = Path(sys.executable).with_name("tendon")
    started = subprocess.Popen([tendon, *command, "--workers", "2"], cwd=tmp_path, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while len(workers := descendants(started.pid)) < 2:
            assert time.monotonic() < deadline and started.poll() is None
            time.sleep(0.05)
        time.sleep(3.0)  # they import and begin
        workers |= descendants(started.pid)
        started.send_signal(signum)
        started.wait(PATIENCE_S)
        deadline = time.monotonic() + ENDS_S
        while left := {pid for pid in workers if running(pid)}:
            assert time.monotonic() < deadline, left
            time.sleep(0.1)
    finally:
        started.kill()
        started.wait()

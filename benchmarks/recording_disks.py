"""Disks that fail under the recorder, full, read-only and too slow: what handing over took, and what is left.

A small tmpfs is filled in mid-episode (that needs root). For the other two each write of this process fails as on a
read-only disk, or is held up to 2 MB/s. 9 MB/s are recorded. The episode before is read again, what is left of this one
is recovered, and the next episode is recorded when the disk is well again.

Examples:
  python benchmarks/recording_disks.py
  python benchmarks/recording_disks.py --busy --rows /tmp/rows
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import harness
import numpy as np

from tendon.data.reading.recording import McapRecording
from tendon.data.recording import writer
from tendon.data.recording.episode import EpisodeBegin, Outcome
from tendon.data.recording.recover import recover_folder
from tendon.data.recording.session import RecordingSession, Settings
from tendon.data.recording.writer import Sample

BEGIN = EpisodeBegin(robot="panda", started_ns=0)
SIZE, HZ = 90_000, 100.0
DISK = "24m"
QUEUE_BYTES = 16 << 20
SLOW_BYTES_S = 2e6


@contextmanager
def small_disk() -> Iterator[Path]:
    """Yields a small file system of its own."""
    with tempfile.TemporaryDirectory() as name:
        command = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tendon-recording", name]
        subprocess.run(command, check=True)
        try:
            yield Path(name)
        finally:
            subprocess.run(["umount", "--lazy", name], check=False)


def feed(session: RecordingSession, seconds: float, at_half: Callable[[], None]) -> float:
    """Hands messages over; returns the longest time that took [ms]."""
    noise, longest_s, begin_s = np.random.default_rng(0).bytes(SIZE), 0.0, time.monotonic()
    done = False
    for k in range(round(seconds * HZ)):
        time.sleep(max(0.0, begin_s + k / HZ - time.monotonic()))
        if not done and k > seconds * HZ / 2:
            at_half()
            done = True
        text = b"\x00\x01\x00\x00" + (SIZE + 1).to_bytes(4, "little") + noise.replace(b"\x00", b" ") + b"\x00"
        now_ns = time.time_ns()
        sample = Sample(
            topic="/t", kind="std_msgs/msg/String", log_ns=now_ns, publish_ns=now_ns, number=k + 1, data=text
        )
        before_s = time.perf_counter()
        session.put(sample)
        longest_s = max(longest_s, time.perf_counter() - before_s)
    return 1e3 * longest_s


def count(path: Path) -> int:
    """Returns how many messages a file has."""
    return sum(1 for _ in McapRecording(path).samples())


def trial(folder: Path, seconds: float, fail: Callable[[], None], mend: Callable[[], None]) -> dict[str, harness.Value]:
    """Returns what came of a disk that fails in the middle of an episode."""
    session = RecordingSession(Settings(folder=folder, queue_bytes=QUEUE_BYTES))
    first = session.start(BEGIN).result(20.0)
    feed(session, 0.5, lambda: None)
    session.keep(Outcome.SUCCESS)
    session.wait(30.0)
    whole = count(first)
    bad = session.start(BEGIN).result(20.0)
    longest_ms = feed(session, seconds, fail)
    said = session.problem
    session.keep(Outcome.SUCCESS)
    mend()
    session.wait(60.0)
    after = session.start(BEGIN).result(20.0)
    feed(session, 0.5, lambda: None)
    session.keep(Outcome.SUCCESS)
    session.close(60.0)
    recover_folder(folder)
    end = McapRecording(bad).end
    return {
        "longest to hand over": harness.Number(round(longest_ms, 3), "ms"),
        "told": "yes" if said else "NO",
        "episode": "bad" if end is not None and end.bad else "whole",
        "of it kept": harness.Number(count(bad)),
        "of it handed over": harness.Number(round(seconds * HZ)),
        "episode before": "whole" if count(first) == whole == round(0.5 * HZ) else "LOST",
        "episode after": "whole" if count(after) == round(0.5 * HZ) else "LOST",
    }


def full() -> dict[str, harness.Value]:
    """A disk without room."""
    with small_disk() as folder:
        filler = folder / "filler"

        def fill() -> None:
            with filler.open("wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(1 << 16))
                except OSError:
                    pass

        return trial(folder, 3.0, fill, filler.unlink)


def read_only() -> dict[str, harness.Value]:
    """A disk that becomes read-only: writes fail as the kernel lets them."""
    broken = [False]
    whole = os.write

    def write(number: int, data: bytes) -> int:
        if broken[0]:
            raise OSError(30, "Read-only file system")
        return whole(number, data)

    with tempfile.TemporaryDirectory() as name, mock.patch.object(writer.os, "write", write):
        return trial(Path(name), 3.0, lambda: broken.__setitem__(0, True), lambda: broken.__setitem__(0, False))


def slow() -> dict[str, harness.Value]:
    """A disk of 2 MB/s."""
    held = [False]
    whole = os.write

    def write(number: int, data: bytes) -> int:
        if held[0]:
            time.sleep(len(data) / SLOW_BYTES_S)
        return whole(number, data)

    with tempfile.TemporaryDirectory() as name, mock.patch.object(writer.os, "write", write):
        return trial(Path(name), 8.0, lambda: held.__setitem__(0, True), lambda: held.__setitem__(0, False))


DISKS = {"full": full, "read-only": read_only, "2 MB/s": slow}


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_arguments(parser)
    bench = harness.begin(parser.parse_args(), "recording/disk")
    for name, run in DISKS.items():
        values = run()
        bench.add({"disk": name}, values)
        print(name, {k: getattr(v, "value", v) for k, v in values.items()}, flush=True)


if __name__ == "__main__":
    main()

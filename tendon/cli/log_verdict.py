"""What is said of an event log as a whole."""

from __future__ import annotations

from pathlib import Path

from tendon.safety.event_log import Reading


def verdict(path: Path, reading: Reading) -> int:
    """Prints whether a log is whole; returns 1 when a line was altered."""
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

"""What the processes of a graph print: all of it in a file, the last lines at hand for a panel."""

from __future__ import annotations

import re
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import IO

FILES = 16
"""Logs that are kept of earlier runs, as many as event logs."""
KEPT_LINES = 200
"""Lines a panel can show: more than any terminal is high."""
SUFFIX = ".graph.log"
_LINE = re.compile(r"\s*(\S+) \| (.*)")
_ROS = re.compile(r"\[(\w+)\] \[[\d.]+\] \[[^]]*\]: (.*)")
_LEVELS = {"WARN": "warning", "ERROR": "error", "FATAL": "error"}


@dataclass(frozen=True, kw_only=True)
class LogLine:
    """One line.

    Attributes:
        time_s: when it came, since the epoch.
        process: who printed it.
        level: "error", "warning" or empty.
        text: what it says.
    """

    time_s: float
    process: str
    level: str
    text: str


class GraphLog:
    """Takes lines of the form `process | text`; a disk that is full costs lines and stops nobody. Any thread reads.

    Args:
        folder: of the file; older logs there are removed.
        name: of the file, without suffix.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / f"{name}{SUFFIX}"
        self.problem = ""
        """Why lines are not written; empty when they are."""
        self._lines: deque[LogLine] = deque(maxlen=KEPT_LINES)
        self._file: IO[str] | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for old in sorted(folder.glob(f"*{SUFFIX}"), key=lambda path: path.stat().st_mtime)[: 1 - FILES]:
                old.unlink()
            self._file = self.path.open("w", encoding="utf-8")
        except OSError as error:
            self._fail(error)

    def write(self, text: str) -> int:
        """Takes whole lines."""
        for line in text.splitlines():
            self._lines.append(parse(line))
        if self._file is not None:
            try:
                self._file.write(text)
            except OSError as error:
                self._fail(error)
        return len(text)

    def flush(self) -> None:
        """Brings the lines to the file."""
        if self._file is not None:
            try:
                self._file.flush()
                self.problem = ""
            except OSError as error:
                self._fail(error)

    def isatty(self) -> bool:
        """Returns that no colours are wanted."""
        return False

    def last(self, count: int) -> list[LogLine]:
        """Returns the last lines, the newest last."""
        return list(self._lines)[-count:] if count > 0 else []

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            try:
                self._file.close()
            except OSError as error:
                self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.problem = f"no log of what the nodes say, {self.path} cannot be written: {error.strerror}"


def parse(line: str) -> LogLine:
    """Returns a line's parts; rclpy's own prefix, which repeats process and time, is taken off."""
    found = _LINE.fullmatch(line)
    process, text = found.groups() if found else ("", line.strip())
    said = _ROS.fullmatch(text)
    level, text = said.groups() if said else ("", text)
    return LogLine(time_s=time.time(), process=process, level=_LEVELS.get(level, ""), text=text)

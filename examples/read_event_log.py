"""The safety monitor's log: read it, and see that one changed character is found. Without a file it makes its own.

Run: python examples/read_event_log.py RUN.jsonl   (`tendon safety log` says where they are)
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tendon.safety.event_log import EventLog, read_log


def tell(file: Path) -> None:
    """Prints the events of a log as far as its chain of hashes holds."""
    reading = read_log(file)
    for event in reading.events:
        print("  ", {key: value for key, value in event.items() if key != "at"})
    print("whole" if reading.whole else f"line {reading.altered} was altered" if reading.altered else "cut off")


if len(sys.argv) > 1:
    tell(Path(sys.argv[1]))
else:
    with tempfile.TemporaryDirectory() as folder:
        log = EventLog(Path(folder), "panda-0", {"robot": "panda"})
        log.put("mode", mode="running", reason="")
        log.put("breach", law="velocity", reason="joint 3 at 2.9 rad/s")
        log.close()
        assert log.path is not None, log.problem
        tell(log.path)
        log.path.write_text(log.path.read_text().replace("2.9 rad", "1.9 rad"))
        tell(log.path)

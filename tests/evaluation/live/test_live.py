"""`tendon eval live` on a simulated graph, by an operator at a terminal who goes home in between."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tendon.core.modes import Mode
from tests.ros2_nodes.policy.test_switching import write_other_bundle
from tests.ros2_nodes.running_graph import RunningGraph
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle

pytestmark = [pytest.mark.graph, pytest.mark.laws]
PATIENCE_S = 90.0


class Terminal:
    """A command in a terminal of its own."""

    def __init__(self, *arguments: str) -> None:
        self._file, far = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tendon.cli", *arguments], stdin=far, stdout=far, stderr=far, start_new_session=True
        )
        os.close(far)
        self.text = ""
        self._seen = 0

    def until(self, words: str) -> None:
        """Reads on until it says something that it has not said before."""
        deadline = time.monotonic() + PATIENCE_S
        while words not in self.text[self._seen :]:
            assert time.monotonic() < deadline, f"it does not say {words!r}:\n{self.text}"
            if select.select([self._file], [], [], 0.2)[0]:
                try:
                    self.text += os.read(self._file, 4096).decode(errors="replace")
                except OSError as error:
                    raise AssertionError(f"it ended before it said {words!r}:\n{self.text}") from error
        self._seen = self.text.index(words, self._seen) + len(words)

    def press(self, key: str) -> None:
        time.sleep(0.2)  # what is typed before the question is dropped
        os.write(self._file, key.encode())

    def end(self) -> int:
        code = self.process.wait(PATIENCE_S)
        os.close(self._file)
        return code


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[RunningGraph]:
    first, other = write_tiny_bundle(tmp_path / "tiny"), write_other_bundle(tmp_path / "other")
    running = RunningGraph(tmp_path / "log", f"policy:={first}", f"standby:={other}")
    running.ready()
    yield running
    running.end()


def test_turns_are_judged_by_keys_left_and_gone_on_with_and_reported(graph: RunningGraph, tmp_path: Path) -> None:
    file, report = tmp_path / "live.jsonl", tmp_path / "live.html"
    asked = ["eval", "live", "tiny", "other", "--task", "left", "--pairs", "1", "--session", str(file)]
    terminal = Terminal(*asked)
    terminal.until("SPACE resets and arms")
    terminal.press(" ")
    terminal.until("turn 1 of 2: left")
    terminal.until("SPACE starts")
    terminal.press(" ")
    terminal.until("r again")
    graph.wait(graph.moving, "motion")
    terminal.press("r")
    terminal.until("turn 1 of 2: left")
    terminal.until("SPACE starts")
    terminal.press(" ")
    terminal.until("r again")
    terminal.press("y")
    terminal.until("noted")
    terminal.until("turn 2 of 2: left")
    assert graph.operator.at_home()
    terminal.until("q ends")
    terminal.press("q")
    terminal.until("1 turns are left")
    assert terminal.end() == 0
    assert "tiny" not in terminal.text.replace("live tiny", "") and "other" not in terminal.text, "it told who it was"
    (kept,) = [json.loads(line) for line in file.read_text().splitlines()[1:]]
    assert kept["success"] and kept["progress"] == 1.0

    terminal = Terminal(*asked, "--report", str(report))
    terminal.until("turn 2 of 2: left")
    terminal.until("SPACE starts")
    terminal.press(" ")
    terminal.until("x stops the robot")
    graph.wait(graph.moving, "motion")
    terminal.press("x")
    terminal.until("stopped: stop was requested")
    terminal.until("r again")
    terminal.press("n")
    terminal.until("nearly all")
    terminal.press("3")
    terminal.until("all turns are in")
    assert terminal.end() == 0
    graph.wait(lambda: graph.mode() is Mode.LATCHED, "latched")
    found = json.loads(report.with_suffix(".json").read_text())
    outcomes = {side: found["episodes"][0][side] for side in ("a", "b")}
    judged = {outcome["number"]: (outcome["success"], outcome["progress"]) for outcome in outcomes.values()}
    assert judged == {0: (True, 1.0), 1: (False, 0.3)} and found["scenes"] == 1
    assert found["origin"]["command"].endswith(f"--report {report}") and "against" in report.read_text()
    graph.check_limits()


def test_ctrl_c_stops_the_robot_and_keeps_what_was_judged(graph: RunningGraph, tmp_path: Path) -> None:
    file = tmp_path / "live.jsonl"
    graph.arm()
    terminal = Terminal("eval", "live", "tiny", "other", "--task", "left", "--pairs", "1", "--session", str(file))
    terminal.until("SPACE starts")
    terminal.press(" ")
    terminal.until("r again")
    graph.wait(graph.moving, "motion")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130
    graph.wait(lambda: graph.mode() is Mode.LATCHED, "latched")
    assert len(file.read_text().splitlines()) == 1

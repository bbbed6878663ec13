"""The process supervisor with small processes instead of nodes."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tendon.core.errors import StoppedError
from tendon.graph.description import EXIT_REFUSED, RESPAWN_LIMIT, Graph, Process
from tendon.graph.running import process_group as module
from tendon.graph.running.process_group import ProcessGroup
from tests import ROOT


@dataclass(frozen=True, kw_only=True)
class Script(Process):
    """A process that runs a line of Python."""

    module: str = ""
    code: str = ""

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-u", "-c", self.code]


WAIT = "import time; print('up'); time.sleep(60)"


@pytest.fixture(autouse=True)
def quick_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RESPAWN_DELAY_S", 0.0)


def run(
    *scripts: Script,
    stop_robot: Callable[[], bool] | None = None,
    until: str = "",
    times: int = 1,
    seconds: float = 0.0,
) -> tuple:
    output = io.StringIO()
    group = ProcessGroup(Graph(processes=scripts, environment={}), stop_robot, output)

    def end() -> None:
        deadline = time.monotonic() + 20
        while output.getvalue().count(until) < times and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(seconds)
        group.request_end()

    if until:
        threading.Thread(target=end, daemon=True).start()
    return group.run(), output.getvalue()


def alive(pid: int) -> bool:
    """Returns whether a process runs; one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_lines_are_prefixed_and_an_asked_end_is_exit_code_zero() -> None:
    code, text = run(Script(name="a", code=WAIT), Script(name="long_name", code=WAIT), until=" | up", times=2)
    assert code == 0
    assert "        a | up" in text and "long_name | up" in text


def test_the_robot_is_stopped_before_any_process_is_ended() -> None:
    order: list[str] = []
    answer = "signal.signal(signal.SIGTERM, lambda *_: (print('ended'), exit(0)))"
    code = f"import signal, time\n{answer}\nprint('up')\ntime.sleep(60)"

    def stop() -> bool:
        order.append("stopped")
        return True

    exit_code, text = run(Script(name="a", code=code), stop_robot=stop, until="up")
    assert exit_code == 0 and order == ["stopped"]
    assert text.index("at rest") < text.index("ended")


def test_a_robot_that_is_not_seen_at_rest_is_said_and_is_no_success() -> None:
    """The monitor had latched, and the last words were that nobody had answered."""
    code, text = run(Script(name="a", code=WAIT), stop_robot=lambda: False, until="up")
    assert code == 1 and "the robot is stopped and latched, but was not seen at rest: look at it" in text

    def unanswered() -> bool:
        raise StoppedError("nobody answers safety/stop")

    code, text = run(Script(name="a", code=WAIT), stop_robot=unanswered, until="up")
    assert code == 0 and "no answer: the robot side plays its own stop" in text


def test_a_process_that_dies_is_restarted_a_limited_number_of_times_and_fails_the_run() -> None:
    code, text = run(Script(name="a", code="print('up'); raise SystemExit(7)"), Script(name="b", code=WAIT))
    assert code == 7
    assert text.count("a | up") == RESPAWN_LIMIT + 1


def test_one_that_refuses_its_configuration_ends_the_graph_at_once() -> None:
    code, text = run(Script(name="a", code=f"raise SystemExit({EXIT_REFUSED})"), Script(name="b", code=WAIT))
    assert code == EXIT_REFUSED and "restarting" not in text


def test_a_kill_is_survived_and_remembered_in_the_exit_code() -> None:
    code, text = run(
        Script(name="a", code="import os, time; print('up'); time.sleep(0.5); os.kill(os.getpid(), 9)"),
        until="a | up",
        times=2,
    )
    assert code == 1 and text.count("a | up") == 2


def test_a_one_time_process_is_not_started_again() -> None:
    code, text = run(
        Script(name="once", code="print('did it')", once=True), Script(name="b", code=WAIT), until="did it", seconds=0.5
    )
    assert code == 0 and text.count("did it") == 1


def test_whatever_ignores_signals_is_killed_with_all_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", ((signal.SIGINT, 0.2), (signal.SIGTERM, 0.2), (signal.SIGKILL, 2.0)))
    pid_file = tmp_path / "pid"
    code = (
        "import signal, subprocess, sys, time\n"
        "signal.signal(2, signal.SIG_IGN); signal.signal(15, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import signal, time; signal.signal(2, signal.SIG_IGN);"
        " signal.signal(15, signal.SIG_IGN); time.sleep(60)'])\n"
        f"open({str(pid_file)!r}, 'w').write(str(child.pid)); print('up'); time.sleep(60)"
    )
    run(Script(name="a", code=code), until="up", seconds=0.5)
    assert not alive(int(pid_file.read_text()))


INTERRUPTED = """
import sys
from tests.graph.running.test_process_group import WAIT, Graph, Script, ProcessGroup

class Counted(ProcessGroup):
    lines = None

    def _start(self, child):
        super()._start(child)
        self.lines = 0

for moment in range(1, 30):
    group = Counted(Graph(processes=(Script(name="a", code=WAIT),), environment={}))

    def trace(frame, event, argument):
        if group.lines is not None:
            group.lines += 1
            if group.lines == moment:
                group.request_end()
        return trace

    sys.settrace(trace)
    group.run()
    sys.settrace(None)
"""


def test_a_signal_may_interrupt_it_at_any_line() -> None:
    """A handler that takes a lock its own thread holds would hang `tendon run`, with the robot in motion."""
    subprocess.run([sys.executable, "-c", INTERRUPTED], cwd=ROOT, check=True, timeout=60)


def test_one_that_is_ended_while_it_starts_says_nothing() -> None:
    """Nodes set their handlers after their imports; until then Python would answer SIGINT with a traceback."""
    code, output = run(Script(name="a", code=WAIT), until="up")
    assert code == 0
    assert "Traceback" not in output and "KeyboardInterrupt" not in output

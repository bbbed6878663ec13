"""The display looks twice a second from a thread of its own, and says a thing once."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from tendon.core.causes import Cause
from tendon.core.modes import PermissionState
from tendon.core.permission import Permission
from tendon.graph.running.display import PanelDisplay, PlainDisplay, closing, short
from tendon.graph.running.log import GraphLog
from tendon.graph.running.panel import numbers_of
from tendon.graph.running.state import Adviser, RunState
from tendon.safety.reports import MonitorState

ADVISER = Adviser(tendon="tendon", task="", policy=False)
NODES = ("safety_monitor",)


def seen(state: PermissionState) -> RunState:
    permission = Permission(state=state, event=1, reason="", cause=Cause.REQUESTED)
    return RunState(nodes=NODES, monitor=MonitorState(permission=permission), age_s={"safety_monitor": 0.1})


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert condition()


def test_without_a_terminal_a_state_is_said_once_with_what_to_type() -> None:
    states, output = [seen(PermissionState.STANDBY)], io.StringIO()
    with PlainDisplay(lambda: states[0], ADVISER, output):
        until(lambda: "READY" in output.getvalue())
        time.sleep(1.2)
        states[0] = seen(PermissionState.ARMED)
        until(lambda: "ARMED" in output.getvalue())
    assert output.getvalue().count("READY") == output.getvalue().count("ARMED") == 1
    assert "tendon | type in another terminal:\ntendon |   tendon safety arm  (permits motion)\n" in output.getvalue()


def test_on_a_terminal_it_draws_on_the_other_screen_and_leaves_the_last_words(tmp_path: Path) -> None:
    terminal, states = io.StringIO(), [RunState(nodes=NODES)]
    console = Console(file=terminal, force_terminal=True, width=80, height=24)
    log = GraphLog(tmp_path, "panda-0")
    with PanelDisplay(lambda: states[0], ADVISER, log, numbers_of([]), "tendon run", console):
        until(lambda: "STARTING" in terminal.getvalue())
        states[0] = seen(PermissionState.STANDBY)
        log.write("sim_node | hello\n")
        until(lambda: "READY" in terminal.getvalue() and "hello" in terminal.getvalue())
    text = terminal.getvalue()
    assert text.index("\x1b[?1049h") < text.index("STARTING") < text.rindex("\x1b[?1049l")
    log.write("tendon | the robot is at rest\n")
    assert closing(log, 0) == ["tendon | the robot is at rest", f"log: {short(log.path)}"]
    assert "sim_node | hello" in closing(log, 1)


def test_the_home_folder_is_short() -> None:
    assert short(Path.home() / "x" / "y.log") == "~/x/y.log"
    assert short(Path("/elsewhere/y.log")) == "/elsewhere/y.log"

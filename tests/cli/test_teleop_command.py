"""`tendon teleop` before it finds a graph: which devices need a terminal."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

import pytest

from tendon.commands import teleop
from tendon.core.errors import ConfigError, StoppedError


@pytest.fixture
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: object) -> None:
        raise StoppedError("it asks for a graph")

    read, _ = os.pipe()
    monkeypatch.setattr(sys, "stdin", os.fdopen(read))
    monkeypatch.setattr(teleop, "ask", asked)


@pytest.mark.parametrize("device", ["keyboard", "leader:so101@/leader+keyboard"])
def test_a_keyboard_needs_a_terminal(device: str, no_terminal: None) -> None:
    with pytest.raises(ConfigError, match="standard input is none"):
        teleop.command([device])


@pytest.mark.parametrize(
    "device", ["gamepad:/dev/input/by-id/usb-Dell_keyboard-event-kbd", "leader:so101@/keyboard+gamepad"]
)
def test_what_only_has_its_name_needs_none(device: str, no_terminal: None) -> None:
    with pytest.raises(StoppedError, match="asks for a graph"):
        teleop.command([device])


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_an_end_that_this_process_alone_is_told_of_ends_the_node(number: signal.Signals) -> None:
    """A terminal that is closed tells the leader of its session only, which is this command where ssh starts it."""
    ends = "[signal.signal(n, lambda *_: exit(0)) for n in (1, 2, 15)]"
    node = f"import signal; {ends}; print('up', flush=True); signal.pause()"
    script = (
        "import sys, types; from tendon.commands import teleop\n"
        f"sys.exit(teleop._run(types.SimpleNamespace(command=[sys.executable, '-c', {node!r}])))"
    )
    wrapper = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert wrapper.stdout is not None and wrapper.stdout.readline() == "up\n"
        wrapper.send_signal(number)
        assert wrapper.wait(30.0) == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(wrapper.pid, signal.SIGKILL)

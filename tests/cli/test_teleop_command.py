"""`tendon teleop` before it finds a graph: which devices need a terminal."""

from __future__ import annotations

import os
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

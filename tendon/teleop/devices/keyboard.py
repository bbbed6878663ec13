"""The keyboard of a terminal. It tells presses and repeats, never a release: a missing repeat is one."""

from __future__ import annotations

import os
import select
import termios
import time
from collections.abc import Callable
from typing import Any

from tendon.core.errors import ConfigError
from tendon.teleop.device import DeviceLostError, Reading

REPEAT_S = 0.05
"""How long a key counts as down after a look has seen it; terminals repeat every 30 to 40 ms.

That look comes up to 20 ms after the repeat; the third one after it, 60 ms later, finds the key up. A multiple of the
20 ms between looks would leave it to chance whether the fourth does. With a control tick (10 ms) and what is committed
(40 ms) braking begins at most 130 ms after the last repeat."""
BURST = 4
"""Keys in one look that no hand types: a paste, or what a link has queued up."""
QUIET_S = 0.3
"""How long nothing may come after such a burst before a key counts again."""
SEQUENCES = {b"\x1b[A": "up", b"\x1b[B": "down", b"\x1b[C": "right", b"\x1b[D": "left"}
NAMES = {b" ": "space", b"\t": "tab", b"\r": "enter", b"\n": "enter"}
CHUNK = 1024


class KeyboardDevice:
    """Reads a terminal without waiting for Enter, and gives it back as it was.

    Keys are called as they are typed ("w", "W" with shift, "-"), or up, down, left, right, space, tab, enter.

    Args:
        fd: of the terminal; standard input by default.
        clock_s: a monotonic clock: what is held is held in real time.
    """

    def __init__(self, fd: int = 0, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._fd, self._clock_s = fd, clock_s
        self._before: list[Any] | None = None
        self._until_s: dict[str, float] = {}
        self._quiet_from_s = 0.0

    @property
    def name(self) -> str:
        """See `Device`."""
        return "keyboard"

    def open(self) -> None:
        """See `Device`."""
        if self._before is None:
            try:
                self._before = termios.tcgetattr(self._fd)
                self._take_each_key()
            except termios.error as error:
                self._before = None
                raise ConfigError(
                    f"the keyboard needs a terminal, and standard input is none ({error.args[-1]}): type "
                    "`tendon teleop keyboard` in a terminal of its own"
                ) from error
        self._until_s.clear()

    def _take_each_key(self) -> None:
        raw = termios.tcgetattr(self._fd)
        raw[3] &= ~(termios.ICANON | termios.ECHO)
        raw[6][termios.VMIN], raw[6][termios.VTIME] = 0, 0
        termios.tcsetattr(self._fd, termios.TCSAFLUSH, raw)

    def _take_it_back(self) -> None:
        """Sets the terminal up again when the shell has had it meanwhile, as after Ctrl-Z and `fg`."""
        try:
            changed = termios.tcgetattr(self._fd)[3] & termios.ICANON
            if changed and os.tcgetpgrp(self._fd) == os.getpgrp():  # it would stop a process in the background
                self._take_each_key()
        except (termios.error, OSError) as error:
            raise DeviceLostError(f"the terminal of the keyboard is gone: {error}") from error

    def read(self) -> Reading:
        """See `Device`."""
        if self._before is None:
            raise DeviceLostError("the keyboard is not open")
        self._take_it_back()
        keys, now_s = _keys(self._waiting()), self._clock_s()
        if len(keys) > BURST:
            self._until_s.clear()
            self._quiet_from_s = now_s + QUIET_S
        elif keys and now_s < self._quiet_from_s:
            self._quiet_from_s = now_s + QUIET_S
        else:
            self._until_s |= dict.fromkeys(keys, now_s + REPEAT_S)
        self._until_s = {key: until_s for key, until_s in self._until_s.items() if until_s > now_s}
        return Reading(pressed=frozenset(self._until_s))

    def _waiting(self) -> bytes:
        data = b""
        try:
            while select.select([self._fd], [], [], 0.0)[0]:
                part = os.read(self._fd, CHUNK)
                if not part:
                    raise DeviceLostError("the terminal of the keyboard is closed")
                data += part
        except (OSError, ValueError) as error:
            raise DeviceLostError(f"the terminal of the keyboard is gone: {error}") from error
        return data

    def close(self) -> None:
        """See `Device`."""
        before, self._before = self._before, None
        if before is not None:
            try:
                termios.tcsetattr(self._fd, termios.TCSADRAIN, before)
            except termios.error:  # it is gone
                return


def _keys(data: bytes) -> list[str]:
    """Returns the names of keys in what a terminal sends; escape sequences that are not known are left out."""
    keys = []
    while data:
        if data[:1] == b"\x1b" and len(data) > 1:
            end = next((k + 1 for k in range(2, len(data)) if 0x40 <= data[k] <= 0x7E), len(data))
            keys.append(SEQUENCES.get(data[:end], "unknown"))
            data = data[end:]
            continue
        one, data = data[:1], data[1:]
        name = NAMES.get(one) or (one.decode() if one.isascii() and one.decode().isprintable() else "unknown")
        keys.append(name)
    return keys

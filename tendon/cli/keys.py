"""Single keys of a terminal, without Enter."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from types import TracebackType

from tendon.core.errors import ConfigError

_ESCAPE, _INTRODUCERS = b"\x1b", (b"[", b"O")
_SEQUENCE_S = 0.02
"""The bytes of one key, such as Delete, come together."""


class Keys:
    """Reads keys while it is entered; Ctrl-C stays what it is.

    Args:
        otherwise: what to do where there is no terminal.

    Raises:
        ConfigError: there is no terminal.
    """

    def __init__(self, otherwise: str = "") -> None:
        if not sys.stdin.isatty():
            raise ConfigError("; ".join(filter(None, ("this asks for keys: run it in a terminal", otherwise))))
        self._file = sys.stdin.fileno()
        self._before = termios.tcgetattr(self._file)

    def __enter__(self) -> Keys:
        """Takes over the terminal."""
        tty.setcbreak(self._file)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Gives it back."""
        termios.tcsetattr(self._file, termios.TCSADRAIN, self._before)

    def read(self, timeout_s: float) -> str:
        """Returns the next key, or "" when none is pressed in time.

        Raises:
            EOFError: the terminal is gone.
        """
        ready, _, _ = select.select([self._file], [], [], timeout_s)
        if not ready:
            return ""
        data = os.read(self._file, 1)
        if not data:
            raise EOFError
        if data == _ESCAPE:
            self._skip_sequence()
            return ""
        return data.decode("ascii", "ignore").lower()

    def _skip_sequence(self) -> None:
        """Takes what belongs to a key of several bytes: the 3 of Delete, ESC [ 3 ~, is no answer."""
        if self._more() in _INTRODUCERS:
            while (byte := self._more()).isdigit() or byte == b";":
                pass

    def _more(self) -> bytes:
        ready, _, _ = select.select([self._file], [], [], _SEQUENCE_S)
        return os.read(self._file, 1) if ready else b""

    def one_of(self, keys: str) -> str:
        """Returns the first of some keys that is pressed."""
        while True:
            key = self.read(60.0)
            if key and key in keys:
                return key

    def forget(self) -> None:
        """Drops what was typed ahead: nobody has judged what has not begun."""
        termios.tcflush(self._file, termios.TCIFLUSH)

"""What asks a process to end in order: Ctrl-C, whoever manages it, and a terminal that is closed."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

END_REQUESTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def on_end_request(handle: Callable[[int, FrameType | None], object]) -> dict[signal.Signals, Any]:
    """Calls a function at each request to end, and returns the handlers it had before, by signal. Main thread only.

    SIGHUP comes more than once, from the shell and from the kernel. It stays ignored where it is: that is what
    `nohup` asks for.

    Args:
        handle: takes the signal's number. It interrupts the main thread anywhere and may be interrupted by itself, so
            that it must take no lock: none of a `threading.Event` either.
    """
    ignored = {signal.SIGHUP} if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else set()
    return {number: signal.signal(number, handle) for number in END_REQUESTS if number not in ignored}

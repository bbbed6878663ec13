"""The latch on disk: a monitor that dies while armed or latched starts latched, and says why."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tendon.core.causes import Cause, Reason
from tendon.core.modes import PermissionState
from tendon.core.phrases import TEXT, beginning

STATE_VARIABLE = "TENDON_STATE"
KEPT = " (latched before this start)"


def state_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Returns where Tendon keeps state: `$TENDON_STATE`, else `tendon` in `$XDG_STATE_HOME` or `~/.local/state`."""
    if chosen := environment.get(STATE_VARIABLE):
        return Path(chosen)
    base = environment.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "tendon"


@dataclass(frozen=True, kw_only=True)
class LatchRecord:
    """What is kept.

    Attributes:
        state: a permission's state, such as "armed".
        reason: of a latch; `None` without one.
    """

    state: PermissionState
    reason: Reason | None = None


class LatchFile:
    """Written by a thread of its own, so that a slow disk delays nobody; the newest record wins.

    Args:
        path: of the file; its folder is made when it is first written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem = ""
        """Why the last record could not be written; empty when it could."""
        self._changed = threading.Condition()
        self._wanted: LatchRecord | None = None
        self._writing = self._closing = False
        self._thread = threading.Thread(target=self._run, name="latch file", daemon=True)
        self._thread.start()

    def inherited(self) -> Reason | None:
        """Returns why a monitor that starts now must start latched; `None` when it need not."""
        try:
            values = json.loads(self.path.read_text(encoding="utf-8"))
            state = PermissionState(values["state"])
            if state is PermissionState.STANDBY:
                return None
            if state is PermissionState.ARMED:
                return Reason(Cause.RESTARTED, "the safety monitor was armed when it ended")
            cause, text = Cause(values["cause"]), str(values["reason"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            return Reason(Cause.LATCH_FILE, f"the latch file {self.path} cannot be read: {error}")
        # A monitor that ends on request releases a requested stop: this one ended otherwise.
        cause = Cause.RESTARTED if cause is Cause.REQUESTED else cause
        return Reason(cause, f"{beginning(text.removesuffix(KEPT), TEXT - len(KEPT))}{KEPT}")

    def save(self, record: LatchRecord) -> None:
        """Has a record written soon; returns at once."""
        with self._changed:
            self._wanted = record
            self._changed.notify_all()

    def close(self, timeout_s: float = 1.0) -> None:
        """Waits until the newest record is written, but not for ever."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._wanted is None and not self._writing, timeout_s)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._wanted is not None or self._closing)
                record, self._wanted = self._wanted, None
                if record is None:
                    return
                self._writing = True
            try:
                self._write(record)
                self.problem = ""
            except OSError as error:
                self.problem = f"the latch would not survive a restart, {self.path} cannot be written: {error.strerror}"
            with self._changed:
                self._writing = False
                self._changed.notify_all()

    def _write(self, record: LatchRecord) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_suffix(f".{os.getpid()}")
        with fresh.open("w", encoding="utf-8") as file:
            json.dump(_values(record), file)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.path)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _values(record: LatchRecord) -> dict[str, str]:
    values = {"state": record.state.value}
    if record.reason is not None:
        values |= {"cause": record.reason.cause.value, "reason": record.reason.text}
    return values

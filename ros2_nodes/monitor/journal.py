"""What the safety monitor decides, kept: changes go to the event log, the latch to its file."""

from __future__ import annotations

from collections.abc import Sequence

from tendon.core.modes import PermissionState
from tendon.core.permission import Permission
from tendon.safety.event_log import EventLog
from tendon.safety.latch import LatchFile, LatchRecord
from tendon.safety.reports import ControlState
from tendon.safety.response import Finding


class Journal:
    """Everything in the executor's thread.

    Args:
        log: takes what has changed.
        file: takes the latch.
    """

    def __init__(self, log: EventLog, file: LatchFile) -> None:
        self._log, self._file = log, file
        self._kept: LatchRecord | None = None
        self._noted: Permission | None = None
        self._found: frozenset[tuple[str, int]] = frozenset()

    def note(self, permission: Permission, findings: Sequence[Finding]) -> None:
        """Logs and keeps what differs from the last call."""
        found = frozenset((finding.source, int(finding.response)) for finding in findings)
        if found != self._found:
            reasons = [(f.source, f.response.word, f.reason, f.cause.value) for f in findings]
            self._log.put("findings", found=reasons)
            self._found = found
        if permission == self._noted:
            return
        before, self._noted = self._noted, permission
        known = before is not None and _without_reason(before) == _without_reason(permission)
        if known and permission.state is not PermissionState.LATCHED:
            return  # the reason alone has changed: what was found is logged above
        values = {"state": permission.state.value, "speed": permission.speed, **why(permission)}
        self._log.put("permission", event=permission.event, **values)
        kept = LatchRecord(state=permission.state, reason=permission.latch)
        if kept != self._kept:
            self._kept = kept
            self._file.save(kept)


def why(said: Permission | ControlState) -> dict[str, str]:
    """Returns cause and reason as the event log keeps them."""
    return {"cause": "" if said.cause is None else said.cause.value, "reason": said.reason}


def _without_reason(permission: Permission) -> tuple[object, ...]:
    return permission.state, permission.event, permission.speed, permission.policy

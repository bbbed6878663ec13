"""The safety monitor's permission as a message, and how the control node follows it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from tendon.control.monitor import Permission, PermissionState
from tendon.core.errors import InvalidDataError
from tendon.ros2_nodes import conversion

PERMISSION_TOPIC = "safety/permission"
STATE_TOPIC = "safety/state"
PERIOD_S = 0.02
FRESH_NS = 100_000_000

_LEVELS = {
    PermissionState.ARMED: DiagnosticStatus.OK,
    PermissionState.STANDBY: DiagnosticStatus.WARN,
    PermissionState.LATCHED: DiagnosticStatus.ERROR,
}


def permission_status(permission: Permission, **details: object) -> DiagnosticStatus:
    """Returns the status that carries a permission, with details for whoever reads it."""
    values: dict[str, object] = {"state": permission.state.value, "event": permission.event}
    values |= {"speed": f"{permission.speed:.3g}", "policy": permission.policy, **details}
    level = _LEVELS[permission.state]
    if permission.armed and permission.speed < 1.0:
        level = DiagnosticStatus.WARN
    return conversion.status("safety_monitor", level, permission.reason, values)


def read_permission(message: DiagnosticArray) -> Permission:
    """Returns the permission in a message.

    Raises:
        InvalidDataError: there is none in it.
    """
    try:
        (status,) = message.status
        values = conversion.values_of(status)
        return Permission(
            state=PermissionState(values["state"]),
            event=int(values["event"]),
            reason=str(status.message),
            speed=float(values.get("speed", "1")),
            policy=values.get("policy", ""),
        )
    except (ValueError, KeyError) as error:
        raise InvalidDataError(f"message on {PERMISSION_TOPIC} holds no permission: {error}") from error


@dataclass(frozen=True, kw_only=True)
class Demand:
    """What a permission asks of the controller in this tick.

    Attributes:
        stop: why it must stop; empty when it need not.
        lapsed: the permission is merely too old: a controller in standby, which needs none, may stay there.
        reset: leave the latched mode.
        arm: accept motion.
        event: which permission this follows, for the report to the monitor.
        speed: part of the velocity limits that may be used; 0 holds.
    """

    stop: str = ""
    lapsed: bool = False
    reset: bool = False
    arm: bool = False
    event: int = 0
    speed: float = 1.0


class PermissionFollower:
    """Turns permissions into demands. `receive` and `demand` may be called from different threads.

    Only a later event is followed, and the first one seen is taken as known: neither a restart of the monitor
    (which begins at 0 again) nor one of this process arms or resets anything.

    Args:
        now_ns: a monotonic clock.
    """

    def __init__(self, now_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._now_ns = now_ns
        self._received: tuple[Permission, int] | None = None
        self._event: int | None = None

    def receive(self, permission: Permission) -> None:
        """Takes a permission that has just arrived."""
        self._received = (permission, self._now_ns())

    def demand(self) -> Demand:
        """Returns what to do now."""
        if self._received is None:
            return Demand()
        permission, arrived_ns = self._received
        known = self._event
        if known is None:
            self._event = permission.event
        age_ns = self._now_ns() - arrived_ns
        if age_ns > FRESH_NS:
            reason = f"the safety monitor has been silent for {FRESH_NS / 1e6:.0f} ms"
            return Demand(stop=reason, lapsed=True, event=self._event or 0)
        if permission.state is PermissionState.LATCHED:
            return Demand(stop=permission.reason or "latched", event=self._event or 0)
        changed = known is not None and permission.event > known
        self._event = max(permission.event, known or 0)
        return Demand(
            reset=changed and permission.state is PermissionState.STANDBY,
            arm=changed and permission.state is PermissionState.ARMED,
            event=self._event,
            speed=permission.speed,
        )

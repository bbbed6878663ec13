"""The safety monitor's permission to move, and how a controller follows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from tendon.core.causes import Cause, Reason
from tendon.core.errors import InvalidDataError
from tendon.core.modes import PermissionState
from tendon.core.node_status import Level


@dataclass(frozen=True, kw_only=True)
class Permission:
    """What a controller may do, since when, and why.

    Attributes:
        state: armed permits motion; standby permits none; latched demands a stop until a reset.
        event: grows with every reset and arm. A controller follows a later event, never a state it finds when it
            starts; so a restart of either side never moves the robot.
        reason: why it is latched, not ready or restricted; empty when there is nothing to say.
        cause: the same as a code, of the first reason; a latched permission has one.
        speed: share of the velocity limits that may be used: 1 all, less slows down, 0 holds: a controlled stop
            that goes on by itself.
        policy: which instance of the policy node is meant: one that starts again is another until it is heard of, and
            then the robot is latched. Empty while none was heard of.
    """

    node: ClassVar[str] = "safety_monitor"
    state: PermissionState
    event: int
    reason: str
    cause: Cause | None = None
    speed: float = 1.0
    policy: str = ""

    def __post_init__(self) -> None:
        if self.state is PermissionState.LATCHED and self.cause is None:
            raise InvalidDataError("a latched permission has no cause, must have one")
        if not 0.0 <= self.speed <= 1.0:
            raise InvalidDataError(f"permission has speed {self.speed}, must be from 0 to 1")

    @property
    def armed(self) -> bool:
        """Whether motion is permitted."""
        return self.state is PermissionState.ARMED

    @property
    def latch(self) -> Reason | None:
        """Why it is latched; `None` when it is not."""
        if self.cause is None or self.state is not PermissionState.LATCHED:
            return None
        return Reason(self.cause, self.reason)

    @property
    def level(self) -> Level:
        """How well it is with a robot that has this permission."""
        if self.armed:
            return Level.OK if self.speed == 1.0 else Level.WARN
        return Level.ERROR if self.state is PermissionState.LATCHED else Level.WARN

    @property
    def text(self) -> str:
        """The reason."""
        return self.reason


EVENT_AHEAD_NS = 5_000_000_000
"""How far beyond the time now the event of a permission may be. A monitor takes the time, or counts on by one from its
last event; after one that is out of reach none of its own would be followed again."""
EVENTS_MISSED = 1000
"""How far beyond the event known that of a permission may be, where time was set back: so many resets and armings may
go unheard. Far less than a monitor's time passes by, so that no row of foreign permissions leads away from it."""


def is_reachable(event: int, known: int | None, wall_ns: int) -> bool:
    """Returns whether a monitor can have come to an event.

    Args:
        event: of a permission.
        known: the last event that was followed.
        wall_ns: the time that events count on from.
    """
    return event <= max(wall_ns + EVENT_AHEAD_NS, (known or 0) + EVENTS_MISSED)


@dataclass(frozen=True, kw_only=True)
class Demand:
    """What a permission asks of the controller in this tick.

    Attributes:
        stop: why it must stop; `None` when it need not.
        lapsed: the permission is merely too old: a controller in standby, which needs none, may stay there.
        reset: leave the latched mode.
        arm: accept motion.
        event: which permission this follows, for the report to the monitor.
        speed: part of the velocity limits that may be used; 0 holds.
    """

    stop: Reason | None = None
    lapsed: bool = False
    reset: bool = False
    arm: bool = False
    event: int = 0
    speed: float = 1.0


class PermissionFollower:
    """Turns permissions into demands. `receive` and `demand` may be called from different threads.

    Only a later event is followed, and the first one seen is taken as known: neither a restart of the monitor
    (which begins at 0 again) nor one of this process arms or resets anything. After it demanded to arm, a permission
    that does not arm demands a stop: its monitor is another one, or what it latched for went by unheard.

    Args:
        now_ns: the time in which a permission grows old.
        fresh_ns: oldest permission to move on.
        wall_ns: the time that events count on from; `now_ns` may have stood still while it went on.
    """

    def __init__(self, now_ns: Callable[[], int], fresh_ns: int, wall_ns: Callable[[], int]) -> None:
        self._now_ns, self._fresh_ns, self._wall_ns = now_ns, fresh_ns, wall_ns
        self._received: tuple[Permission, int] | None = None
        self._event: int | None = None
        self._arms = False

    def receive(self, permission: Permission) -> None:
        """Takes a permission that has just arrived.

        Raises:
            InvalidDataError: its event is out of reach, or it arms by one that is over; it is not followed.
        """
        if not is_reachable(permission.event, self._event, self._wall_ns()):
            raise InvalidDataError("a permission has an event that no monitor can have come to: it is not followed")
        if permission.armed and permission.event < (self._event or 0):
            raise InvalidDataError("a permission arms by an event before the one that is followed: it is not followed")
        self._received = (permission, self._now_ns())

    @property
    def listening(self) -> bool:
        """Whether a permission is known already, so that the next event would be followed."""
        return self._event is not None

    def demand(self) -> Demand:
        """Returns what to do now."""
        demand = self._demand()
        self._arms = demand.stop is None and (self._arms or demand.arm)
        return demand

    def _demand(self) -> Demand:
        if self._received is None:
            return Demand()
        permission, arrived_ns = self._received
        known = self._event
        if known is None:
            self._event = permission.event
        age_ns = self._now_ns() - arrived_ns
        if age_ns > self._fresh_ns:
            text = f"the safety monitor has been silent for {self._fresh_ns / 1e6:.0f} ms"
            return Demand(stop=Reason(Cause.HEARTBEAT, text), lapsed=True, event=self._event or 0)
        if permission.latch is not None:
            return Demand(stop=permission.latch, event=self._event or 0)
        changed = known is not None and permission.event > known
        self._event = max(permission.event, known or 0)
        if self._arms and not permission.armed:
            text = "the safety monitor permits no motion any more"
            return Demand(stop=Reason(Cause.CONTROLLER, text), event=self._event)
        return Demand(
            reset=changed and permission.state is PermissionState.STANDBY,
            arm=changed and permission.state is PermissionState.ARMED,
            event=self._event,
            speed=permission.speed,
        )

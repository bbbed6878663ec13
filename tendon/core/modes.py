"""The words for what a graph does, in one place: everyone who publishes, reads or shows them takes them from here."""

from __future__ import annotations

from enum import Enum


class Mode(Enum):
    """Modes of a controller in the order they are passed through. Only RUNNING follows targets."""

    STANDBY = "standby"
    ARMED = "armed"
    RUNNING = "running"
    STOPPING = "stopping"
    LATCHED = "latched"

    @property
    def moving(self) -> bool:
        """Whether motion is permitted."""
        return self in (Mode.ARMED, Mode.RUNNING)

    @property
    def stopped(self) -> bool:
        """Whether the robot was stopped, and stays so until a reset."""
        return self in (Mode.STOPPING, Mode.LATCHED)


class PermissionState(Enum):
    """What the safety monitor lets a controller do."""

    STANDBY = "standby"
    ARMED = "armed"
    LATCHED = "latched"


class Source(Enum):
    """Whose chunks are followed. Only one at a time is, and a controller's modes hold for all of them."""

    POLICY = "policy"
    TELEOP = "teleop"
    HOME = "home"
    HOLD = "hold"

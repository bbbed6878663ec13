"""What an input device must do: three calls from one thread, tried by `tests/teleop/device_conformance.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tendon.core.errors import TendonError


class DeviceLostError(TendonError, ConnectionError):
    """A device is unplugged, silent or gone. Whoever holds it is taken to have let go."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a device says now.

    Attributes:
        axes: name of an axis to its deflection, -1 to 1; those at rest may be left out.
        pressed: names of the keys and buttons that are down.
        joints: name of a joint to its position, rad or m, of a device that is an arm.
    """

    axes: Mapping[str, float] = field(default_factory=dict)
    pressed: frozenset[str] = frozenset()
    joints: Mapping[str, float] = field(default_factory=dict)


class Device(Protocol):
    """One input device. Nothing of it blocks; a device that is lost may be opened again."""

    @property
    def name(self) -> str:
        """What it is, for a person."""

    def open(self) -> None:
        """Finds and opens it. What it has to say from before is forgotten.

        Raises:
            MissingDependencyError: its library is not installed; the message names the extra.
            DeviceLostError: it is not there.
        """

    def read(self) -> Reading:
        """Returns what is so now.

        Raises:
            DeviceLostError: it is unplugged, silent, or not open.
        """

    def close(self) -> None:
        """Lets go of it. A second call does nothing."""

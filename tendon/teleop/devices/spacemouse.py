"""3Dconnexion SpaceMouse, by pyspacemouse over hidapi."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from tendon.core.distribution import pip_install
from tendon.core.errors import MissingDependencyError
from tendon.teleop.device import DeviceLostError, Reading

AXES = ("x", "y", "z", "roll", "pitch", "yaw")
REPORTS = 32
"""Reports that are read in one look: it sends one about every 8 ms."""


class SpaceMouseDevice:
    """Its axes are x (right), y (away), z (up), roll, pitch and yaw about them; its buttons button0, button1, ...

    Args:
        path: such as /dev/hidraw0; empty for the first one.
        opener: opens a path; pyspacemouse's by default.
    """

    def __init__(self, path: str = "", opener: Callable[[str], Any] | None = None) -> None:
        self._path, self._opener = path, opener or _open
        self._device: Any = None

    @property
    def name(self) -> str:
        """See `Device`."""
        return str(self._device.name) if self._device is not None else f"SpaceMouse {self._path}".strip()

    def open(self) -> None:
        """See `Device`."""
        self.close()
        self._device = self._opener(self._path)

    def read(self) -> Reading:
        """See `Device`."""
        device = self._device
        if device is None:
            raise DeviceLostError(f"{self.name} is not open")
        try:
            state = device.read()
            for _ in range(REPORTS):
                before = state.t
                state = device.read()
                if state.t == before:
                    break
        except Exception as error:  # easyhid says with types of its own, and with OSError, that a device is gone
            self.close()
            raise DeviceLostError(f"{self.name} is unplugged: {error}") from error
        pressed = frozenset(f"button{k}" for k, down in enumerate(state.buttons) if down)
        return Reading(axes={axis: min(max(getattr(state, axis), -1.0), 1.0) for axis in AXES}, pressed=pressed)

    def close(self) -> None:
        """See `Device`."""
        device, self._device = self._device, None
        if device is not None:
            with contextlib.suppress(Exception):  # it is gone, which easyhid says with types of its own
                device.close()


def _open(path: str) -> Any:
    try:
        import pyspacemouse
    except (ImportError, OSError, TypeError) as error:
        raise MissingDependencyError(
            f"pyspacemouse is not installed, or cannot load libhidapi ({error}): {pip_install('teleop')}, and "
            "`apt install libhidapi-hidraw0`"
        ) from error
    convention = pyspacemouse.AxisConvention.HID_Z_UP
    try:
        if path:
            return pyspacemouse.open_by_path(path, axis_convention=convention)
        return pyspacemouse.open(axis_convention=convention)
    except RuntimeError as error:
        if "HID API" in str(error):
            raise MissingDependencyError("libhidapi is not installed: `apt install libhidapi-hidraw0`") from error
        raise DeviceLostError(f"no SpaceMouse: {error}") from error
    except (OSError, ValueError) as error:
        raise DeviceLostError(f"no SpaceMouse at {path}: {error}") from error

"""Gamepads, pedals, keyboards and whatever else Linux shows under /dev/input, by python-evdev."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tendon.core.distribution import pip_install
from tendon.core.errors import MissingDependencyError
from tendon.teleop.device import DeviceLostError, Reading

if TYPE_CHECKING:
    from evdev import InputDevice

GAMEPAD_KEYS = ("BTN_SOUTH", "BTN_TRIGGER")
"""One of these is on every gamepad and joystick."""
READS = 64
"""Of what waits, in one look: more than any hand does, and than the kernel keeps."""
TRIGGER_SHARE = 0.25
"""An axis that rests in this part of its range is a trigger."""


class EvdevDevice:
    """One device; its axes are called ABS_X, ..., its keys BTN_SOUTH, KEY_SPACE, ..., as in `evtest`.

    An axis is scaled to its range, -1 to 1; a trigger, which was at one end of it when it was opened, 0 to 1.

    Args:
        path: such as /dev/input/event5; empty for the first gamepad.
        opener: opens a path; python-evdev's by default.
    """

    def __init__(self, path: str = "", opener: Callable[[str], InputDevice] | None = None) -> None:
        self._path, self._opener = path, opener
        self._device: InputDevice | None = None
        self._axes: dict[str, float] = {}
        self._pressed: set[str] = set()
        self._ranges: dict[int, tuple[int, int, int]] = {}

    @property
    def name(self) -> str:
        """See `Device`."""
        return self._device.name if self._device is not None else f"gamepad {self._path}".strip()

    def open(self) -> None:
        """See `Device`."""
        self.close()
        try:
            import evdev
        except ImportError as error:
            raise MissingDependencyError(f"evdev is not installed: {pip_install('teleop')}") from error
        opener = self._opener or evdev.InputDevice
        try:
            self._device = opener(self._path or _first_gamepad())
            found: Any = self._device.capabilities().get(evdev.ecodes.EV_ABS, [])
        except OSError as error:
            raise DeviceLostError(f"no input device at {self._path or '/dev/input'}: {error}") from error
        self._ranges = {code: (info.min, info.max, info.value) for code, info in found}

    def read(self) -> Reading:
        """See `Device`."""
        device = self._device
        if device is None:
            raise DeviceLostError(f"{self.name} is not open")
        try:
            for _ in range(READS):
                events = list(device.read())  # 64 of them at most
                for event in events:
                    self._take(event.type, event.code, event.value)
                if not events:
                    break
            else:
                self._forget()
        except BlockingIOError:  # that was all
            pass
        except (OSError, ValueError) as error:
            self.close()
            raise DeviceLostError(f"{self.name} is unplugged: {error}") from error
        return Reading(axes=dict(self._axes), pressed=frozenset(self._pressed))

    def _take(self, kind: int, code: int, value: int) -> None:
        from evdev import ecodes

        if kind == ecodes.EV_SYN and code == ecodes.SYN_DROPPED:
            self._forget()
        elif kind == ecodes.EV_KEY:
            for name in _names(ecodes.bytype[kind].get(code, f"KEY_{code}")):
                (self._pressed.add if value else self._pressed.discard)(name)
        elif kind == ecodes.EV_ABS:
            lower, upper, rest = self._ranges.get(code, (-32768, 32767, 0))
            for name in _names(ecodes.bytype[kind].get(code, f"ABS_{code}")):
                self._axes[name] = _deflection(value, lower, upper, rest)

    def _forget(self) -> None:
        """Takes everything for released: events are lost, or still to come, and who knows what is down."""
        self._pressed.clear()
        self._axes.clear()

    def close(self) -> None:
        """See `Device`."""
        device, self._device = self._device, None
        self._axes, self._pressed = {}, set()
        if device is not None:
            with contextlib.suppress(OSError):  # it is gone
                device.close()


def _names(found: str | tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """Returns all names of a code: BTN_SOUTH is BTN_A too."""
    return (found,) if isinstance(found, str) else tuple(found)


def _deflection(value: int, lower: int, upper: int, rest: int) -> float:
    if upper <= lower:
        return 0.0
    share = min(max((value - lower) / (upper - lower), 0.0), 1.0)
    return share if rest - lower < TRIGGER_SHARE * (upper - lower) else 2.0 * share - 1.0


def _first_gamepad() -> str:
    """Returns the path of the first gamepad that may be read.

    Raises:
        FileNotFoundError: there is none.
    """
    import evdev

    wanted = {evdev.ecodes.ecodes[name] for name in GAMEPAD_KEYS}
    for path in sorted(evdev.list_devices()):
        device = evdev.InputDevice(path)
        keys = set(device.capabilities().get(evdev.ecodes.EV_KEY, []))
        device.close()
        if wanted & keys:
            return path
    raise FileNotFoundError("no gamepad that may be read (is this user in group input?)")

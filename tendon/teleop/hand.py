"""One hand at one device: what it drives, whether it holds, how fast."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import numpy as np

from tendon.core.types import Array
from tendon.teleop.axis_map import AxisMap, Intent
from tendon.teleop.device import Device, DeviceLostError, Reading
from tendon.teleop.hold import Hold
from tendon.teleop.motion import Motion

SPEEDS = (0.1, 0.25, 0.5, 0.75, 1.0)
"""Parts of the map's speeds."""
BEGIN_SPEED = 2
"""Which of them it starts with."""
LEASH = 0.2
"""How far a joint's target may be ahead of where the robot was told to rest [rad or m]."""
NOT_FOLLOWED = "the robot does not follow: see its mode and filter"
NOISE = 0.03
"""A smaller change of an axis (part of its way) or of a joint [rad or m] is no sign of a hand."""
LOOK_NS = 1_000_000_000
"""Between two tries to open a device that was lost."""


@dataclass(frozen=True, kw_only=True)
class HandState:
    """What a hand does, for a person.

    Attributes:
        group: of joints that it drives.
        device: what it holds.
        held: the deadman is held, and counts.
        waits: what the person has to do before it counts, or why the device is lost; empty when there is nothing.
        note: why the arm does not go as wanted.
        speed: part of the map's speeds.
    """

    group: str
    device: str
    held: bool
    waits: str
    note: str
    speed: float


class Hand:
    """Reads a device and moves the targets of its joints. One thread.

    Args:
        group: of joints that it drives.
        device: is opened by `open`, or at the first look.
        axis_map: what its axes mean.
        motion: what they drive.
    """

    def __init__(self, group: str, device: Device, axis_map: AxisMap, motion: Motion) -> None:
        self.group, self.device, self.motion = group, device, motion
        self.axis_map, self._hold = axis_map, Hold()
        self._speed = BEGIN_SPEED
        self._pressed: frozenset[str] = frozenset()
        self._grips, self._toggles = 0.0, False
        self._engaged_ns = 0
        self._open, self._looked_ns = False, -LOOK_NS
        self._intent: Intent | None = None
        self._counted, self._note = Reading(), ""

    @property
    def press_ns(self) -> int:
        """When the hold was pressed; 0 while it is not held."""
        return self._hold.press_ns

    @property
    def speed(self) -> float:
        """Part of the map's speeds that is used."""
        return SPEEDS[self._speed]

    def open(self) -> None:
        """Opens the device; one that is not there is looked for later.

        Raises:
            ConfigError: it is none that can be used.
            MissingDependencyError: its library is not installed.
        """
        with contextlib.suppress(DeviceLostError):
            self.device.open()
            self._open = True

    def look(self, now_ns: int) -> None:
        """Reads the device; one that is lost has let go, and is looked for once a second."""
        try:
            if not self._open:
                if 0 <= now_ns - self._looked_ns < LOOK_NS:
                    return
                self._looked_ns = now_ns
                self.device.open()
                self._open = True
            reading = self.device.read()
        except DeviceLostError as error:
            self._open, self._looked_ns, self._pressed = False, now_ns, frozenset()
            self.lose(str(error))
            return
        self._intent = intent = self.axis_map.intent(reading)
        alive = _changed(self._counted, reading)
        if alive:
            self._counted = reading
        self._hold.update(intent.held, alive, now_ns)
        self._keys(reading.pressed)

    def _keys(self, pressed: frozenset[str]) -> None:
        new, self._pressed = pressed - self._pressed, pressed
        if new.intersection(self.axis_map.slower):
            self._speed = max(self._speed - 1, 0)
        if new.intersection(self.axis_map.faster):
            self._speed = min(self._speed + 1, len(SPEEDS) - 1)
        self._toggles |= self._hold.held and bool(new.intersection(self.axis_map.gripper_toggle))

    def lose(self, why: str) -> None:
        """Ends its hold, which has to be released before it counts again."""
        self._hold.lose(why)
        self._intent = None

    def move(self, targets: Array, step_s: float, rest: Array) -> None:
        """Moves the targets of its joints on while it is held; at a press it begins where they are.

        The targets run no further than `LEASH` ahead of the robot: one that is held back, by its filter or because it
        is not armed, has nothing to make up for afterwards.

        Args:
            targets: (n,) of all joints, which is changed.
            step_s: since the last time.
            rest: (n,) where the robot was told to come to rest.
        """
        intent = self._intent
        if not self._hold.held or intent is None:
            self._engaged_ns, self._toggles = 0, False
            return
        if self._engaged_ns != self._hold.press_ns:
            self.motion.engage(targets, intent)
            self._engaged_ns, self._grips = self._hold.press_ns, 0.0  # what is gripped stays so until it is toggled
        if self._toggles:
            is_open = (self.motion.fingers.share(targets) or 0.0) > 0.5
            self._grips = -self._grips or (-1.0 if is_open else 1.0)
            self._toggles = False
        grip = intent.gripper * self.speed + self.axis_map.gripper_speed * self._grips
        scaled = Intent(
            held=True, twist=intent.twist * self.speed, gripper=grip, joints=intent.joints, in_tool=intent.in_tool
        )
        moved, arm = self.motion.step(scaled, step_s), self.motion.arm
        ahead, before = np.abs(moved - rest)[arm], np.abs(targets - rest)[arm]
        self._note = self.motion.note
        if ((ahead > LEASH) & (ahead > before)).any():
            moved[arm] = targets[arm]
            self.motion.stay(moved)
            self._note = NOT_FOLLOWED
        targets[self.motion.columns] = moved[self.motion.columns]

    def state(self) -> HandState:
        """Returns what it does."""
        return HandState(
            group=self.group,
            device=self.device.name,
            held=self._hold.held,
            waits=self._hold.lost,
            note=self._note if self._hold.held else "",
            speed=self.speed,
        )

    def close(self) -> None:
        """Lets go of the device."""
        self.device.close()


def _changed(before: Reading, now: Reading) -> bool:
    """Returns whether a hand did something between two readings: noise of an arm or a stick is nothing."""
    pairs = ((before.axes, now.axes), (before.joints, now.joints))
    return before.pressed != now.pressed or any(
        abs(new.get(name, 0.0) - old.get(name, 0.0)) > NOISE for old, new in pairs for name in {*old, *new}
    )

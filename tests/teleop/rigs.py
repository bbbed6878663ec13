"""Devices under test, each with what plays its person: pressing, letting go, pulling the plug."""

from __future__ import annotations

import os
import pty
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evdev import AbsInfo, InputDevice, ecodes

from tendon.teleop.device import Device
from tendon.teleop.devices.evdev_device import EvdevDevice
from tendon.teleop.devices.keyboard import KeyboardDevice
from tendon.teleop.devices.leader import LeaderDevice
from tendon.teleop.devices.lerobot import LeRobotDevice
from tendon.teleop.devices.paired import PairedDevice
from tendon.teleop.devices.spacemouse import SpaceMouseDevice
from tests.teleop import streams


@dataclass(kw_only=True)
class Rig:
    """A device and its person.

    Attributes:
        device: not open yet.
        press: does something that is seen in a reading.
        seen: what is seen then.
        let_go: undoes it.
        unplug: takes the device away while it is open.
        plug: brings it back; `None` for a device that does not come back.
    """

    device: Device
    press: Callable[[], None]
    seen: Callable[[Any], bool]
    let_go: Callable[[], None]
    unplug: Callable[[], None]
    plug: Callable[[], None] | None = None


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


class PipeDevice(InputDevice):
    """python-evdev's device on a pipe: it reads the same bytes, and the questions to the kernel are answered here."""

    def __init__(self, fd: int) -> None:
        self.fd, self.name, self.path = fd, "synthetic gamepad", "pipe"

    def capabilities(self, *_: Any, **__: Any) -> Any:
        axes = [(code, AbsInfo(rest, low, high, 0, 0, 0)) for code, (low, high, rest) in streams.RANGES.items()]
        return {ecodes.EV_ABS: axes, ecodes.EV_KEY: [streams.BTN_SOUTH, streams.BTN_TL]}


class FakeHid:
    """The hidapi device below pyspacemouse: reports that wait to be read."""

    product_string = manufacturer_string = serial_number = "synthetic"
    release_number = 1

    def __init__(self) -> None:
        self.waiting: list[bytes] = []
        self.gone = False

    def open(self) -> None:
        self.gone = False

    def read(self, _: int) -> bytes:
        if self.gone:
            raise OSError("hid_read: no such device")
        return self.waiting.pop(0) if self.waiting else b""

    def close(self) -> None:
        self.gone = True


class FakeTeleoperator:
    """What LeRobot's `Teleoperator` asks of its subclasses, as a so101_leader answers: degrees, and a gripper in %."""

    action_features = dict.fromkeys(["shoulder_pan.pos", "shoulder_lift.pos", "gripper.pos"], float)

    def __init__(self) -> None:
        self.action = {"shoulder_pan.pos": 0.0, "shoulder_lift.pos": -90.0, "gripper.pos": 50.0}
        self.gone = False
        self.is_calibrated = True

    def connect(self, calibrate: bool = True) -> None:
        if self.gone:
            raise ConnectionError("could not connect on port /dev/ttyACM0")
        if calibrate and not self.is_calibrated:
            raise EOFError("it asks on the terminal, and writes to the motors")

    def get_action(self) -> dict[str, float]:
        if self.gone:
            raise ConnectionError("no status packet")
        return dict(self.action)

    def disconnect(self) -> None:
        if self.gone:
            raise RuntimeError("not connected")


def keyboard() -> Rig:
    clock, (master, slave) = Clock(), pty.openpty()

    def let_go() -> None:
        clock.now_s += 0.2

    return Rig(
        device=KeyboardDevice(slave, clock),
        press=lambda: os.write(master, b"w") and None,
        seen=lambda reading: reading.pressed == {"w"},
        let_go=let_go,
        unplug=lambda: os.close(master),
    )


def gamepad() -> Rig:
    ends: list[tuple[int, int]] = []
    gone: list[bool] = []

    def opened(_: str) -> InputDevice:
        if gone:
            raise FileNotFoundError("no such device")
        ends.append(os.pipe())
        os.set_blocking(ends[-1][0], False)
        return PipeDevice(ends[-1][0])

    def write(*frame: tuple[int, int, int]) -> None:
        os.write(ends[-1][1], streams.event_bytes(frame, 0))

    def unplug() -> None:
        gone.append(True)
        os.close(ends[-1][0])

    return Rig(
        device=EvdevDevice("/dev/input/event7", opened),
        press=lambda: write((streams.EV_KEY, streams.BTN_TL, 1), (streams.EV_ABS, streams.ABS_Y, -32768)),
        seen=lambda reading: "BTN_TL" in reading.pressed and reading.axes["ABS_Y"] == -1.0,
        let_go=lambda: write((streams.EV_KEY, streams.BTN_TL, 0), (streams.EV_ABS, streams.ABS_Y, 0)),
        unplug=unplug,
        plug=gone.clear,
    )


def spacemouse_device(hid: FakeHid) -> Any:
    """Returns pyspacemouse's own device on top of reports that are given by hand."""
    from pyspacemouse import AxisConvention, SpaceMouseDevice, apply_axis_convention, get_device_specs

    spec = apply_axis_convention(get_device_specs()["SpaceNavigator"], AxisConvention.HID_Z_UP)
    mouse = SpaceMouseDevice(info=spec, device=hid)
    mouse.open()
    return mouse


def spacemouse() -> Rig:
    hids: list[FakeHid] = []
    gone: list[bool] = []

    def opened(_: str) -> Any:
        from tendon.teleop.device import DeviceLostError

        if gone:
            raise DeviceLostError("no SpaceMouse")
        hids.append(FakeHid())
        return spacemouse_device(hids[-1])

    def unplug() -> None:
        gone.append(True)
        hids[-1].gone = True

    return Rig(
        device=SpaceMouseDevice(opener=opened),
        press=lambda: hids[-1].waiting.extend(streams.SPACEMOUSE[:4]),
        seen=lambda reading: reading.pressed == {"button0"} and reading.axes["y"] == 1.0,
        let_go=lambda: hids[-1].waiting.extend(streams.SPACEMOUSE[-3:]),
        unplug=unplug,
        plug=gone.clear,
    )


def leader() -> Rig:
    clock = Clock()
    device = LeaderDevice("so101@/leader", clock)
    return Rig(
        device=device,
        press=lambda: device.hear(["a", "b"], [0.5, -0.5]),
        seen=lambda reading: reading.joints == {"a": 0.5, "b": -0.5},
        let_go=lambda: device.hear(["a", "b"], [0.0, 0.0]),
        unplug=lambda: setattr(clock, "now_s", clock.now_s + 1.0),
        plug=lambda: device.hear(["a", "b"], [0.0, 0.0]),
    )


def lerobot() -> Rig:
    fake = FakeTeleoperator()
    return Rig(
        device=LeRobotDevice("so101_leader", lambda: fake),
        press=lambda: fake.action.update({"shoulder_pan.pos": 90.0}),
        seen=lambda reading: abs(reading.joints["shoulder_pan"] - 1.5708) < 1e-4 and reading.joints["gripper"] == 0.5,
        let_go=lambda: fake.action.update({"shoulder_pan.pos": 0.0}),
        unplug=lambda: setattr(fake, "gone", True),
        plug=lambda: vars(fake).update(FakeTeleoperator().__dict__),
    )


def paired() -> Rig:
    arm, holder = leader(), keyboard()

    def press() -> None:
        arm.press()
        holder.press()

    def let_go() -> None:
        arm.let_go()
        holder.let_go()

    return Rig(
        device=PairedDevice(arm.device, holder.device),
        press=press,
        seen=lambda reading: arm.seen(reading) and holder.seen(reading),
        let_go=let_go,
        unplug=arm.unplug,
        plug=arm.plug,
    )


RIGS = {
    "keyboard": keyboard,
    "gamepad": gamepad,
    "spacemouse": spacemouse,
    "leader": leader,
    "lerobot": lerobot,
    "paired": paired,
}

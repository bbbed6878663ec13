"""Byte streams of input devices as files in `tests/teleop/streams`: synthetic, as no such device was at hand.

Remake them with `python tests/teleop/streams.py`. An evdev stream is what `read` of /dev/input/eventN gives: 24-byte
records of struct input_event on a 64-bit machine. A HID stream is one report a line, in hexadecimal, of a
SpaceNavigator (046d:c626): report 1 has x, y, z and report 2 the turns, 16 bits each, little-endian; report 3 buttons.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "streams"
EVENT = struct.Struct("qqHHi")
EV_SYN, EV_KEY, EV_ABS = 0, 1, 3
BTN_SOUTH, BTN_TL, ABS_X, ABS_Y, ABS_Z, ABS_RY = 0x130, 0x136, 0, 1, 2, 4
STICK, TRIGGER = (-32768, 32767, 0), (0, 1023, 0)
RANGES = {ABS_X: STICK, ABS_Y: STICK, ABS_Z: TRIGGER, ABS_RY: STICK}
"""Lowest, highest and value at rest of the axes of the gamepad."""

GAMEPAD: tuple[tuple[tuple[int, int, int], ...], ...] = (
    ((EV_KEY, BTN_TL, 1),),
    ((EV_ABS, ABS_Y, -16384), (EV_ABS, ABS_X, 120)),
    ((EV_ABS, ABS_Y, -32768),),
    ((EV_ABS, ABS_Z, 1023),),
    ((EV_KEY, BTN_SOUTH, 1),),
    ((EV_KEY, BTN_SOUTH, 0), (EV_ABS, ABS_Z, 0)),
    ((EV_ABS, ABS_Y, 0),),
    ((EV_KEY, BTN_TL, 0),),
)
"""Left shoulder pressed, stick pushed forward, trigger, a button, all back, shoulder released: a frame a line."""

FULL = 350
"""What an axis of a SpaceMouse says when its cap is moved as far as it goes."""


def axes_report(number: int, *values: int) -> bytes:
    """Returns report 1 (x, y, z) or 2 (turns) of a SpaceMouse."""
    return bytes([number]) + struct.pack("<3h", *values)


def buttons_report(pressed: int) -> bytes:
    """Returns report 3 of a SpaceMouse: a bit for each button."""
    return bytes([3, pressed, 0])


SPACEMOUSE = (
    buttons_report(1),
    axes_report(1, 0, -FULL // 2, 0),
    axes_report(2, 0, 0, 0),
    axes_report(1, 0, -FULL, 0),
    axes_report(1, 0, 0, -FULL),
    axes_report(2, 0, 0, FULL),
    buttons_report(3),
    axes_report(1, 0, 0, 0),
    axes_report(2, 0, 0, 0),
    buttons_report(0),
)
"""Left button, cap pushed away, further, lifted, turned, right button too, all back."""


def event_bytes(frame: Sequence[tuple[int, int, int]], at_us: int) -> bytes:
    """Returns the records of a frame of (type, code, value) and the SYN_REPORT that ends it."""
    stamp = divmod(at_us, 1_000_000)
    return b"".join(EVENT.pack(*stamp, *event) for event in (*frame, (EV_SYN, 0, 0)))


def gamepad_frames() -> list[bytes]:
    """Returns the frames of the gamepad's stream."""
    data, frames, begin = (FOLDER / "gamepad.evdev").read_bytes(), [], 0
    for place in range(0, len(data), EVENT.size):
        if EVENT.unpack_from(data, place)[2] == EV_SYN:
            frames.append(data[begin : place + EVENT.size])
            begin = place + EVENT.size
    return frames


def spacemouse_reports() -> list[bytes]:
    """Returns the reports of the SpaceMouse's stream."""
    return [bytes.fromhex(line) for line in (FOLDER / "spacemouse.hid").read_text().split()]


def main() -> None:
    """Writes the files."""
    FOLDER.mkdir(exist_ok=True)
    frames = [event_bytes(frame, 1_000_000 + 8_000 * k) for k, frame in enumerate(GAMEPAD)]
    (FOLDER / "gamepad.evdev").write_bytes(b"".join(frames))
    (FOLDER / "spacemouse.hid").write_text("".join(f"{report.hex()}\n" for report in SPACEMOUSE))


if __name__ == "__main__":
    main()

"""Keyboard, gamepad, SpaceMouse, leader arm and LeRobot's teleoperators, by bytes and calls as the real ones make."""

from __future__ import annotations

import builtins
import fcntl
import os
import pty
import sys
import termios
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.core.errors import ConfigError, MissingDependencyError
from tendon.teleop.device import DeviceLostError
from tendon.teleop.devices.evdev_device import READS, EvdevDevice
from tendon.teleop.devices.keyboard import BURST, QUIET_S, REPEAT_S, KeyboardDevice
from tendon.teleop.devices.lerobot import LeRobotDevice, make_teleoperator
from tendon.teleop.devices.spacemouse import SpaceMouseDevice
from tendon.teleop.opening import PLUGINS
from tendon.teleop.session import CYCLE_NS
from tests.teleop import streams
from tests.teleop.device_conformance import DeviceConformance
from tests.teleop.rigs import RIGS, Clock, FakeHid, FakeTeleoperator, PipeDevice, Rig, spacemouse_device


class TestDevices(DeviceConformance):
    @pytest.fixture(params=RIGS)
    def rig(self, request: pytest.FixtureRequest) -> Rig:
        return RIGS[request.param]()


def test_every_kind_of_device_is_tried() -> None:
    assert set(PLUGINS) <= set(RIGS)


class Typist:
    """A keyboard on a real pty, and a clock."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.master, self.slave = pty.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.device = KeyboardDevice(self.slave, self.clock)
        self.device.open()

    def type(self, keys: bytes, after_s: float = 0.02) -> frozenset[str]:
        if keys:
            os.write(self.master, keys)
        self.clock.now_s += after_s
        return self.device.read().pressed


@pytest.fixture
def typist() -> Typist:
    return Typist()


def test_a_key_is_down_while_it_repeats_and_a_missing_repeat_is_its_release(typist: Typist) -> None:
    for _ in range(20):
        assert typist.type(b"w", 0.033) == {"w"}
    assert typist.type(b"", REPEAT_S - 0.001) == {"w"}
    assert typist.type(b"", 0.002) == frozenset()
    assert typist.type(b"") == frozenset()
    assert typist.type(b"w") == {"w"}, "the next one is a press"


def looks(phase_s: float, late_s: list[float]) -> list[float]:
    """When the node looks, every 20 ms, each time a little late; counted from a repeat."""
    return [CYCLE_NS * 1e-9 * (k + 1) - phase_s + late_s[k % len(late_s)] for k in range(8)]


@given(phase_s=st.floats(0, 0.0199), late_s=st.lists(st.floats(0, 0.008), min_size=8, max_size=8))
def test_a_release_is_noticed_in_time_and_a_repeat_every_40_ms_is_none(phase_s: float, late_s: list[float]) -> None:
    """By the fourth look after the last repeat: with what the robot's side takes, 50 ms, that is well below 150 ms."""
    typist, begin_s = Typist(), 100.0
    try:
        os.write(typist.master, b"w")
        seen = []
        for look_s in looks(phase_s, late_s):
            typist.clock.now_s = begin_s + look_s
            seen.append((look_s, bool(typist.device.read().pressed)))
        assert not any(pressed for look_s, pressed in seen if look_s > 0.07 + max(late_s))
        assert all(pressed for look_s, pressed in seen if look_s <= 0.04)
    finally:
        typist.device.close()
        os.close(typist.master)
        os.close(typist.slave)


def test_keys_have_names_and_sequences_that_nobody_knows_are_no_keys_of_the_map(typist: Typist) -> None:
    assert typist.type(b"\x1b[A") == {"up"}
    typist.type(b"", 1.0)
    assert typist.type(b" W-") == {"space", "W", "-"}
    typist.type(b"", 1.0)
    assert typist.type(b"\x1b[1;5Cd") == {"unknown", "d"}
    typist.type(b"", 1.0)
    assert typist.type(b"\x1b[27u\xff") == {"unknown"}


def test_a_paste_or_what_a_link_has_queued_up_counts_for_nothing(typist: Typist) -> None:
    """Nor does what follows, until nothing has come for a while: the hand may have let go long ago."""
    typist.type(b"w")
    assert typist.type(b"w" * (BURST + 1)) == frozenset()
    for _ in range(30):
        assert typist.type(b"w", 0.03) == frozenset()
    typist.type(b"", QUIET_S)
    assert typist.type(b"w") == {"w"}


def test_after_ctrl_z_and_fg_keys_come_one_by_one_again(typist: Typist, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shell sets the terminal up for itself meanwhile; in the background it stays so."""
    termios.tcsetattr(typist.slave, termios.TCSANOW, typist.before)
    monkeypatch.setattr(os, "tcgetpgrp", lambda fd: os.getpgrp() + 1)
    assert typist.type(b"w") == frozenset()
    monkeypatch.setattr(os, "tcgetpgrp", lambda fd: os.getpgrp())
    typist.type(b"")
    assert typist.type(b"w") == {"w"}


def test_the_terminal_is_given_back_as_it_was(typist: Typist) -> None:
    assert not termios.tcgetattr(typist.slave)[3] & termios.ICANON
    typist.device.close()
    assert termios.tcgetattr(typist.slave) == typist.before


def test_what_is_no_terminal_is_refused_with_what_to_do() -> None:
    read, _ = os.pipe()
    with pytest.raises(ConfigError, match="`tendon teleop keyboard` in a terminal of its own"):
        KeyboardDevice(read).open()


@given(data=st.binary(max_size=300))
def test_no_bytes_end_the_keyboard(data: bytes) -> None:
    typist = Typist()
    try:
        for k in range(0, len(data), 7):
            typist.type(data[k : k + 7])
    finally:
        typist.device.close()
        os.close(typist.master)
        os.close(typist.slave)


def gamepad_on(read: int) -> EvdevDevice:
    os.set_blocking(read, False)
    device = EvdevDevice("pipe", lambda _: PipeDevice(read))
    device.open()
    return device


def test_a_gamepads_stream_is_read_frame_by_frame() -> None:
    read, write = os.pipe()
    device, seen = gamepad_on(read), []
    for frame in streams.gamepad_frames():
        os.write(write, frame)
        reading = device.read()
        seen.append((round(reading.axes.get("ABS_Y", 0.0), 2), reading.axes.get("ABS_Z"), sorted(reading.pressed)))
    south = ["BTN_A", "BTN_GAMEPAD", "BTN_SOUTH", "BTN_TL"]
    assert seen == [
        (0.0, None, ["BTN_TL"]),
        (-0.5, None, ["BTN_TL"]),
        (-1.0, None, ["BTN_TL"]),
        (-1.0, 1.0, ["BTN_TL"]),
        (-1.0, 1.0, south),
        (-1.0, 0.0, ["BTN_TL"]),
        (0.0, 0.0, ["BTN_TL"]),
        (0.0, 0.0, []),
    ]


def test_a_release_behind_many_events_is_seen_in_the_same_look_and_a_flood_lets_go() -> None:
    """python-evdev gives 64 events at a time; a mouse or a wheel makes hundreds between two looks."""
    read, write = os.pipe()
    device = gamepad_on(read)
    os.write(write, streams.gamepad_frames()[0])
    assert device.read().pressed == {"BTN_TL"}
    moves = streams.event_bytes(((streams.EV_ABS, streams.ABS_Y, 100), (streams.EV_ABS, streams.ABS_Y, 200)), 0)
    os.write(write, 200 * moves + streams.event_bytes(((streams.EV_KEY, streams.BTN_TL, 0),), 0))
    assert device.read().pressed == frozenset()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 1 << 20)
    press = streams.event_bytes(((streams.EV_KEY, streams.BTN_TL, 1),), 0)
    os.write(write, press + (READS * 64 // 2) * moves)
    assert device.read().pressed == frozenset(), "who knows what is still to come"


def test_what_the_kernel_had_to_drop_leaves_nothing_pressed() -> None:
    read, write = os.pipe()
    device = gamepad_on(read)
    os.write(write, streams.gamepad_frames()[0])
    assert device.read().pressed == {"BTN_TL"}
    os.write(write, streams.EVENT.pack(0, 0, streams.EV_SYN, 3, 0))
    assert device.read().pressed == frozenset()


def test_a_spacemouses_stream_is_read_by_pyspacemouse() -> None:
    hid = FakeHid()
    device = SpaceMouseDevice(opener=lambda _: spacemouse_device(hid))
    device.open()
    seen = []
    for report in streams.spacemouse_reports():
        hid.waiting.append(report)
        reading = device.read()
        seen.append((*(round(reading.axes[axis], 2) + 0.0 for axis in ("y", "z", "yaw")), sorted(reading.pressed)))
    assert seen == [
        (0.0, 0.0, 0.0, ["button0"]),
        (0.5, 0.0, 0.0, ["button0"]),
        (0.5, 0.0, 0.0, ["button0"]),
        (1.0, 0.0, 0.0, ["button0"]),
        (0.0, 1.0, 0.0, ["button0"]),
        (0.0, 1.0, -1.0, ["button0"]),
        (0.0, 1.0, -1.0, ["button0", "button1"]),
        (0.0, 0.0, -1.0, ["button0", "button1"]),
        (0.0, 0.0, 0.0, ["button0", "button1"]),
        (0.0, 0.0, 0.0, []),
    ]


def test_the_files_are_those_that_their_script_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {file.name: file.read_bytes() for file in streams.FOLDER.iterdir()}
    monkeypatch.setattr(streams, "FOLDER", tmp_path)
    streams.main()
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == kept


@pytest.mark.parametrize(
    ("module", "make"),
    [("evdev", lambda: EvdevDevice("x").open()), ("pyspacemouse", lambda: SpaceMouseDevice().open())],
)
def test_without_its_library_a_device_names_the_extra(
    module: str, make: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.split(".")[0] == module:
            raise ImportError(f"No module named {module!r}")
        return real(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingDependencyError, match=r"\[teleop\]"):
        make()


def test_a_missing_gamepad_is_lost_and_not_an_error_of_ours() -> None:
    with pytest.raises(DeviceLostError, match="/dev/input/event99"):
        EvdevDevice("/dev/input/event99").open()


def test_a_teleoperator_that_is_no_arm_is_refused() -> None:
    fake = FakeTeleoperator()
    fake.action_features = {"delta_x": float}
    with pytest.raises(ConfigError, match="delta_x: only arms"):
        LeRobotDevice("gamepad", lambda: fake).open()
    fake = FakeTeleoperator()
    fake.action["shoulder_pan.pos"] = float("nan")
    device = LeRobotDevice("so101_leader", lambda: fake)
    device.open()
    with pytest.raises(DeviceLostError, match="must be finite"):
        device.read()


def test_a_teleoperator_is_never_calibrated_by_the_way() -> None:
    """LeRobot's `connect` would ask for it on the terminal of the panel, and write to the motors."""
    fake = FakeTeleoperator()
    fake.is_calibrated = False
    with pytest.raises(ConfigError, match=r"not calibrated.*lerobot-calibrate"):
        LeRobotDevice("so101_leader", lambda: fake).open()


def test_two_arms_in_one_teleoperator_are_refused() -> None:
    """Their grippers are not called `gripper`, and would be read as degrees."""
    fake = FakeTeleoperator()
    fake.action_features = dict.fromkeys(["left_joint_1.pos", "left_gripper.pos"], float)
    with pytest.raises(ConfigError, match=r"left_gripper\.pos: name one arm for each hand"):
        LeRobotDevice("openarm_mini", lambda: fake).open()


@dataclass
class SoLeader:
    """What LeRobot's configuration of an SO leader has."""

    port: str = ""
    use_degrees: bool = False


@dataclass
class KochLeader:
    """And of a Koch leader, which says -100 to 100."""

    port: str = ""


def test_an_arm_that_may_not_say_degrees_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in of LeRobot: the real one is not installed here."""
    for name in ("lerobot", "lerobot.teleoperators", "lerobot.teleoperators.config", "lerobot.teleoperators.utils"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    kinds = {"so101_leader": SoLeader, "koch_leader": KochLeader}
    config = SimpleNamespace(get_known_choices=lambda: kinds)
    monkeypatch.setattr(sys.modules["lerobot.teleoperators.config"], "TeleoperatorConfig", config, raising=False)
    made = sys.modules["lerobot.teleoperators.utils"]
    monkeypatch.setattr(made, "make_teleoperator_from_config", lambda config: config, raising=False)
    file = tmp_path / "leader.yaml"
    file.write_text("type: so101_leader\nport: /dev/ttyACM0\n")
    assert make_teleoperator(file) == SoLeader(port="/dev/ttyACM0", use_degrees=True)
    file.write_text("type: so101_leader\nuse_degrees: false\n")
    with pytest.raises(ConfigError, match="use_degrees is False: leave it out"):
        make_teleoperator(file)
    file.write_text("type: koch_leader\nport: /dev/ttyACM0\n")
    with pytest.raises(ConfigError, match=r"koch_leader has no `use_degrees`.*one of so101_leader"):
        make_teleoperator(file)


def test_a_file_of_a_teleoperator_has_to_be_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no file"):
        make_teleoperator(tmp_path / "none.yaml")
    (tmp_path / "bad.yaml").write_text("- 3\n")
    with pytest.raises(ConfigError, match="`type`"):
        make_teleoperator(tmp_path / "bad.yaml")

"""What every device must do, whatever it is."""

from __future__ import annotations

import time

import pytest

from tendon.teleop.device import DeviceLostError
from tests.teleop.rigs import Rig

PATIENCE_S = 2.0


class DeviceConformance:
    """A test class of a device has a fixture `rig`."""

    def read(self, rig: Rig) -> object:
        """Reads; a device that has said nothing yet may be lost."""
        try:
            return rig.device.read()
        except DeviceLostError:
            return None

    def until_seen(self, rig: Rig, wanted: bool) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            reading = self.read(rig)
            if reading is not None and rig.seen(reading) is wanted:
                return
            assert time.monotonic() < deadline, f"read {reading}"

    def test_what_is_done_is_read_and_what_is_undone_too(self, rig: Rig) -> None:
        rig.device.open()
        for _ in range(3):
            rig.press()
            self.until_seen(rig, True)
            rig.let_go()
            self.until_seen(rig, False)

    def test_it_reads_nothing_before_it_is_open_and_after_it_is_closed(self, rig: Rig) -> None:
        assert rig.device.name
        with pytest.raises(DeviceLostError):
            rig.device.read()
        rig.device.open()
        rig.device.close()
        rig.device.close()
        with pytest.raises(DeviceLostError):
            rig.device.read()

    def test_reading_does_not_wait(self, rig: Rig) -> None:
        rig.device.open()
        rig.press()
        before = time.thread_time()
        for _ in range(50):
            self.read(rig)
        assert time.thread_time() - before < 1.0

    def test_unplugged_it_says_so_until_it_is_opened_again_and_then_nothing_is_held(self, rig: Rig) -> None:
        rig.device.open()
        rig.press()
        self.until_seen(rig, True)
        rig.unplug()
        for _ in range(3):
            with pytest.raises(DeviceLostError, match=r"."):
                rig.device.read()
        if rig.plug is not None:
            rig.plug()
            rig.device.open()
            reading = self.read(rig)
            assert reading is None or not rig.seen(reading)

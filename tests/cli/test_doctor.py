"""`tendon doctor` says what each extra brings, draws a picture in each simulator, and goes on when one cannot."""

from __future__ import annotations

import errno
import os
import socket

import pytest

from tendon.commands import doctor
from tendon.core.distribution import pip_install
from tendon.core.errors import MissingDependencyError
from tendon.sim import frame_time
from tendon.sim.simulators import SIMULATORS


@pytest.mark.parametrize("extra", ["sim", "mujoco", "data", "view", "remote", "teleop", "train", "openvino", "gpu"])
def test_what_an_extra_brings_has_a_line_that_says_how_to_get_it(extra: str) -> None:
    assert any(advice == pip_install(extra) for _, _, _, advice, _ in doctor.PACKAGES)


def test_it_times_a_picture_and_a_step_of_each_simulator() -> None:
    found = {finding.what: finding for finding in doctor._simulators()}
    assert set(found) == {f"{name}: a picture" for name in SIMULATORS.values()}
    for finding in found.values():
        assert finding.verdict == "ok" and "640x480 in" in finding.found and "a step of physics in" in finding.found


def test_what_a_simulator_lacks_is_said_with_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_graphics(*_: object) -> None:
        raise MissingDependencyError("MuJoCo draws by EGL, which is not installed here: apt install libegl1")

    monkeypatch.setattr(frame_time, "time_frame", without_graphics)
    for finding in doctor._simulators():
        assert finding.verdict == "absent" and "apt install libegl1" in finding.advice


def test_a_loopback_network_that_is_down_is_what_no_graph_can_do_without(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "loopback network" not in {finding.what for finding in doctor._machine()}

    def unreachable(*_: object) -> None:
        raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))

    monkeypatch.setattr(socket, "socket", unreachable)
    found = {finding.what: finding for finding in doctor._machine()}["loopback network"]
    assert found.required and not found.found and "ip link set lo up" in found.advice


def test_shared_memory_that_cannot_be_written_is_not_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.os, "access", lambda *_: False)
    found = {finding.what: finding for finding in doctor._machine()}
    assert "read-only" in found["/dev/shm"].found and found["/dev/shm"].verdict != "ok"

"""A robot side that hears nothing any more: it takes no commands, and leads the robot off what it presses on."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest

from tendon.core.clock import ManualClock
from tendon.core.modes import PermissionState
from tendon.core.permission import Permission
from tendon.core.types import Observation
from tendon.robots.easing import Easing
from tendon.robots.permission_gate import PermissionGate
from tendon.robots.profile import load_profile
from tendon.ros2_nodes.stand_ins.stand_in import StandIn

MS = 1_000_000


def test_where_control_node_and_monitor_die_together_the_robot_side_lets_go() -> None:
    """No command came any more, and so nobody looked at the age of the permission: it was pressed on for ever."""
    clock, eased = ManualClock(10**12), list[int]()
    gate = PermissionGate(clock.now_ns, load_profile("panda").safety, clock.now_ns)
    for state, event in ((PermissionState.STANDBY, 1), (PermissionState.ARMED, 2)):
        gate.receive(Permission(state=state, event=event, reason=""))
    easing = SimpleNamespace(begin=lambda: None, over=False)
    side = SimpleNamespace(
        _awake=clock, take_messages=lambda: None, _commands=deque(), _gate=gate, _easing=easing, _ease=eased.append
    )
    for _ in range(20):
        clock.advance_ns(10 * MS)
        StandIn.obey(side, clock.now_ns())  # type: ignore[arg-type]
    assert eased and eased[0] - 10**12 <= 110 * MS, "a permission counts for 100 ms"


@pytest.mark.parametrize("pressed", [0.0, 0.05])
def test_what_it_was_led_off_ends_the_motion_and_a_pc_that_stood_still_does_not(pressed: float) -> None:
    profile = load_profile("panda")
    home, clock, sent = profile.vector("home"), ManualClock(10**12), list[str]()
    gate = PermissionGate(clock.now_ns, profile.safety, clock.now_ns)
    for state, event in ((PermissionState.STANDBY, 1), (PermissionState.ARMED, 2)):
        gate.receive(Permission(state=state, event=event, reason=""))
    position = home + pressed * (np.arange(8) == 1)
    seen = Observation(stamp_ns=1, joint_position=position, joint_velocity=np.zeros(8))
    easing = Easing(profile)
    side = SimpleNamespace(
        profile=profile,
        _gate=gate,
        _easing=easing,
        _trajectories=[(profile.controllers[0], lambda name, way, now_ns: sent.append(name))],
        commanded=lambda now_ns: (home, np.zeros(8)),
        measured=lambda now_ns: seen,
    )
    easing.begin()
    clock.advance_ns(250 * MS)
    StandIn._ease(side, clock.now_ns())  # type: ignore[arg-type]
    gate.receive(Permission(state=PermissionState.ARMED, event=2, reason=""))
    assert bool(sent) == bool(pressed) and gate.takes() == (not pressed)

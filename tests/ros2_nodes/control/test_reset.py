"""A reset that the monitor permits, in a control node that hears of the same things a little later."""

from __future__ import annotations

from pathlib import Path

import pytest

from tendon.core.causes import Cause
from tendon.core.modes import Mode, PermissionState
from tendon.core.permission import Permission
from tendon.graph import topics
from tendon.ros2_nodes import wire
from tests.poison import messages
from tests.poison.cases import running
from tests.poison.subjects import ControlSubject


def ticks(control: ControlSubject, count: int, state: PermissionState, event: int, joints: bool) -> None:
    """Lets time pass under a permission, with joint states or without."""
    for _ in range(count):
        control.hand.pass_ns(control.node._period_ns)
        now_ns = control.now_ns()
        if joints:
            at = control.profile.vector("home") if control.node._tick is None else control.node._tick.reference
            control.give(topics.JOINT_STATES, messages.joint_state(control.profile, now_ns, at))
        latched = state is PermissionState.LATCHED
        cause = Cause.CONTROLLER if latched else None
        said = Permission(state=state, event=event, reason="the controller stopped" if latched else "", cause=cause)
        control.give(wire.PERMISSION.name, wire.PERMISSION.encode(said, now_ns))
        control.node._step(now_ns, 0)


@pytest.mark.parametrize(("late", "after"), [(5, Mode.STANDBY), (40, Mode.LATCHED)])
def test_joint_states_may_come_back_here_a_little_later(tmp_path: Path, late: int, after: Mode) -> None:
    """The monitor had them, reset, and the robot stayed latched for want of one that was on its way."""
    with running("control_node", tmp_path) as control:
        assert isinstance(control, ControlSubject) and control.works() == ""
        ticks(control, 20, PermissionState.ARMED, control._event, joints=False)
        ticks(control, 80, PermissionState.LATCHED, control.now_ns(), joints=False)
        assert control.node._controller.mode is Mode.LATCHED
        reset = control.now_ns()
        ticks(control, late, PermissionState.STANDBY, reset, joints=False)
        assert control.node._controller.mode is Mode.LATCHED
        assert (control.node._event == reset) is (after is Mode.LATCHED), "no answer while it may still come to it"
        ticks(control, 20, PermissionState.STANDBY, reset, joints=True)
        assert control.node._controller.mode is after
        assert ("refused while its cause is there" in control.node._refusal) is (after is Mode.LATCHED)
        again = control.now_ns()
        ticks(control, 5, PermissionState.STANDBY, again, joints=True)
        assert control.node._controller.mode is Mode.STANDBY, "asked again"

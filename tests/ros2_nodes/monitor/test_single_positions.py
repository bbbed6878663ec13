"""A controller that takes single positions: the monitor holds each against where the robot is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from std_msgs.msg import Float64MultiArray

from tendon.core.causes import Cause
from tendon.core.modes import PermissionState
from tendon.graph import topics
from tendon.safety.tracking_watch import PositionTracking
from tests.poison.cases import running


def test_a_position_far_from_where_the_robot_is_stops_it(tmp_path: Path) -> None:
    """Inside its limits, and once that was all that was looked at."""
    with running("safety_monitor: positions", tmp_path) as monitor:
        node, profile = monitor.node, monitor.profile
        hand = profile.controllers[-1]
        assert hand.type == "forward_command" and monitor.works() == ""
        followed = replace(profile.joints[-1], tracking_tolerance=0.002)
        watch = PositionTracking(replace(profile, joints=(*profile.joints[:-1], followed)), hand)
        node._inputs._positions[hand.name] = watch
        monitor.work()
        assert node._permission.state is PermissionState.ARMED
        monitor.give(topics.commands(hand), Float64MultiArray(data=[profile.joints[-1].home - 0.03]))
        monitor.work()
        permission = node._permission
        assert permission.state is PermissionState.LATCHED and permission.cause is Cause.TRACKING
        assert "is commanded 0.030 from where it is" in permission.reason

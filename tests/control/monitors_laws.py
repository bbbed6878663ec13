"""The monitor's laws over all joints of the test's robot at once, for what its controller commands."""

from __future__ import annotations

from dataclasses import replace

from tendon.core.types import Command, Observation, SentTrajectory
from tendon.safety.laws import Breach, CommandLaws, Delivery
from tendon.safety.monitor import position_slack
from tests.control.limits_checker import PROFILE


def every_law() -> CommandLaws:
    """Returns them for a monitor that has heard nothing yet."""
    return CommandLaws(PROFILE, replace(PROFILE.controllers[0], joints=PROFILE.joint_names), position_slack(PROFILE))


def breach_of(laws: CommandLaws, command: Command, seen: Observation, lost: bool = False) -> Breach | None:
    """Returns the law that a command breaks for a monitor that has `seen` the robot, and may have `lost` others."""
    sent = SentTrajectory(
        stamp_ns=command.stamp_ns,
        joint_names=PROFILE.joint_names,
        times_ns=command.trajectory.time_from_start_ns,
        position=command.trajectory.position,
        velocity=command.trajectory.velocity,
    )
    return laws.check(sent, Delivery(lost=lost, measured=seen.joint_position, measured_ns=seen.stamp_ns))

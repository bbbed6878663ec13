"""The tools of a robot, as a residual moves them: where they are, and the joints that lead them elsewhere."""

from __future__ import annotations

import numpy as np

from tendon.control.residual.space import TOOL_ACTIONS, ResidualSpace
from tendon.core.types import Array
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile


def joint_bound(profile: RobotProfile, space: ResidualSpace) -> Array:
    """Returns (n,) the bound of each joint that a residual of this space is held to [rad or m]."""
    bound = np.full(len(profile.joint_names), space.arm_bound)
    for each in profile.grippers:
        bound[profile.joint_names.index(each.joint)] = space.grip_share * abs(each.open - each.closed)
    return bound


class Tools:
    """One entry a gripper; a robot without one has the tool of its arm. Not thread-safe.

    Args:
        profile: the robot, of n joints.

    Attributes:
        count: how many tools there are.
    """

    def __init__(self, profile: RobotProfile) -> None:
        self._grippers = profile.grippers
        places = [(each.frame, each.group) for each in profile.grippers] or [("", "arm")]
        self._tools = [Kinematics(profile, frame, group) for frame, group in places]
        self._fingers = [profile.joint_names.index(each.joint) for each in profile.grippers]
        self.count = len(self._tools)

    def positions(self, joint_position: Array) -> Array:
        """Returns (tools, 3) where the tools are [m, base frame]."""
        return np.array([tool.tool_pose(joint_position)[0] for tool in self._tools])

    def velocities(self, joint_position: Array, joint_velocity: Array) -> Array:
        """Returns (tools, 3) how fast they are [m/s]."""
        return np.array([tool.tool_velocity(joint_position, joint_velocity) for tool in self._tools])

    def openings(self, joint_position: Array) -> Array:
        """Returns (tools,) how far the grippers are open, 0 to 1; without a gripper 0."""
        if not self._grippers:
            return np.zeros(self.count)
        travel = [(joint_position[k], each) for k, each in zip(self._fingers, self._grippers, strict=True)]
        return np.array([(at - each.closed) / (each.open - each.closed) for at, each in travel])

    def change(self, joint_position: Array, action: Array, space: ResidualSpace) -> Array:
        """Returns (n,) the change of joints [rad or m] that an action of a residual asks for, to first order.

        Args:
            joint_position: (n,) where it begins.
            action: (A,) each -1 to 1.
            space: says how far that is.
        """
        change = np.zeros_like(joint_position)
        wanted = action.reshape(self.count, TOOL_ACTIONS)
        for tool, (x, y, z, _) in zip(self._tools, wanted, strict=True):
            change += tool.joint_change(joint_position, space.tool_m * np.array([x, y, z]))
        for k, each, opens in zip(self._fingers, self._grippers, wanted[:, 3], strict=False):
            change[k] += space.grip_share * (each.open - each.closed) * opens
        return change

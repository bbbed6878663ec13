"""The expert as a pilot: from the state of a world to the joint row that is due one policy step later."""

from __future__ import annotations

import numpy as np

from tendon.core.errors import KinematicsError
from tendon.core.types import Array
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile
from tendon.sim.panda import TOOL_DOWN
from tendon.sim.tabletop.expert.decide import observe_state
from tendon.sim.tabletop.expert.rollout import rollout
from tendon.sim.tabletop.world import World

STEP_S = 0.1


class ExpertPilot:
    """Drives a world as the scripted expert would. One instance a thread.

    Args:
        profile: the robot.
    """

    def __init__(self, profile: RobotProfile) -> None:
        self._kinematics = Kinematics(profile)
        self._low = np.add(profile.workspace.lower, (0.12, 0.1, 0.0))
        self._high = np.subtract(profile.workspace.upper, (0.05, 0.1, 0.3))

    def row(self, world: World, last: Array) -> Array:
        """Returns the (n,) joint target due `STEP_S` from now.

        Args:
            world: as it is now; its scene says what the task is.
            last: (n,) joint target before this one.
        """
        joints, velocities = world.joint_state()
        tool, _ = self._kinematics.tool_pose(joints)
        state = observe_state(world, tool, self._kinematics.tool_velocity(joints, velocities))
        action = rollout(world.scene, state, world.scene.task, 1, STEP_S).actions[0]
        return self.aim(action[:3], float(action[3]), last)

    def aim(self, tool: Array, finger: float, last: Array) -> Array:
        """Returns the (n,) joint target with the tool at a place, pointing down.

        Args:
            tool: (3,) [m, base frame]; drawn into the workspace.
            finger: finger position [m].
            last: (n,) where the search starts, and the answer for the arm where there is no solution.
        """
        try:
            joints = self._kinematics.inverse(np.clip(tool, self._low, self._high), TOOL_DOWN, last)
        except KinematicsError:
            joints = np.array(last)
        joints[-1] = finger
        return joints

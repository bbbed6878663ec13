"""The expert as a pilot: from the state of a world to the joint row that is due one policy step later."""

from __future__ import annotations

import numpy as np

from tendon.core.errors import KinematicsError
from tendon.core.types import Array
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile
from tendon.sim.demonstrations import STEP_S
from tendon.sim.tabletop.expert.decide import observe_state
from tendon.sim.tabletop.expert.rollout import rollout
from tendon.sim.tabletop.layout import layout_of
from tendon.sim.tabletop.world import World


class ExpertPilot:
    """Drives a world as the scripted expert would. One instance a thread.

    Args:
        profile: the robot.
    """

    def __init__(self, profile: RobotProfile) -> None:
        self._gripper = profile.grippers[0]
        self._finger = profile.joint_names.index(self._gripper.joint)
        self._kinematics = Kinematics(profile, self._gripper.frame, self._gripper.group)
        self._layout = layout_of(profile)

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
            finger: half the distance between the fingers [m].
            last: (n,) where the search starts, and the answer for the arm where there is no solution.
        """
        try:
            place = np.clip(tool, self._layout.reach_lower, self._layout.reach_upper)
            joints = self._kinematics.inverse_down(place, last)
        except KinematicsError:
            joints = np.array(last)
        joints[self._finger] = self._gripper.position(finger)
        return joints

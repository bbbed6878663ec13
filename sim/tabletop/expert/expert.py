"""The scripted expert as the suite's `Expert`: from the state of a world to a plan in joint space."""

from __future__ import annotations

import numpy as np

from tendon.core.types import Array, Observation
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile
from tendon.sim.tabletop.expert.decide import ExpertState, to_vector
from tendon.sim.tabletop.expert.pilot import ExpertPilot
from tendon.sim.tabletop.expert.rollout import rollout
from tendon.sim.tabletop.scene import Scene
from tendon.sim.tabletop.world import table_of
from tendon.sim.world_state import WorldState


class TabletopExpert:
    """Plans with the first gripper of a robot. One instance a thread.

    Args:
        profile: the robot.
    """

    def __init__(self, profile: RobotProfile) -> None:
        gripper = profile.grippers[0]
        self._pilot, self._half_width = ExpertPilot(profile), gripper.half_width
        self._kinematics = Kinematics(profile, gripper.frame, gripper.group)
        self._finger = profile.joint_names.index(gripper.joint)

    def plan(self, scene: Scene, state: WorldState, joints: Observation, rows: int, step_s: float) -> Array:
        """See `tendon.sim.suite.Expert`."""
        position = joints.joint_position
        tool, _ = self._kinematics.tool_pose(position)
        places, opening, held = table_of(scene, state)
        seen = ExpertState(
            tool=to_vector(tool),
            velocity=to_vector(self._kinematics.tool_velocity(position, joints.joint_velocity)),
            finger=self._half_width(float(position[self._finger])),
            items={i: to_vector(place) for i, place in places.items()},
            held=held,
            opening=opening,
        )
        planned, last = np.empty((rows, len(position))), position
        for row, action in enumerate(rollout(scene, seen, scene.task, rows, step_s).actions):
            planned[row] = last = self._pilot.aim(action[:3], float(action[3]), last)
        return planned

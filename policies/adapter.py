"""Between the policy's words (tool position, finger) and the robot's (joints). One instance a thread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tendon.core.errors import KinematicsError
from tendon.core.kinematics import Kinematics
from tendon.core.profile import RobotProfile
from tendon.core.types import Array
from tendon.policies.manifest import Manifest

TOOL_DOWN: Array = np.diag([1.0, -1.0, -1.0])
TOOL_DOWN.setflags(write=False)


@dataclass(frozen=True)
class JointRows:
    """Joint rows of an answer, and what had to be changed to make them.

    Attributes:
        actions: (rows, n) rad or m.
        clamped: rows whose tool target was outside the workspace and was moved to its border.
        held: rows whose target stayed out of reach: the arm holds the last reachable row.
    """

    actions: Array
    clamped: tuple[int, ...]
    held: tuple[int, ...]


class ToolAdapter:
    """Turns joints to the policy's state and actions, and its answer back to joints.

    Args:
        manifest: of the policy; `check_profile` must have passed.
        profile: the robot.
    """

    def __init__(self, manifest: Manifest, profile: RobotProfile) -> None:
        self._kinematics = Kinematics(profile)
        self._items = tuple(item.name for item in manifest.state)
        self._finger = profile.group_indices("gripper")[0]
        joint = profile.joints[self._finger]
        self._finger_limits = (joint.lower, joint.upper)
        self._workspace = (np.array(profile.workspace.lower), np.array(profile.workspace.upper))

    def tool_position(self, joint_position: Array) -> Array:
        """Returns (3,) [m] in the base frame."""
        return self._kinematics.tool_pose(joint_position)[0]

    def state(self, joint_position: Array, joint_velocity: Array) -> Array:
        """Returns the state vector in the manifest's order and units, not normalised."""
        parts = {
            "tool_position": lambda: self.tool_position(joint_position),
            "tool_velocity": lambda: self._kinematics.tool_velocity(joint_position, joint_velocity),
            "finger_position": lambda: joint_position[self._finger : self._finger + 1],
        }
        return np.concatenate([parts[name]() for name in self._items])

    def to_components(self, joint_rows: Array, origin: Array) -> Array:
        """Returns (rows, 4) of (tool position - origin, finger position) [m] for (rows, n) joint positions."""
        components = np.empty((len(joint_rows), 4))
        for k, joints in enumerate(joint_rows):
            components[k, :3] = self.tool_position(joints) - origin
            components[k, 3] = joints[self._finger]
        return components

    def to_joints(self, components: Array, origin: Array, seed: Array) -> JointRows:
        """Returns joint rows for (rows, 4) components, each row solved from the one before, the first from `seed`.

        A tool target outside the profile's workspace, such as one below the table, is moved to its border. Where
        the arm cannot reach it, it holds the last reachable row (`seed` before the first); the finger still moves.
        """
        actions = np.empty((len(components), len(seed)))
        clamped, held = [], []
        last = np.array(seed)
        for k, row in enumerate(components):
            wanted = origin + row[:3]
            target = np.clip(wanted, *self._workspace)
            if (target != wanted).any():
                clamped.append(k)
            try:
                last = self._kinematics.inverse(target, TOOL_DOWN, last)
            except KinematicsError:
                held.append(k)
            last[self._finger] = np.clip(row[3], *self._finger_limits)
            actions[k] = last
        return JointRows(actions, tuple(clamped), tuple(held))

"""Rows of an answer that say where the tool should be, solved into joints by inverse kinematics."""

from __future__ import annotations

import numpy as np

from tendon.core.errors import KinematicsError, MismatchError
from tendon.core.types import Array
from tendon.policies.adapter.joint_rows import HeldJoints, JointPart, JointRows
from tendon.policies.adapter.state_vector import finger_component, tool_kinematics
from tendon.policies.spec.rotations import ROTATIONS
from tendon.policies.spec.spaces import ActionSpace
from tendon.robots.profile import RobotProfile
from tendon.robots.tool import TOOL_DOWN

Pose = tuple[Array, Array]
"""Position (3,) [m] and rotation (3, 3), in the base frame."""


class ToolAdapter:
    """Translates spaces `tool_position` and `tool_pose`. One instance a thread.

    Each row is solved from the one before, the first from `seed`. A target outside the profile's workspace, such as one
    below the table, is moved to its border. Where the arm cannot reach it, it holds the last reachable row (`seed`
    before the first); the fingers still move.

    Args:
        where: what error messages call the policy.
        action: the space.
        profile: the robot.

    Raises:
        MismatchError: the robot has no arm, not the fingers the policy moves, or joints that nothing is said about.
    """

    def __init__(self, where: str, action: ActionSpace, profile: RobotProfile) -> None:
        self._kinematics = tool_kinematics(where, profile)
        fingers = action.joints
        if action.space == "tool_position":
            fingers = (finger_component(where, profile),)
        self._action = action
        self._fingers = JointPart(f"{where} action joints", fingers, action, profile)
        twice = sorted(set(profile.groups["arm"]) & set(self._fingers.names))
        if twice:
            raise MismatchError(
                f"{where} action: {', '.join(twice)} is commanded by the tool's pose and by itself: take it out of "
                "action joints"
            )
        self._held = HeldJoints(f"{where} action", (*profile.groups["arm"], *self._fingers.names), action.held, profile)
        self._lower, self._upper = np.array(profile.workspace.lower), np.array(profile.workspace.upper)
        self._representation = ROTATIONS.get(action.rotation)
        self._size = len(action.components) - len(fingers)
        self._centre = np.array(action.mean[3 : self._size]) * action.rotation_scale

    def to_components(self, joint_rows: Array, origin: Array) -> Array:
        """See `Adapter`."""
        components = np.empty((len(joint_rows), len(self._action.components)))
        before = self._kinematics.tool_pose(origin)
        for k, joints in enumerate(joint_rows):
            pose = self._kinematics.tool_pose(joints)
            components[k, : self._size] = self._write(pose, before)
            if self._action.relative_to == "previous":
                before = pose
        components[:, self._size :] = self._fingers.to_components(joint_rows, origin)
        return components

    def to_joints(self, components: Array, origin: Array, seed: Array, stamp_ns: int = 0) -> JointRows:
        """See `Adapter`."""
        last = self._held.apply(seed, stamp_ns)
        chained = self._action.relative_to == "previous"
        before = self._kinematics.tool_pose(last if chained else origin)
        actions = np.empty((len(components), len(last)))
        clamped, held = [], []
        ahead = None
        for k, row in enumerate(components):
            wanted, rotation = self._read(row, before)
            position = np.minimum(np.maximum(wanted, self._lower), self._upper)
            if (position != wanted).any():
                clamped.append(k)
            try:
                solved = self._kinematics.inverse(
                    position, rotation, last, ahead=ahead, rotation_tolerance=self._action.rotation_tolerance
                )
            except KinematicsError:
                held.append(k)
                ahead = None
                if chained:
                    before = self._kinematics.tool_pose(last)
            else:
                ahead, last = solved - last, solved
                if chained:
                    before = position, rotation
            actions[k] = last
        actions[:, self._fingers.index] = self._fingers.to_joints(components[:, self._size :], origin, seed)[0]
        return JointRows(actions, tuple(clamped), tuple(held))

    def targets(self, components: Array, origin: Array) -> Array:
        """See `Adapter`."""
        before = self._kinematics.tool_pose(origin)
        positions = components[:, :3] * self._action.position_scale
        if self._action.relative_to == "observation":
            positions = before[0] + (positions if self._action.frame == "base" else positions @ before[1].T)
        elif self._action.relative_to == "previous":
            for k, row in enumerate(components):
                before = self._read(row, before)
                positions[k] = before[0]
        fingers = self._fingers.targets(components[:, self._size :], origin, origin)
        return np.concatenate([positions, fingers], axis=1)

    def _read(self, row: Array, before: Pose) -> Pose:
        """Returns the pose that a row asks for, given the one that it is relative to."""
        position = row[:3] * self._action.position_scale
        if self._representation is None:
            return before[0] + position, TOOL_DOWN
        rotation = self._representation.to_matrix(row[3 : self._size] * self._action.rotation_scale)
        if self._action.relative_to == "nothing":
            return position, rotation
        if self._action.frame == "base":
            return before[0] + position, rotation @ before[1]
        return before[0] + before[1] @ position, before[1] @ rotation

    def _write(self, pose: Pose, before: Pose) -> Array:
        """Returns the numbers that `_read` makes `pose` of."""
        position, rotation = pose
        if self._action.relative_to != "nothing":
            position = position - before[0]
            rotation = rotation @ before[1].T if self._action.frame == "base" else before[1].T @ rotation
            if self._action.frame == "tool":
                position = before[1].T @ position
        position = position / self._action.position_scale
        if self._representation is None:
            return position
        numbers = self._representation.from_matrix(rotation, self._centre) / self._action.rotation_scale
        return np.concatenate([position, numbers])

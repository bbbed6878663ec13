"""Rows of an answer that are about joints: absolute, relative, or speeds; and the joints that a policy leaves alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tendon.core.errors import MismatchError
from tendon.core.types import Array
from tendon.policies.adapter.conventions import JointConvention, gripper_joints, known_joint
from tendon.policies.spec.components import JointComponent
from tendon.policies.spec.spaces import ActionSpace
from tendon.robots.profile import RobotProfile

RANGE_SHARE = 0.1
"""A held joint without tracking tolerance may be found this share of its range away before it is held there."""


@dataclass(frozen=True)
class JointRows:
    """Joint rows of an answer, and what had to be changed to make them.

    Attributes:
        actions: (rows, n) rad or m, inside the joints' limits.
        clamped: rows whose target was outside the workspace, or had a joint outside its limits (grippers aside, which
            close on what they hold), and was moved to the border.
        held: rows whose tool target stayed out of reach: the arm holds the last reachable row.
    """

    actions: Array
    clamped: tuple[int, ...]
    held: tuple[int, ...]


PAUSE_NS = 10_000_000_000
"""A policy that was not asked for so long knows no more where joints that it leaves alone were to stay."""


class HeldJoints:
    """Keeps the joints that a policy does not command where they were first seen, not where they sag to by and by.

    A joint found further away than its tracking tolerance was moved by something else, and is held there from then on.

    Args:
        where: what error messages call the policy.
        commanded: joints the policy commands.
        held: joints it does not.
        profile: the robot.

    Raises:
        MismatchError: a joint is unknown, in both lists, or in none.
    """

    def __init__(self, where: str, commanded: Sequence[str], held: Sequence[str], profile: RobotProfile) -> None:
        for name in held:
            known_joint(f"{where}: held", name, profile)
        both = sorted(set(commanded) & set(held))
        if both:
            raise MismatchError(f"{where}: {', '.join(both)} is commanded and held: take it out of held")
        missing = [name for name in profile.joint_names if name not in (*commanded, *held)]
        if missing:
            raise MismatchError(
                f"{where}: nothing is said about {', '.join(missing)} of profile {profile.name}: add it to the joints "
                "that the policy commands, or to held if it is to stay where it is"
            )
        self._lower, self._upper = profile.vector("lower"), profile.vector("upper")
        self._index = np.array([profile.joint_names.index(name) for name in held], dtype=np.intp)
        joints = [profile.joints[i] for i in self._index]
        self._tolerance = np.array(
            [
                RANGE_SHARE * (joint.upper - joint.lower)
                if joint.tracking_tolerance is None
                else joint.tracking_tolerance
                for joint in joints
            ]
        )
        self._position, self._asked_ns = np.full(len(joints), np.inf), 0

    def apply(self, seed: Array, stamp_ns: int) -> Array:
        """Returns a joint vector (n,) inside the limits, the held joints where they are to stay.

        Args:
            seed: (n,) where the robot is.
            stamp_ns: when it was seen there. After a pause, as that after a warm-up, joints stay where they are found.
        """
        if not 0 <= stamp_ns - self._asked_ns <= PAUSE_NS:
            self._position = np.full(len(self._index), np.inf)
        self._asked_ns = stamp_ns
        joints = np.minimum(np.maximum(seed, self._lower), self._upper)  # measured ones can be a little outside
        if len(self._index):
            found = joints[self._index]
            near = np.abs(found - self._position) <= self._tolerance
            self._position = np.where(near, self._position, found)
            joints[self._index] = self._position
        return joints


class JointPart:
    """The components of a row that are about joints, one column each.

    Args:
        where: what error messages call the list.
        components: in the policy's order.
        action: the space they are in.
        profile: the robot.

    Attributes:
        index: (m,) the joints they command.

    Raises:
        MismatchError: see `JointConvention`.
    """

    def __init__(
        self, where: str, components: Sequence[JointComponent], action: ActionSpace, profile: RobotProfile
    ) -> None:
        convention = JointConvention(where, components, profile)
        relative_to = action.relative_to if action.space == "joint_position" else "nothing"
        absolute = np.array([joint.absolute for joint in components], dtype=bool) | (relative_to == "nothing")
        relative = ~absolute & ~convention.velocity
        self._from_observation = relative & (relative_to == "observation")
        self._from_previous = convention.velocity | (relative & (relative_to == "previous"))
        self._real = np.flatnonzero(~convention.constant)
        self._all, self._value = convention.index, convention.value
        self._slope = np.where(convention.velocity, action.step_s, 1.0) * convention.slope
        self._offset = np.where(self._from_observation | self._from_previous, 0.0, convention.offset)
        self.index = convention.index[self._real]
        self.names = tuple(profile.joint_names[i] for i in self.index)
        self._lower, self._upper = profile.vector("lower")[self.index], profile.vector("upper")[self.index]
        self._free = np.array([name in gripper_joints(profile) for name in self.names], dtype=bool)

    def to_components(self, joint_rows: Array, origin: Array) -> Array:
        """Returns the (k, C) numbers of (k, n) joint rows that follow the observed joints `origin` (n,)."""
        rows = joint_rows[:, self._all]
        before = np.concatenate([origin[None, self._all], rows[:-1]]) if len(rows) else rows
        base = self._offset + origin[self._all] * self._from_observation + before * self._from_previous
        numbers = (rows - base) / self._slope
        spare = np.setdiff1d(np.arange(len(self._all)), self._real)
        numbers[:, spare] = self._value[spare]
        return numbers

    def targets(self, components: Array, origin: Array, previous: Array) -> Array:
        """Returns (rows, m) joint positions that rows (rows, C) ask for, inside the limits or not.

        Args:
            components: of the policy.
            origin: (n,) the observed joints.
            previous: (n,) the row before the first.
        """
        numbers = components[:, self._real] * self._slope[self._real]
        chained = self._from_previous[self._real]
        if chained.any():
            numbers[:, chained] = np.cumsum(numbers[:, chained], axis=0)
        return (
            numbers
            + self._offset[self._real]
            + origin[self.index] * self._from_observation[self._real]
            + previous[self.index] * chained
        )

    def to_joints(self, components: Array, origin: Array, previous: Array) -> tuple[Array, tuple[int, ...]]:
        """Returns the same inside the limits (rows, m), and the rows that were not.

        Where one row follows another, the next one goes on from the limit.
        """
        wanted = self.targets(components, origin, previous)
        rows = np.minimum(np.maximum(wanted, self._lower), self._upper)
        outside = rows != wanted
        chained = self._from_previous[self._real]
        if (outside & chained).any():
            steps = np.diff(wanted, axis=0, prepend=previous[None, self.index])
            last = previous[self.index]
            for k, step in enumerate(steps):
                last = np.clip(last + step, self._lower, self._upper)
                rows[k, chained] = last[chained]
        return rows, tuple(np.flatnonzero((outside & ~self._free).any(axis=1)).tolist())


class JointAdapter:
    """Translates spaces `joint_position` and `joint_velocity`. One instance a thread.

    Args:
        where: what error messages call the policy.
        action: the space.
        profile: the robot.

    Raises:
        MismatchError: see `JointConvention` and `HeldJoints`.
    """

    def __init__(self, where: str, action: ActionSpace, profile: RobotProfile) -> None:
        self._part = JointPart(f"{where} action joints", action.joints, action, profile)
        self._held = HeldJoints(f"{where} action", self._part.names, action.held, profile)

    def to_components(self, joint_rows: Array, origin: Array) -> Array:
        """See `Adapter`."""
        return self._part.to_components(joint_rows, origin)

    def to_joints(self, components: Array, origin: Array, seed: Array, stamp_ns: int = 0) -> JointRows:
        """See `Adapter`."""
        seed = self._held.apply(seed, stamp_ns)
        rows, clamped = self._part.to_joints(components, origin, seed)
        actions = np.tile(seed, (len(components), 1))
        actions[:, self._part.index] = rows
        return JointRows(actions, clamped, ())

    def targets(self, components: Array, origin: Array) -> Array:
        """See `Adapter`."""
        return self._part.targets(components, origin, origin)

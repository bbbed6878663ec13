"""Between what a policy says and what a robot does: its state vector, and its answer in joints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from tendon.core.types import Array
from tendon.policies.adapter.joint_rows import JointAdapter, JointRows
from tendon.policies.adapter.plausibility import check_statistics
from tendon.policies.adapter.state_vector import StateVector
from tendon.policies.adapter.tool_rows import ToolAdapter
from tendon.policies.spec.manifest import Manifest
from tendon.policies.spec.spaces import ActionSpace
from tendon.robots.profile import RobotProfile


class RowAdapter(Protocol):
    """Translates rows of an action space to joints and back.

    `origin` is always the observed joint vector (n,); numbers are the policy's own, not normalised.
    """

    def to_components(self, joint_rows: Array, origin: Array) -> Array:
        """Returns (k, C) numbers of (k, n) joint rows, the first k of a plan that starts at `origin`."""
        ...

    def to_joints(self, components: Array, origin: Array, seed: Array, stamp_ns: int = 0) -> JointRows:
        """Returns joint rows of (T, C) numbers, which follow row `seed` (n,): the last given one, or `origin`.

        Args:
            components: the numbers.
            origin: see above.
            seed: see above.
            stamp_ns: when the robot was observed; see `HeldJoints`.

        Raises:
            InvalidDataError: numbers that should be a rotation are none.
        """
        ...

    def targets(self, components: Array, origin: Array) -> Array:
        """Returns (T, K) what the rows of a plan from `origin` ask for, whatever they are relative to.

        For tool spaces the tool's position in the base frame [m], then the joints of its fingers; for joint spaces
        the joints. Not moved into limits, so that two plans can be compared.
        """
        ...


ROW_ADAPTERS: dict[str, Callable[[str, ActionSpace, RobotProfile], RowAdapter]] = {
    "tool_position": ToolAdapter,
    "tool_pose": ToolAdapter,
    "joint_position": JointAdapter,
    "joint_velocity": JointAdapter,
}


class Adapter:
    """Translates a policy's state and rows for a robot. One instance a thread.

    Args:
        manifest: of the policy.
        profile: the robot.

    Raises:
        MismatchError: a joint is unknown, missing or named twice, a unit is not one of its joint, the robot lacks what
            the space needs, or the statistics cannot be of that unit on this robot.
    """

    def __init__(self, manifest: Manifest, profile: RobotProfile) -> None:
        where = f"bundle {manifest.name}"
        self._state = StateVector(where, manifest.state, np.array(manifest.state_mean), profile)
        self._rows = ROW_ADAPTERS[manifest.action.space](where, manifest.action, profile)
        check_statistics(manifest, profile)

    def state(self, joint_position: Array, joint_velocity: Array) -> Array:
        """Returns (S,) the state vector in the policy's units, not normalised."""
        return self._state.read(joint_position, joint_velocity)

    def to_components(self, joint_rows: Array, origin: Array) -> Array:
        """See `RowAdapter`."""
        return self._rows.to_components(joint_rows, origin)

    def to_joints(self, components: Array, origin: Array, seed: Array, stamp_ns: int = 0) -> JointRows:
        """See `RowAdapter`."""
        return self._rows.to_joints(components, origin, seed, stamp_ns)

    def targets(self, components: Array, origin: Array) -> Array:
        """See `RowAdapter`."""
        return self._rows.targets(components, origin)

"""Where links are at a joint vector, and how each joint moves them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin

from tendon.calibration.transforms import Pose
from tendon.core.types import Array
from tendon.robots.model import link_index, load_model
from tendon.robots.profile import RobotProfile


class Chain:
    """Kinematics of a robot by its URDF alone: what an earlier calibration says is left out. Not thread-safe."""

    def __init__(self, profile: RobotProfile) -> None:
        robot = load_model(replace(profile, calibration=None))
        self._model, self._spread, self._expand = robot.model, robot.spread, robot.expand
        self._data = self._model.createData()
        self._indices: dict[str, int] = {}
        self._movers: dict[tuple[str, ...], frozenset[int]] = {}

    def poses(self, joints: Array, links: tuple[str, ...]) -> list[tuple[Pose, Array]]:
        """Returns for each link its pose in the base frame, and how joints move it.

        That is the (6, n) derivative of its origin and of its rotation, in the base frame's axes.
        """
        q = self._expand(joints)
        pin.computeJointJacobians(self._model, self._data, q)
        found = []
        for link in links:
            index = self._indices.setdefault(link, link_index(self._model, link))
            place = pin.updateFramePlacement(self._model, self._data, index)
            jacobian = pin.getFrameJacobian(self._model, self._data, index, pin.LOCAL_WORLD_ALIGNED)
            by_joints = np.asarray(jacobian).reshape(6, -1) @ self._spread
            found.append((Pose(rotation=place.rotation, translation=place.translation), by_joints))
        return found

    def between(self, joints: Array, one: str, other: str) -> Pose:
        """Returns the pose of another link, seen from one."""
        first, second = (pose for pose, _ in self.poses(joints, (one, other)))
        return first.inverse @ second

    def rigid(self, one: str, other: str) -> bool:
        """Returns whether no joint moves one link against another."""
        here, there = (self.between(np.full(self._spread.shape[1], value), one, other) for value in (0.0, 0.1))
        return bool(np.abs(here.change_to(there)).max() < 1e-9)

    def movers(self, links: tuple[str, ...]) -> frozenset[int]:
        """Returns which entries of a joint vector move one of the links."""
        if links not in self._movers:
            found = [by_joints for _, by_joints in self.poses(np.full(self._spread.shape[1], 0.1), links)]
            moves = np.any([np.abs(each).max(axis=0) > 1e-12 for each in found], axis=0)
            self._movers[links] = frozenset(np.flatnonzero(moves).tolist())
        return self._movers[links]

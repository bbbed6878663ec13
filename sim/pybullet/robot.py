"""A robot in PyBullet: a body from a URDF whose joints are tracked by position servos."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tendon.core.types import Array, freeze
from tendon.sim.pybullet.client import pybullet


class Robot:
    """The body of a robot, loaded anew with each scene. Every PyBullet call names its client.

    Args:
        client: of PyBullet.
        urdf: its file.
        joints: (k,) names of those that are driven.
        columns: (k,) which entry of a joint vector each of them follows: two fingers may follow one.
        forces: (k,) largest of each servo [N m or N].
        position_gains: (k,) of each servo.

    Attributes:
        body: its PyBullet id.
        joints: (k,) PyBullet's index of each driven joint.
        links: PyBullet's index of each link.
    """

    def __init__(
        self,
        client: int,
        *,
        urdf: str,
        joints: Sequence[str],
        columns: Sequence[int],
        forces: Sequence[float],
        position_gains: Sequence[float],
    ) -> None:
        self.client = client
        self._urdf, self._names, self._columns = urdf, tuple(joints), tuple(columns)
        self._forces, self._position_gains = list(forces), list(position_gains)
        self._velocity_gains = [1.0] * len(self._names)
        self._first = [self._columns.index(column) for column in range(max(self._columns) + 1)]

    def load(self) -> None:
        """Loads the body into an empty world, its base fixed."""
        self.body: int = pybullet.loadURDF(self._urdf, useFixedBase=True, physicsClientId=self.client)
        count = pybullet.getNumJoints(self.body, physicsClientId=self.client)
        info = [pybullet.getJointInfo(self.body, j, physicsClientId=self.client) for j in range(count)]
        index = {row[1].decode(): row[0] for row in info}
        self.links: dict[str, int] = {row[12].decode(): row[0] for row in info}
        self.joints: list[int] = [index[name] for name in self._names]

    def reset(self, position: Array) -> None:
        """Puts it at a (n,) joint vector, at rest, and holds it there."""
        for joint, column in zip(self.joints, self._columns, strict=True):
            pybullet.resetJointState(self.body, joint, position[column], physicsClientId=self.client)
        self.set_target(position, np.zeros(len(position)))

    def set_target(self, position: Array, velocity: Array) -> None:
        """Sets the (n,) positions and velocities that the servos track."""
        positions, velocities = position.tolist(), velocity.tolist()  # lists of floats are faster one by one
        pybullet.setJointMotorControlArray(
            self.body,
            self.joints,
            pybullet.POSITION_CONTROL,
            targetPositions=[positions[column] for column in self._columns],
            targetVelocities=[velocities[column] for column in self._columns],
            forces=self._forces,
            positionGains=self._position_gains,
            velocityGains=self._velocity_gains,
            physicsClientId=self.client,
        )

    def state(self) -> tuple[Array, Array]:
        """Returns measured (n,) positions and (n,) velocities."""
        joints = [self.joints[i] for i in self._first]
        rows = pybullet.getJointStates(self.body, joints, physicsClientId=self.client)
        return (
            freeze("joint_position", [row[0] for row in rows], (len(joints),)),
            freeze("joint_velocity", [row[1] for row in rows], (len(joints),)),
        )

    def effort(self) -> Array:
        """Returns (n,) what the servos exerted in the last step, N m or N."""
        joints = [self.joints[i] for i in self._first]
        rows = pybullet.getJointStates(self.body, joints, physicsClientId=self.client)
        return freeze("joint_effort", [row[3] for row in rows], (len(joints),))

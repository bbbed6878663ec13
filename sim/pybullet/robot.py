"""A robot in PyBullet: a body from a URDF whose joints are tracked by position servos."""

from __future__ import annotations

import numpy as np

from tendon.core.types import Array, freeze
from tendon.sim.pybullet.client import pybullet
from tendon.sim.robot_body import RobotBody


class Robot:
    """The body of a robot, loaded anew with each scene. Every PyBullet call names its client.

    Args:
        client: of PyBullet.
        made_of: what is loaded.

    Attributes:
        body: its PyBullet id.
        joints: (k,) PyBullet's index of each driven joint.
        links: PyBullet's index of each link.
        fingers: PyBullet's index of each finger: of its joint and its link.
    """

    def __init__(self, client: int, made_of: RobotBody) -> None:
        self.client, self._made_of = client, made_of
        self._forces, self._position_gains = list(made_of.forces), list(made_of.position_gains)
        self._velocity_gains = [1.0] * len(made_of.joints)

    def load(self) -> None:
        """Loads the body, its base fixed."""
        self.body: int = pybullet.loadURDF(self._made_of.urdf, useFixedBase=True, physicsClientId=self.client)
        count = pybullet.getNumJoints(self.body, physicsClientId=self.client)
        info = [pybullet.getJointInfo(self.body, j, physicsClientId=self.client) for j in range(count)]
        index = {row[1].decode(): row[0] for row in info}
        self.links: dict[str, int] = {row[12].decode(): row[0] for row in info}
        self.joints: list[int] = [index[name] for name in self._made_of.joints]
        self.fingers: list[int] = [index[name] for name in self._made_of.fingers]
        self._paint({index[name]: rgb for name, rgb in self._made_of.rgb.items() if name})
        self._couple()

    def _paint(self, painted: dict[int, tuple[float, float, float]]) -> None:
        if not (rest := self._made_of.rgb.get("")) and not painted:
            return
        for link in range(-1, len(self.links)):
            if rgb := painted.get(link, rest):
                pybullet.changeVisualShape(self.body, link, rgbaColor=[*rgb, 1], physicsClientId=self.client)

    def _couple(self) -> None:
        """Gives the fingers their friction, and makes two of them mirror each other."""
        sliding, spinning = self._made_of.finger_friction
        for finger in self.fingers:
            pybullet.changeDynamics(
                self.body, finger, lateralFriction=sliding, spinningFriction=spinning, physicsClientId=self.client
            )
        if len(self.fingers) == 2:
            left, right = self.fingers
            mirror = pybullet.createConstraint(
                self.body,
                left,
                self.body,
                right,
                pybullet.JOINT_GEAR,
                [1, 0, 0],
                [0, 0, 0],
                [0, 0, 0],
                physicsClientId=self.client,
            )
            pybullet.changeConstraint(mirror, gearRatio=-1, erp=0.2, maxForce=200, physicsClientId=self.client)

    def reset(self, position: Array) -> None:
        """Puts it at a (n,) joint vector, at rest, and holds it there."""
        for joint, column in zip(self.joints, self._made_of.columns, strict=True):
            pybullet.resetJointState(self.body, joint, position[column], physicsClientId=self.client)
        self.set_target(position, np.zeros(len(position)))

    def set_target(self, position: Array, velocity: Array) -> None:
        """Sets the (n,) positions and velocities that the servos track."""
        positions, velocities = position.tolist(), velocity.tolist()  # lists of floats are faster one by one
        pybullet.setJointMotorControlArray(
            self.body,
            self.joints,
            pybullet.POSITION_CONTROL,
            targetPositions=[positions[column] for column in self._made_of.columns],
            targetVelocities=[velocities[column] for column in self._made_of.columns],
            forces=self._forces,
            positionGains=self._position_gains,
            velocityGains=self._velocity_gains,
            physicsClientId=self.client,
        )

    def state(self) -> tuple[Array, Array]:
        """Returns measured (n,) positions and (n,) velocities."""
        rows = self._rows()
        return (
            freeze("joint_position", [row[0] for row in rows], (len(rows),)),
            freeze("joint_velocity", [row[1] for row in rows], (len(rows),)),
        )

    def effort(self) -> Array:
        """Returns (n,) what the servos exerted in the last step, N m or N."""
        rows = self._rows()
        return freeze("joint_effort", [row[3] for row in rows], (len(rows),))

    def _rows(self) -> list[tuple[float, ...]]:
        joints = [self.joints[i] for i in self._made_of.first]
        return list(pybullet.getJointStates(self.body, joints, physicsClientId=self.client))

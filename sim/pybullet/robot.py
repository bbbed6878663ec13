"""A robot in PyBullet: a body from a URDF whose joints are tracked by position servos."""

from __future__ import annotations

import numpy as np

from tendon.core.types import Array, freeze
from tendon.sim.pybullet.client import pybullet
from tendon.sim.robot_body import RobotBody, Servo

JAW_ITERATIONS = 200
"""Of the solver, where a jaw turns: pad, joint and the edge that it presses on agree only after so many. With 50, which
are PyBullet's own, a thing that is held creeps and the fingers of a linkage turn."""
LINKAGE_ERP, MIRROR_ERP = 2.0, 0.2
"""Of a gear. PyBullet takes a fifth of it: part of the error that goes in a step."""
VELOCITY_GAIN = 1.0
GEAR_FORCE = 200.0
"""Largest of a gear, N m or N."""


class Robot:
    """The body of a robot, loaded anew with each scene. Every PyBullet call names its client.

    Args:
        client: of PyBullet.
        made_of: what is loaded.

    Attributes:
        body: its PyBullet id.
        joints: (k,) PyBullet's index of each driven joint, and of those that follow.
        links: PyBullet's index of each link; of the first one, -1.
        fingers: PyBullet's index of each finger of each gripper.
    """

    def __init__(self, client: int, made_of: RobotBody) -> None:
        self.client, self._made_of = client, made_of
        servos = made_of.servos
        geared = {follower for _, follower in made_of.linkages}
        self._motors = [number for number, servo in enumerate(servos) if servo not in geared]
        self._columns = [servo.column for servo in servos]
        self._multipliers = [servo.multiplier for servo in servos]
        self._offsets = [servo.offset for servo in servos]
        motors = [servos[number] for number in self._motors]
        self._position_gains = [servo.gain for servo in motors]
        self._speeds = [servo.speed for servo in motors]
        self.weaken_grippers(1.0)

    def load(self) -> None:
        """Loads the body, its base fixed."""
        self.weaken_grippers(1.0)
        self.body: int = pybullet.loadURDF(self._made_of.urdf, useFixedBase=True, physicsClientId=self.client)
        count = pybullet.getNumJoints(self.body, physicsClientId=self.client)
        info = [pybullet.getJointInfo(self.body, j, physicsClientId=self.client) for j in range(count)]
        index = {row[1].decode(): row[0] for row in info}
        self.links: dict[str, int] = {row[12].decode(): row[0] for row in info}
        self.links[pybullet.getBodyInfo(self.body, physicsClientId=self.client)[0].decode()] = -1
        self.joints: list[int] = [index[servo.joint] for servo in self._made_of.servos]
        self.fingers = [[self.links[link] for link in links] for links in self._made_of.fingers]
        self._paint()
        self._give_friction()
        self._couple(index)
        jaws = [info[j] for servo, j in zip(self._made_of.servos, self.joints, strict=True) if servo.grips]
        if any(jaw[2] == pybullet.JOINT_REVOLUTE for jaw in jaws):
            self._hold_fast()

    def weaken_grippers(self, share: float) -> None:
        """Leaves the grippers so much of their force from the next target on."""
        motors = [self._made_of.servos[number] for number in self._motors]
        self._forces = [servo.force * (share if servo.grips else 1.0) for servo in motors]

    def _paint(self) -> None:
        colours = self._made_of.rgb
        for link, number in self.links.items():
            if rgb := colours.get(link, colours.get("")):
                pybullet.changeVisualShape(self.body, number, rgbaColor=[*rgb, 1], physicsClientId=self.client)

    def _give_friction(self) -> None:
        sliding, spinning = self._made_of.finger_friction
        for finger in {finger for fingers in self.fingers for finger in fingers}:
            pybullet.changeDynamics(
                self.body, finger, lateralFriction=sliding, spinningFriction=spinning, physicsClientId=self.client
            )

    def _hold_fast(self) -> None:
        """Keeps what a jaw that turns presses on from creeping: its pad is slanted, and pushes it along.

        Hands that hold one thing together push on each other through it, as stiff as servos are: there it has to give.
        """
        pybullet.setPhysicsEngineParameter(numSolverIterations=JAW_ITERATIONS, physicsClientId=self.client)
        if len(self.fingers) > 1:
            return
        for finger in self.fingers[0]:
            pybullet.changeDynamics(self.body, finger, frictionAnchor=True, physicsClientId=self.client)

    def _couple(self, index: dict[str, int]) -> None:
        """Has joints that follow push back.

        In a linkage gears alone move them: motors of their own would go where the leader should be when it is held
        off. A single one at the same speed has a motor and a soft gear.
        """
        linkages = self._made_of.linkages
        for leader, follower in self._made_of.couplings:
            joints = index[leader.joint], index[follower.joint]
            if (leader, follower) in linkages:
                self._gear(*joints, follower, LINKAGE_ERP)
                pybullet.setJointMotorControl2(
                    self.body, joints[1], pybullet.VELOCITY_CONTROL, force=0.0, physicsClientId=self.client
                )
            elif abs(follower.multiplier) == 1.0:
                self._gear(*joints, follower, MIRROR_ERP)

    def _gear(self, leader: int, follower: int, servo: Servo, erp: float) -> None:
        """Keeps a joint where it belongs: leader - (follower - offset) / multiplier = 0."""
        gear = pybullet.createConstraint(
            self.body,
            leader,
            self.body,
            follower,
            pybullet.JOINT_GEAR,
            [1, 0, 0],
            [0, 0, 0],
            [0, 0, 0],
            physicsClientId=self.client,
        )
        pybullet.changeConstraint(
            gear,
            gearRatio=-1.0 / servo.multiplier,
            relativePositionTarget=-servo.offset / servo.multiplier,
            erp=erp,
            maxForce=GEAR_FORCE,
            physicsClientId=self.client,
        )

    def reset(self, position: Array) -> None:
        """Puts it at a (n,) joint vector, at rest, and holds it there."""
        for joint, value in zip(self.joints, self._spread(position.tolist()), strict=True):
            pybullet.resetJointState(self.body, joint, value, physicsClientId=self.client)
        self.set_target(position, np.zeros(len(position)))

    def _spread(self, position: list[float]) -> list[float]:
        """Returns the (k,) positions of driven joints for a joint vector."""
        rows = zip(self._columns, self._multipliers, self._offsets, strict=True)
        return [multiplier * position[column] + offset for column, multiplier, offset in rows]

    def set_target(self, position: Array, velocity: Array) -> None:
        """Sets the (n,) positions and velocities that the servos track."""
        spread, velocities = self._spread(position.tolist()), velocity.tolist()  # lists of floats: faster one by one
        for number, gain, force, speed in zip(
            self._motors, self._position_gains, self._forces, self._speeds, strict=True
        ):
            pybullet.setJointMotorControl2(
                self.body,
                self.joints[number],
                pybullet.POSITION_CONTROL,
                spread[number],
                self._multipliers[number] * velocities[self._columns[number]],
                force,
                gain,
                VELOCITY_GAIN,
                speed,
                self.client,
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
        joints = self.joints[: self._made_of.count]
        return list(pybullet.getJointStates(self.body, joints, physicsClientId=self.client))

"""A robot in a MuJoCo model: a URDF whose joints have servos."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np

from tendon.core.types import Array
from tendon.sim.mujoco.client import mujoco
from tendon.sim.robot_body import RobotBody

ARMATURE = {mujoco.mjtJoint.mjJNT_HINGE: 0.1, mujoco.mjtJoint.mjJNT_SLIDE: 0.1}
"""Inertia of motor and gear seen at the joint [kg m^2] or [kg]; URDFs have none. MuJoCo Menagerie's for a Panda."""
SERVO_RAD_S = 60.0
"""Natural frequency of a servo, critically damped: it follows a ramp of 1 rad/s with no lag, a step within 0.1 s."""
GRIP_M = 0.015
"""A finger that is held off its target by so much presses with all its force."""
ROBOT, THINGS = 1, 2
"""Bits of what may touch what: a robot's links pass through each other, as in PyBullet."""


HIDDEN = 3
"""Group of the shapes that collide, where a link has others that are drawn."""


def add_robot(robot: RobotBody) -> Any:
    """Returns a model specification with the robot, fixed at the origin, without actuators."""
    tree = ElementTree.parse(robot.urdf)
    extension = ElementTree.SubElement(tree.getroot(), "mujoco")
    # Paths as they are, links that nothing moves as bodies of their own, inertias that are no inertias mended.
    settings = {"strippath": "false", "fusestatic": "false", "discardvisual": "false", "balanceinertia": "true"}
    ElementTree.SubElement(extension, "compiler", settings | {"boundmass": "1e-4", "boundinertia": "1e-7"})
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(tree.getroot(), encoding="unicode"))
    rest = robot.rgb.get("")
    sliding, spinning = robot.finger_friction
    for body in spec.bodies[1:]:
        body.gravcomp = 1.0  # as a robot's own controllers do
        moved_by = [joint.name for joint in body.joints]
        rgb = next((robot.rgb[name] for name in moved_by if name in robot.rgb), rest)
        drawn = any(not geom.contype for geom in body.geoms)
        for geom in body.geoms:
            if geom.contype:
                geom.contype, geom.conaffinity, geom.group = ROBOT, THINGS, HIDDEN if drawn else 0
            if rgb is not None:
                geom.rgba = [*rgb, 1.0]
            if set(moved_by) & set(robot.fingers):
                geom.friction, geom.condim = [sliding, spinning, 1e-4], 4
        for joint in body.joints:
            joint.armature = ARMATURE[joint.type]
    if len(robot.fingers) == 2:
        left, right = robot.fingers
        mirror = spec.add_equality(type=mujoco.mjtEq.mjEQ_JOINT, name1=right, name2=left)
        mirror.objtype = mujoco.mjtObj.mjOBJ_JOINT
        mirror.data[:5] = [0.0, 1.0, 0.0, 0.0, 0.0]
    for name, force in zip(robot.joints, robot.forces, strict=True):
        servo = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        servo.gaintype, servo.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
        servo.forcelimited, servo.forcerange = True, [-force, force]
    return spec


class Servos:
    """The servos of a compiled model: torque of a spring and damper around a moving target, within its limit.

    Args:
        model: compiled.
        data: of it.
        robot: whose joints they drive.
    """

    def __init__(self, model: Any, data: Any, robot: RobotBody) -> None:
        self._data, self._columns = data, list(robot.columns)
        joints = [model.joint(name) for name in robot.joints]
        self.positions = np.array([joint.qposadr[0] for joint in joints])
        self.dofs = np.array([joint.dofadr[0] for joint in joints])
        self.first = list(robot.first)
        self._model, self._robot = model, robot
        self._ratio = np.zeros(len(joints))

    def tune(self) -> None:
        """Sets the gains for the inertia that each joint has where the robot stands."""
        model, data = self._model, self._data
        pushed = np.zeros(model.nv)
        for i, (name, dof) in enumerate(zip(self._robot.joints, self.dofs, strict=True)):
            mujoco.mj_mulM(model, data, pushed, np.eye(model.nv)[dof])
            inertia = float(pushed[dof])
            stiffness = inertia * SERVO_RAD_S**2
            if name in self._robot.fingers:
                stiffness = self._robot.forces[i] / GRIP_M
            damping = 2.0 * np.sqrt(stiffness * inertia)
            model.actuator_gainprm[i, 0] = stiffness
            model.actuator_biasprm[i, :3] = [0.0, -stiffness, -damping]
            self._ratio[i] = damping / stiffness

    def set_target(self, position: Array, velocity: Array) -> None:
        """Sets the (n,) positions and velocities that are tracked."""
        self._data.ctrl[:] = position[self._columns] + self._ratio * velocity[self._columns]

"""A robot in a MuJoCo model: a URDF whose joints have servos."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np

from tendon.core.types import Array
from tendon.sim.mujoco.client import mujoco
from tendon.sim.mujoco.meshes import whole
from tendon.sim.robot_body import RobotBody

ARMATURE = {mujoco.mjtJoint.mjJNT_HINGE: 0.1, mujoco.mjtJoint.mjJNT_SLIDE: 0.1}
"""Inertia of motor and gear seen at the joint [kg m^2] or [kg]; URDFs have none. MuJoCo Menagerie's for a Panda."""
JAW_ARMATURE = 0.005
"""Of a jaw that turns: as heavy as an arm's joint it runs into a thing, and bounces. Menagerie's for a 2F-85."""
SERVO_RAD_S = 60.0
"""Natural frequency of a servo, critically damped: it follows a ramp of 1 rad/s with no lag, a step within 0.1 s."""
GRIP_OFF = {mujoco.mjtJoint.mjJNT_HINGE: 0.15, mujoco.mjtJoint.mjJNT_SLIDE: 0.015}
"""A finger that is held off its target by so much [rad] or [m] presses with all its force."""
JAW_CONTACT_S, JAW_MIX, JAW_STIFFER = 0.005, 1000.0, 100.0
"""Of pads where a jaw turns: in which time they part from what they are inside, how much more that counts than what the
thing says, and how much stiffer friction is than the push. MuJoCo's own 0.02 s lets a slanted pad that presses on a
light thing sink 8 mm into it, and hook it; with friction 10 times as stiff the thing turns by a degree a second."""
ROBOT, THINGS = 1, 2
"""Bits of what may touch what: a robot's links pass through each other, as in PyBullet."""


HIDDEN = 3
"""Group of the shapes that collide, where a link has others that are drawn."""


def add_robot(robot: RobotBody) -> Any:
    """Returns a model specification with the robot, fixed at the origin, without actuators."""
    tree = ElementTree.parse(robot.urdf)
    for mesh in tree.iter("mesh"):
        mesh.set("filename", str(whole(Path(mesh.get("filename", "")), Path(robot.urdf))))
    extension = ElementTree.SubElement(tree.getroot(), "mujoco")
    # Paths as they are, links that nothing moves as bodies of their own, inertias that are no inertias mended.
    settings = {"strippath": "false", "fusestatic": "false", "discardvisual": "false", "balanceinertia": "true"}
    ElementTree.SubElement(extension, "compiler", settings | {"boundmass": "1e-4", "boundinertia": "1e-7"})
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(tree.getroot(), encoding="unicode"))
    rest, fingers = robot.rgb.get(""), {link for links in robot.fingers for link in links}
    sliding, spinning = robot.finger_friction
    for body in spec.bodies[1:]:
        body.gravcomp = 1.0  # as a robot's own controllers do
        rgb = robot.rgb.get(body.name, rest)
        drawn = any(not geom.contype for geom in body.geoms)
        for geom in body.geoms:
            if geom.contype:
                geom.contype, geom.conaffinity, geom.group = ROBOT, THINGS, HIDDEN if drawn else 0
            if rgb is not None:
                geom.rgba = [*rgb, 1.0]
            if body.name in fingers:
                geom.friction, geom.condim = [sliding, spinning, 1e-4], 4
        for joint in body.joints:
            joint.armature = ARMATURE[joint.type]
    for leader, follower in robot.couplings:
        follows = spec.add_equality(type=mujoco.mjtEq.mjEQ_JOINT, name1=follower.joint, name2=leader.joint)
        follows.objtype = mujoco.mjtObj.mjOBJ_JOINT
        follows.data[:5] = [follower.offset, follower.multiplier, 0.0, 0.0, 0.0]
    for each in robot.servos:
        name, force = each.joint, each.force
        servo = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        servo.gaintype, servo.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
        servo.forcelimited, servo.forcerange = True, [-force, force]
    return spec


def hold_fast(spec: Any, robot: RobotBody) -> None:
    """Keeps jaws that turn from sinking into what they press on, and that from creeping; others are left alone."""
    joints = [spec.joint(servo.joint) for servo in robot.servos if servo.grips]
    jaws = [joint for joint in joints if joint.type == mujoco.mjtJoint.mjJNT_HINGE]
    if not jaws:
        return
    for jaw in jaws:
        jaw.armature = JAW_ARMATURE
    spec.option.impratio = JAW_STIFFER
    for finger in {link for links in robot.fingers for link in links}:
        for geom in spec.body(finger).geoms:
            geom.solref, geom.solmix = [JAW_CONTACT_S, 1.0], JAW_MIX


class Servos:
    """The servos of a compiled model: torque of a spring and damper around a moving target, within its limit.

    Args:
        model: compiled.
        data: of it.
        robot: whose joints they drive.
    """

    def __init__(self, model: Any, data: Any, robot: RobotBody) -> None:
        self._model, self._data, self._robot = model, data, robot
        joints = [model.joint(servo.joint) for servo in robot.servos]
        self.positions = np.array([joint.qposadr[0] for joint in joints])
        self.dofs = np.array([joint.dofadr[0] for joint in joints])
        self._columns = np.array([servo.column for servo in robot.servos])
        self._multipliers = np.array([servo.multiplier for servo in robot.servos])
        self._offsets = np.array([servo.offset for servo in robot.servos])
        self._lead_s = np.zeros(len(joints))

    def spread(self, position: Array) -> Array:
        """Returns the (k,) positions of driven joints for a joint vector (n,)."""
        return np.asarray(self._multipliers * position[self._columns] + self._offsets)

    def tune(self) -> None:
        """Sets the gains for the inertia that each joint has where the robot stands."""
        model, data = self._model, self._data
        pushed = np.zeros(model.nv)
        for i, (servo, dof) in enumerate(zip(self._robot.servos, self.dofs, strict=True)):
            mujoco.mj_mulM(model, data, pushed, np.eye(model.nv)[dof])
            inertia = float(pushed[dof])
            stiffness = inertia * SERVO_RAD_S**2
            if servo.grips:
                stiffness = servo.force / GRIP_OFF[mujoco.mjtJoint(int(model.jnt_type[model.dof_jntid[dof]]))]
            damping = 2.0 * np.sqrt(stiffness * inertia)
            model.actuator_gainprm[i, 0] = stiffness
            model.actuator_biasprm[i, :3] = [0.0, -stiffness, -damping]
            self._lead_s[i] = damping / stiffness * self._multipliers[i]

    def weaken_grippers(self, share: float) -> None:
        """Leaves the grippers so much of their force."""
        for number, servo in enumerate(self._robot.servos):
            if servo.grips:
                self._model.actuator_forcerange[number] = [-share * servo.force, share * servo.force]

    def set_target(self, position: Array, velocity: Array) -> None:
        """Sets the (n,) positions and velocities that are tracked."""
        self._data.ctrl[:] = self.spread(position) + self._lead_s * velocity[self._columns]

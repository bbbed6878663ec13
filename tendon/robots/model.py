"""The pinocchio model of a profile: one number a joint, mimics followed, everything seen from the base frame."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin

from tendon.core.errors import ConfigError
from tendon.core.types import Array
from tendon.robots.profile import RobotProfile
from tendon.robots.urdf import parse_xml, read_urdf


@dataclass(frozen=True, kw_only=True, eq=False)
class RobotModel:
    """A model whose configuration is an affine function of the profile's joint vector.

    Attributes:
        model: nq equals nv; poses are in the profile's base frame.
        offset: (nq,) its configuration where the profile's joints are said to be zero, which is off by the zeros of the
            profile's calibration; read-only.
        spread: (nq, n) its change for each of the profile's joints, read-only: 1 for the joint itself, the multiplier
            for one that mimics it, 0 for joints that the profile does not name and that stay at zero.
    """

    model: pin.Model
    offset: Array
    spread: Array

    def expand(self, joints: Array) -> Array:
        """Returns the (nq,) configuration of a joint vector (n,)."""
        return np.asarray(self.offset + self.spread @ joints)


def load_model(profile: RobotProfile) -> RobotModel:
    """Returns the model of a profile's robot.

    Raises:
        ConfigError: the URDF is none.
        ConfigError, IntegrityError: the calibration, see `RobotProfile.zeros`.
    """
    model = build_model(profile.urdf)
    offset, spread = np.zeros(model.nq), np.zeros((model.nq, len(profile.joints)))
    for i, name in enumerate(profile.joint_names):
        spread[_column(model, name), i] = 1.0
    for mimic in read_urdf(profile.urdf).mimics:
        row = _column(model, mimic.joint)
        offset[row] = mimic.offset
        if mimic.leader in profile.joint_names:
            spread[row, profile.joint_names.index(mimic.leader)] = mimic.multiplier
    offset -= spread @ profile.zeros
    _move_origin(model, profile.base_frame, offset)
    for array in (offset, spread):
        array.setflags(write=False)
    return RobotModel(model=model, offset=offset, spread=spread)


def build_model(urdf: Path) -> pin.Model:
    """Returns the model of a URDF, from its root link, with one number for each joint that is not fixed.

    pinocchio takes a continuous joint as the sine and cosine of its angle. Here it is a revolute one, whose limits, one
    turn, nothing but sampling looks at: the angle of a continuous joint is any number, as in `joint_states`.

    Raises:
        ConfigError: it is no URDF, or has joints with more than one position.
    """
    continuous = [joint.name for joint in read_urdf(urdf).joints.values() if joint.kind == "continuous"]
    try:
        return pin.buildModelFromXML(_revolute(urdf)) if continuous else pin.buildModelFromUrdf(str(urdf))
    except ValueError as error:
        raise ConfigError(f"URDF {urdf}: {error}") from error


def link_index(model: pin.Model, link: str) -> int:
    """Returns the frame of a link; a joint may have the same name."""
    return int(model.getFrameId(link, pin.FrameType.BODY))


def _revolute(urdf: Path) -> str:
    root = parse_xml(urdf)
    for joint in root.findall("joint"):
        if joint.get("type") == "continuous":
            joint.set("type", "revolute")
            limit = joint.find("limit")
            if limit is None:
                limit = ElementTree.SubElement(joint, "limit", effort="0", velocity="0")
            limit.set("lower", repr(-math.pi))
            limit.set("upper", repr(math.pi))
    return ElementTree.tostring(root, encoding="unicode")


def _column(model: pin.Model, joint: str) -> int:
    return int(model.joints[model.getJointId(joint)].idx_q)


def _move_origin(model: pin.Model, base_frame: str, configuration: Array) -> None:
    """Makes a link the origin; the profile has checked that nothing moves it."""
    data = model.createData()
    pin.framesForwardKinematics(model, data, configuration)
    pose = data.oMf[link_index(model, base_frame)]
    if pose.isIdentity(0.0):
        return
    inverse = pose.inverse()
    for joint in range(1, model.njoints):
        if model.parents[joint] == 0:
            model.jointPlacements[joint] = inverse * model.jointPlacements[joint]
    for frame in list(model.frames)[1:]:
        if frame.parentJoint == 0:
            frame.placement = inverse * frame.placement

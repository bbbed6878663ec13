"""Where a hand holds things whose fingers do not all move: against the one that stands still."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pinocchio as pin

from tendon.core.types import Array, freeze
from tendon.robots.model import link_index, load_model
from tendon.robots.profile import RobotProfile
from tendon.robots.profile_parts import Gripper
from tendon.robots.tool import TOOL_DOWN
from tendon.robots.urdf import read_urdf

CLEAR_M = 0.003
"""Between a thing and the finger that stands still, before the other one closes: so far it is pushed at most."""


def still_face(profile: RobotProfile, gripper: Gripper) -> float:
    """Returns y in the tool's frame of the pad that the gripper's joint does not move [m]; 0 where all pads move."""
    urdf, robot = read_urdf(profile.urdf), load_model(profile)
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, robot.expand(profile.vector("home")))
    tool = data.oMf[link_index(robot.model, gripper.frame)]
    for finger, pad in gripper.pads.items():
        if gripper.joint in urdf.moved_by(finger):
            continue
        pose = tool.inverse() * data.oMf[link_index(robot.model, finger)]
        corners = itertools.product(*zip(pad.lower, pad.upper, strict=True))
        return float(min((pose.act(np.array(corner))[1] for corner in corners), key=abs))
    return 0.0


def yaw_between_fingers(rotation: Array) -> float:
    """Returns the yaw of a thing's (3, 3) rotation, within +- pi / 2: fingers meet it alike from its other side."""
    yaw = math.atan2(rotation[1, 0], rotation[0, 0])
    return (yaw + math.pi / 2) % math.pi - math.pi / 2


def aside_of(face: float, half: float, yaw: float) -> Array:
    """Returns how far from the middle of a thing the tool goes before it closes, pointing down (3,) [m].

    Args:
        face: see `still_face`.
        half: of what the thing measures between the fingers [m].
        yaw: of the tool [rad].
    """
    way = math.copysign(max(abs(face) - half - CLEAR_M, 0.0), face)
    return freeze("aside", -pin.utils.rotate("z", yaw) @ TOOL_DOWN @ [0.0, way, 0.0], (3,))

"""What a robot looks like: the triangles of its meshes at a joint vector."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin

from tendon.core.types import Array
from tendon.robots.collision.fit import load_meshes
from tendon.robots.model import link_index, load_model
from tendon.robots.profile import RobotProfile
from tendon.robots.urdf import parse_xml


def robot_surface(profile: RobotProfile, position: Array, urdf: Path, package_folder: Path | None) -> Array:
    """Returns (k, 3, 3) triangles [m] of a robot's surface in the profile's base frame.

    Args:
        profile: the robot.
        position: (n,) joint vector; joints of the URDF that the profile does not have stay at zero.
        urdf: a description of the robot with meshes, such as the manufacturer's: its visual ones, or its collision
            meshes where it has no others.
        package_folder: what `package://` stands for; by default the parents of the file are tried.

    Raises:
        ConfigError: a file is missing, or the URDF is of another robot.
    """
    # The surface needs no tool: a manufacturer's URDF may call it something else.
    robot = load_model(replace(profile, urdf=urdf, tool_frame=profile.base_frame))
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, robot.expand(position))
    has_looks = parse_xml(urdf).find("link/visual") is not None
    kind = pin.GeometryType.VISUAL if has_looks else pin.GeometryType.COLLISION
    placed = []
    for mesh in load_meshes(urdf, package_folder, kind):
        pose = data.oMf[link_index(robot.model, mesh.link)]
        placed.append(mesh.triangles @ pose.rotation.T + pose.translation)
    return np.concatenate(placed)

"""Things of a suite that a URDF describes: its collision shapes as parts, and its mass."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin

from tendon.core.errors import ConfigError
from tendon.robots.packages import resolve
from tendon.robots.urdf import parse_xml, read_urdf
from tendon.sim.bodies import Part
from tendon.sim.scenes.mesh_part import measured

UPRIGHT = 1e-6
"""Largest difference of a shape's z axis from that of the thing."""


def urdf_parts(file: Path) -> tuple[tuple[Part, ...], float]:
    """Returns the parts of a rigid thing, in the frame of the URDF's root link, and its mass [kg], 0 when it says none.

    Raises:
        ConfigError: the URDF cannot be read, something of it moves, or a shape is none that all simulators build.
    """
    urdf = read_urdf(file)
    moving = [joint.name for joint in urdf.joints.values() if joint.kind != "fixed"]
    if moving:
        raise ConfigError(f"{file}: joint {moving[0]} moves; a thing of a suite is rigid, so all its joints are fixed")
    root = parse_xml(file)
    for mesh in root.iter("mesh"):
        mesh.set("filename", str(resolve(mesh.get("filename", ""), file)))
    text = ElementTree.tostring(root, encoding="unicode")
    try:
        model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
        shapes = pin.buildGeomFromUrdfString(model, text, pin.GeometryType.COLLISION, [])
    except (RuntimeError, ValueError) as error:
        raise ConfigError(f"{file} cannot be read: {str(error).strip().splitlines()[0]}") from error
    parts = tuple(_part(file, each) for each in shapes.geometryObjects)
    if not parts:
        raise ConfigError(f"{file} has no collision shapes: give its link a <collision>")
    if len(parts) > 1 and any(part.kind == "mesh" for part in parts):
        raise ConfigError(f"{file} has a mesh among {len(parts)} shapes: a mesh is a thing by itself")
    return parts, float(model.inertias[1].mass)


def _part(file: Path, shape: pin.GeometryObject) -> Part:
    """Returns the part that a shape is."""
    turn, centre = np.array(shape.placement.rotation), np.array(shape.placement.translation)
    if np.abs(turn[2] - (0.0, 0.0, 1.0)).max() > UPRIGHT:
        raise ConfigError(f"{file}: shape {shape.name} is turned about x or y; its parts are turned about z only")
    yaw = math.atan2(turn[1, 0], turn[0, 0])
    kind = type(shape.geometry).__name__
    if kind == "Box":
        half = np.array(shape.geometry.halfSide)
        return Part(kind="box", half=_three(half), centre=_three(centre), yaw=yaw)
    if kind == "Cylinder":
        radius = float(shape.geometry.radius)
        half = np.array([radius, radius, float(shape.geometry.halfLength)])
        return Part(kind="cylinder", half=_three(half), centre=_three(centre), yaw=yaw)
    if kind.startswith("BVHModel") or kind == "Convex":
        return _mesh(file, shape, centre, yaw)
    raise ConfigError(f"{file}: shape {shape.name} is a {kind.lower()}; things are made of boxes, cylinders and meshes")


def _mesh(file: Path, shape: pin.GeometryObject, origin: np.ndarray, yaw: float) -> Part:
    scale = np.array(shape.meshScale)
    if np.ptp(scale) > 0 or scale[0] <= 0:
        name = Path(shape.meshPath).name
        raise ConfigError(f"{file}: mesh {name} has scale {scale.tolist()}; all three have to be equal, above 0")
    part = measured(Part(kind="mesh", file=shape.meshPath, unit=float(scale[0]), yaw=yaw), file)
    return replace(part, centre=_three(origin - np.array(part.origin)))


def _three(values: np.ndarray) -> tuple[float, float, float]:
    x, y, z = values.tolist()
    return x, y, z

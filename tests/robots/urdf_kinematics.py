"""Forward kinematics written from the URDF specification alone: no pinocchio, nothing of Tendon's."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def _axis_turn(axis: Array, angle: float) -> Array:
    """Rodrigues' formula."""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross)


def _pose(rotation: Array, translation: Array) -> Array:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation, translation
    return pose


def _origin(element: ElementTree.Element) -> Array:
    origin = element.find("origin")
    if origin is None:
        return np.eye(4)
    xyz = np.array([float(v) for v in origin.get("xyz", "0 0 0").split()])
    roll, pitch, yaw = (float(v) for v in origin.get("rpy", "0 0 0").split())
    x, y, z = np.eye(3)
    return _pose(_axis_turn(z, yaw) @ _axis_turn(y, pitch) @ _axis_turn(x, roll), xyz)


def link_poses(urdf: str, values: Mapping[str, float]) -> dict[str, Array]:
    """Returns the (4, 4) pose of each link from the root link; joints that have no value, and follow none, are at 0."""
    root = ElementTree.fromstring(urdf)
    joints = {str(joint.get("name")): joint for joint in root.findall("joint")}

    def position(name: str) -> float:
        mimic = joints[name].find("mimic")
        if mimic is None:
            return values.get(name, 0.0)
        leader = position(str(mimic.get("joint")))
        return float(mimic.get("multiplier", "1")) * leader + float(mimic.get("offset", "0"))

    ends = {}
    for name, joint in joints.items():
        parent, child = joint.find("parent"), joint.find("child")
        assert parent is not None and child is not None
        ends[str(child.get("link"))] = (str(parent.get("link")), name)

    def pose(link: str) -> Array:
        if link not in ends:
            return np.eye(4)
        parent, name = ends[link]
        joint = joints[name]
        element = joint.find("axis")
        axis = np.array([float(v) for v in ("1 0 0" if element is None else element.get("xyz", "1 0 0")).split()])
        motion = np.eye(4)
        if joint.get("type") in ("revolute", "continuous"):
            motion = _pose(_axis_turn(axis, position(name)), np.zeros(3))
        elif joint.get("type") == "prismatic":
            motion = _pose(np.eye(3), axis * position(name))
        return np.asarray(pose(parent) @ _origin(joint) @ motion)

    return {link: pose(link) for link in (str(element.get("name")) for element in root.findall("link"))}

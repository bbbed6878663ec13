"""The Franka Panda with gripper. Its meshes come with PyBullet, and with example-robot-data."""

from __future__ import annotations

import functools
import importlib.util
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tendon.core.distribution import pip_install
from tendon.core.errors import MissingDependencyError
from tendon.sim.robot_body import RobotBody

FINGERS = ("panda_finger_joint1", "panda_finger_joint2")
HAND = "panda_hand"
TOOL_DOWN = np.diag([1.0, -1.0, -1.0])
"""Rotation of the tool in the base frame when it points down."""
TOOL_OFFSET_Z = 0.1034
"""From the hand's frame to the tool's, along z [m]."""
GRIP_FORCE = 30.0
WHITE, DARK = (0.93, 0.93, 0.93), (0.25, 0.25, 0.28)


def panda(arm_joints: Sequence[str], urdf: str | None = None) -> RobotBody:
    """Returns the robot: seven arm joints, and two fingers that move as one, the last entry of its joint vector.

    Args:
        arm_joints: names of the seven.
        urdf: its file; by default the one that is drawn fast.
    """
    return RobotBody(
        urdf=urdf or robot_urdf(),
        joints=(*arm_joints, *FINGERS),
        columns=(*range(7), 7, 7),
        forces=(*[87.0] * 4, *[12.0 * 2] * 3, *[GRIP_FORCE] * 2),
        position_gains=(*[0.4] * 7, *[0.2] * 2),
        fingers=FINGERS,
        rgb={"": WHITE, **dict.fromkeys(FINGERS, DARK)},
    )


def stock_urdf() -> tuple[Path, Path]:
    """Returns the URDF as its makers have it, and the folder that `package://` is in it.

    Raises:
        MissingDependencyError: neither package is installed.
    """
    if (bullet := _folder("pybullet_data")) is not None:
        return bullet / "franka_panda" / "panda.urdf", bullet / "franka_panda"
    if (data := _folder("cmeel")) is not None:
        share = data.parent / "cmeel.prefix" / "share"
        urdf = share / "example-robot-data" / "robots" / "panda_description" / "urdf" / "panda.urdf"
        if urdf.is_file():
            return urdf, share
    raise MissingDependencyError(f"the meshes of the simulated Panda are missing: {pip_install('sim')}")


def _folder(module: str) -> Path | None:
    found = importlib.util.find_spec(module)
    return None if found is None or found.origin is None else Path(found.origin).parent


@functools.cache
def robot_urdf() -> str:
    """Returns the path of a Panda URDF that is drawn with its collision meshes.

    They have a tenth of the triangles: 1.6 ms a view instead of 20 (docs/results/simulation.md).
    """
    stock, folder = stock_urdf()
    tree = ElementTree.parse(stock)
    for link in tree.getroot().iter("link"):
        for visual in link.findall("visual"):
            link.remove(visual)
        for collision in link.findall("collision"):
            visual = ElementTree.SubElement(link, "visual")
            visual.extend([child for child in collision if child.tag in ("origin", "geometry")])
        for mesh in link.iter("mesh"):
            mesh.set("filename", str(folder / mesh.get("filename", "").removeprefix("package://")))
    path = Path(tempfile.mkdtemp(prefix="tendon-")) / "panda.urdf"
    tree.write(path)
    return str(path)

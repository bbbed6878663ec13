"""Where the cameras of a robot nominally are: for labels that say where in a picture a point is seen."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tendon.robots.camera_view import camera_axes, focal_length
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile
from tendon.robots.tool import TOOL_DOWN
from tendon.robots.urdf import read_urdf
from tendon.sim.cameras import calibrated_mounts


@dataclass(frozen=True, kw_only=True)
class Viewpoint:
    """Where a camera nominally is, without domain randomisation.

    Attributes:
        rotation: (3, 3) rows are the camera's right, up and backward axes in the base frame.
        eye: (3,) [m], from the base origin, or from the tool for a camera that moves with one (tool down).
        on_tool: which of the profile's grippers carries it; `None` for one that stands still.
        focal: focal length over half the image height.
    """

    rotation: tuple[tuple[float, ...], ...]
    eye: tuple[float, ...]
    on_tool: int | None
    focal: float


def viewpoints(profile: RobotProfile) -> dict[str, Viewpoint]:
    """Returns the nominal viewpoint of each camera; one that an arm with a gripper moves is taken to be on its tool."""
    found = {}
    home, urdf = profile.vector("home"), read_urdf(profile.urdf)
    for name, mount in calibrated_mounts(profile).items():
        eye, at, up = (np.array(each) for each in (mount.position, mount.looks_at, mount.up))
        moving = set(urdf.moved_by(mount.link))
        tools = (k for k, gripper in enumerate(profile.grippers) if moving & set(profile.groups[gripper.group]))
        on_tool = next(tools, None)
        if on_tool is not None:
            gripper = profile.grippers[on_tool]
            tool, turned = Kinematics(profile, gripper.frame, gripper.group).tool_pose(home)
            origin, rotation = Kinematics(profile, mount.link, gripper.group).tool_pose(home)
            to_base = TOOL_DOWN @ turned.T  # from a pose at home to the same with the tool down
            eye, at = (to_base @ (origin + rotation @ point - tool) for point in (eye, at))
            up = to_base @ rotation @ up
        found[name] = Viewpoint(
            rotation=tuple(map(tuple, camera_axes(eye, at, up).tolist())),
            eye=tuple(eye.tolist()),
            on_tool=on_tool,
            focal=focal_length(mount, 2.0),
        )
    return found


def labelled_viewpoints(profile: RobotProfile) -> dict[str, dict[str, Any]]:
    """Returns the same as plain values, equal to what demonstrations and training runs keep of them as JSON."""
    plain = {name: asdict(view) for name, view in viewpoints(profile).items()}
    found: dict[str, dict[str, Any]] = json.loads(json.dumps(plain))
    return found

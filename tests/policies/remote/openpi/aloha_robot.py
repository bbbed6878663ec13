"""A robot with the joints of ALOHA, made of plain links: two arms of six joints and a gripper, three cameras."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tendon.robots.profile import RobotProfile, load_profile

NAMES = ("waist", "shoulder", "elbow", "forearm_roll", "wrist_angle", "wrist_rotate")
HOME = (0.0, -0.96, 1.16, 0.0, -0.3, 0.0)
SIDES = ("left", "right")
CAMERAS = ("cam_high", "cam_left_wrist", "cam_right_wrist")
CLOSED, OPEN = 0.01844, 0.058
"""Of a finger [m], as ALOHA counts them."""

_LINK = '<link name="{child}"/>'
_JOINT = '<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{more}</joint>'
_LIMIT = '<origin xyz="0 0 0.1"/><axis xyz="{axis}"/><limit lower="{lower}" upper="{upper}" velocity="3" effort="9"/>'


def write_robot(folder: Path) -> RobotProfile:
    """Writes URDF and profile into a folder and returns the profile."""
    parts, joints = ['<robot name="aloha"><link name="base"/>'], []
    for side in SIDES:
        parent = "base"
        for i, (name, home) in enumerate(zip((*NAMES, "finger"), (*HOME, 0.03), strict=True)):
            finger = name == "finger"
            lower, upper = (0.01, 0.06) if finger else (-3.0, 3.0)
            limit = _LIMIT.format(axis=("0 0 1", "0 1 0")[i % 2], lower=lower, upper=upper)
            child, name = f"{side}_link{i}", f"{side}_{name}"
            kind = "prismatic" if finger else "revolute"
            parts.append((_LINK + _JOINT).format(name=name, kind=kind, parent=parent, child=child, more=limit))
            limits = {"lower": lower, "upper": upper, "velocity": 2.0, "acceleration": 8.0, "jerk": 800.0}
            joints.append({"name": name, **limits, "home": home, "tracking_tolerance": 0.1})
            parent = child
    arms = {side: [f"{side}_{name}" for name in NAMES] for side in SIDES}
    fingers = {side: [f"{side}_finger"] for side in SIDES}
    profile: dict[str, Any] = {
        "name": "aloha",
        "urdf": "aloha.urdf",
        "base_frame": "base",
        "tool_frame": "right_link5",
        "control_hz": 100.0,
        "joints": joints,
        "groups": {"arm": arms["right"], "left_arm": arms["left"]}
        | {f"{side}_gripper": fingers[side] for side in SIDES},
        "controllers": [
            {"name": f"{side}_controller", "type": "joint_trajectory", "joints": arms[side] + fingers[side]}
            for side in SIDES
        ],
        "cameras": [{"name": name, "width": 64, "height": 48, "rate_hz": 50.0, "frame": "base"} for name in CAMERAS],
        "workspace": {"lower": [-1.0, -1.0, -1.0], "upper": [1.0, 1.0, 1.0]},
    }
    (folder / "aloha.urdf").write_text("".join([*parts, "</robot>"]))
    (folder / "profile.yaml").write_text(yaml.safe_dump(profile, sort_keys=False))
    return load_profile(folder / "profile.yaml")

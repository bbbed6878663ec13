"""The profile of a robot as far as its URDF and SRDF tell it; the rest is a guess that the profile calls unknown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tendon.core.errors import ConfigError
from tendon.robots.drafting.arm import Arm, find_arm
from tendon.robots.drafting.gripper import find_gripper
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import GRIPPER, Box, ControllerSpec, Joint, RobotProfile
from tendon.robots.quantities import MAX_TURN
from tendon.robots.srdf import Srdf, read_srdf
from tendon.robots.urdf import Urdf, UrdfJoint, read_urdf

HOMES = ("home", "ready", "default")
"""States of an SRDF that are a home, the likeliest first; else the first that names every joint of the arm."""
TURN = (0.5, 1.0, 0.1)
"""Guesses for a joint that turns: velocity [rad/s], acceleration [rad/s^2], tracking tolerance [rad]."""
SLIDE = (0.1, 0.5, 0.02)
"""For one that slides: the same in m."""
JERK = 100.0
"""Of its acceleration [1/s]."""
HALF_BOX_M = 0.1
"""Of the guessed workspace, around the tool at home."""
DECIMALS = 6


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A drafted profile, and what a person should know of how it came about."""

    profile: RobotProfile
    remarks: tuple[str, ...]


def draft_profile(name: str, urdf: Path, srdf: Path | None) -> Draft:
    """Returns the profile of a robot.

    Every joint that can move is in it, but those that follow another and those that an SRDF calls passive. Guesses are
    gentle and listed in `unknown`, so that the profile loads and cannot be armed.

    Args:
        name: of the profile.
        urdf: the robot.
        srdf: of the same robot.

    Raises:
        ConfigError: a file is wrong, the SRDF is of another robot, or no joint can move.
    """
    robot = read_urdf(urdf)
    words = read_srdf(srdf, robot) if srdf is not None else None
    passive = words.passive if words is not None else frozenset()
    stuck = [each for each in robot.commanded if robot.joints[each].limit.lower >= robot.joints[each].limit.upper]
    commanded = [each for each in robot.commanded if each not in passive and each not in stuck]
    if not commanded:
        raise ConfigError(f"URDF {urdf} has no joint that can move: nothing to drive")
    arm = find_arm(robot, commanded, words)
    home, home_remarks = _home(robot, arm, commanded, words)
    joints = tuple(_joint(robot.joints[each], home.get(each), each in arm.fingers) for each in commanded)
    gripper = find_gripper(robot, arm)
    profile = RobotProfile(
        name=name,
        urdf=urdf,
        base_frame=robot.root,
        tool_frame=arm.tool,
        joints=joints,
        groups=_groups(arm, commanded, words),
        controllers=_controllers(arm, commanded),
        cameras=(),
        workspace=Box(lower=(-1.0, -1.0, -1.0), upper=(1.0, 1.0, 1.0)),
        grippers=() if gripper is None else (gripper,),
        unknown=_unknown(robot, arm, commanded, is_home=set(arm.joints) <= set(home), has_gripper=gripper is not None),
    )
    tool, _ = Kinematics(profile).tool_pose(profile.vector("home"))
    low, high = (np.round(tool + side * HALF_BOX_M, 3).tolist() for side in (-1, 1))
    remarks = (
        *(f"joint {each} is left out: its lower limit is not below its upper one" for each in stuck),
        *_beside(arm, commanded),
        *(f"joint {each} is left out: the SRDF calls it passive" for each in sorted(passive)),
        *home_remarks,
    )
    return Draft(profile=replace(profile, workspace=Box(lower=tuple(low), upper=tuple(high))), remarks=remarks)


def _beside(arm: Arm, commanded: list[str]) -> tuple[str, ...]:
    """Returns what is to be said of joints that are neither the arm's nor its gripper's."""
    others = _others(arm, commanded)
    if not others:
        return ()
    return (
        f"{others[0]} to {others[-1]} ({len(others)}) are beside the arm, in other_controller: a second arm needs a "
        "group, controllers and a gripper of its own, as the profile so101_pair has them (docs/how-to/own-robot.md)",
    )


def _others(arm: Arm, commanded: list[str]) -> tuple[str, ...]:
    return tuple(joint for joint in commanded if joint not in (*arm.joints, *arm.gripper))


def _joint(joint: UrdfJoint, home: float | None, is_finger: bool) -> Joint:
    velocity, acceleration, tolerance = SLIDE if joint.kind == "prismatic" else TURN
    limit, scale = joint.limit, 10.0**DECIMALS
    lower, upper = (-math.pi, math.pi) if joint.kind == "continuous" else (limit.lower, limit.upper)
    # Inward, so that no digit that is left out widens a limit.
    lower, upper = (
        math.ceil(max(lower, -MAX_TURN) * scale) / scale,
        math.floor(min(upper, MAX_TURN) * scale) / scale,
    )
    return Joint(
        name=joint.name,
        lower=lower,
        upper=upper,
        velocity=math.floor(limit.velocity * scale) / scale if 0 < limit.velocity <= 100 else velocity,
        acceleration=acceleration,
        jerk=JERK * acceleration,
        home=min(max(round(home or 0.0, DECIMALS), lower), upper),
        tracking_tolerance=None if is_finger else tolerance,
    )


def _home(
    robot: Urdf, arm: Arm, commanded: list[str], srdf: Srdf | None
) -> tuple[Mapping[str, float], tuple[str, ...]]:
    """Returns the state of an SRDF that is a home, and what is to be said of it."""
    states = {name: state for name, state in (srdf.states if srdf else {}).items() if set(arm.joints) <= set(state)}
    names = [*(name for name in HOMES if name in states), *states]
    if not names:
        return {}, ()
    state = {joint: value for joint, value in states[names[0]].items() if joint in commanded}
    for joint, value in state.items():
        limit = robot.joints[joint].limit
        if not limit.lower - 1e-4 <= value <= limit.upper + 1e-4:
            return {}, (
                f"state {names[0]} of the SRDF is no home: it puts {joint} at {value:g}, and the URDF's limits are "
                f"{limit.lower:g} and {limit.upper:g}",
            )
    return state, (f"home is the state {names[0]} of the SRDF",)


def _groups(arm: Arm, commanded: list[str], srdf: Srdf | None) -> dict[str, tuple[str, ...]]:
    groups = {"arm": arm.joints} | ({GRIPPER: arm.gripper} if arm.gripper else {})
    for name, members in (srdf.groups if srdf is not None else {}).items():
        joints = tuple(joint for joint in members if joint in commanded)
        # No group of fingers and others: every joint of an arm is watched, and fingers are held off their targets.
        mixed = 0 < len(arm.fingers.intersection(joints)) < len(joints)
        if arm.fingers.issuperset(joints) and not name.endswith(GRIPPER):
            name = f"{name}_{GRIPPER}"
        if joints and not mixed and name not in groups and joints not in groups.values():
            groups[name] = joints
    grouped = {joint for joints in groups.values() for joint in joints}
    if others := tuple(joint for joint in commanded if joint in arm.fingers - grouped):
        groups[f"other_{GRIPPER}"] = others
    return groups


def _controllers(arm: Arm, commanded: list[str]) -> tuple[ControllerSpec, ...]:
    others = _others(arm, commanded)
    parts = {"arm_controller": arm.joints, "gripper_controller": arm.gripper, "other_controller": others}
    return tuple(ControllerSpec(name=k, type="joint_trajectory", joints=v) for k, v in parts.items() if v)


def _unknown(robot: Urdf, arm: Arm, commanded: list[str], *, is_home: bool, has_gripper: bool) -> tuple[str, ...]:
    """Returns what neither file says, in the order in which it is found out best."""
    driven = [robot.joints[name] for name in commanded]
    asked = {
        "joints": not arm.is_only,
        "position_limits": any(not abs(joint.limit.lower) + abs(joint.limit.upper) <= 2 * MAX_TURN for joint in driven),
        "velocity": any(not 0 < joint.limit.velocity <= 100 for joint in driven),
        "acceleration": True,
        "jerk": True,
        "tool_frame": not arm.is_tool_sure,
        "home": not is_home,
        "workspace": True,
        "grippers": bool(arm.gripper) and not has_gripper,
        "controllers": True,
        "cameras": True,
        "tracking_tolerance": True,
    }
    return tuple(name for name, is_asked in asked.items() if is_asked)

"""What hangs on what: the tool on the arm, fingers on their gripper's joint, and joints that nothing drives."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pinocchio as pin

from tendon.robots.inspection.finding import Finding, error, note, warning
from tendon.robots.model import link_index, load_model
from tendon.robots.profile import Gripper, RobotProfile
from tendon.robots.urdf import Urdf, read_urdf

NEAR_M = 0.01
"""A tool closer to the last joint than this has no direction away from it."""


def inspect_frames(profile: RobotProfile) -> Iterator[Finding]:
    """Yields what is wrong with frames, groups and controllers.

    Raises:
        ConfigError: the URDF is wrong.
    """
    urdf = read_urdf(profile.urdf)
    carrying = urdf.moved_by(profile.tool_frame)
    arm = profile.groups.get("arm", ())
    if not arm:
        yield error(
            "groups", "there is no group arm", "name the joints that carry the tool: inverse kinematics moves them"
        )
    for joint in arm:
        if joint not in carrying:
            yield error(
                f"joint {joint}",
                f"it is in group arm and does not move the tool frame {profile.tool_frame}",
                "take it out of the group, or name the right tool_frame",
            )
    for gripper in profile.grippers:
        yield from _gripper(profile, gripper, urdf)
    yield from _held(profile, urdf, carrying)
    if arm and set(arm) <= set(carrying):
        yield from _direction(profile, next(name for name in reversed(carrying) if name in arm))
    for controller in profile.controllers:
        ours = [name for name in profile.joint_names if name in controller.joints]
        if list(controller.joints) != ours:
            yield warning(
                f"controller {controller.name}",
                "its joints are in another order than the profile's",
                "nothing, if that is the order of the controller on the robot; otherwise correct it",
            )


def _gripper(profile: RobotProfile, gripper: Gripper, urdf: Urdf) -> Iterator[Finding]:
    where = f"gripper {gripper.joint}"
    carried = urdf.moved_by(gripper.frame)
    moved = {finger: [name for name in urdf.moved_by(finger) if name not in carried] for finger in gripper.fingers}
    if not any(gripper.joint in joints for joints in moved.values()):
        yield error(where, "it moves none of its fingers", "name the joint that does, or the links that it moves")
    for finger, joints in moved.items():
        for joint in (name for name in joints if name != gripper.joint):
            mover = "which the profile drives by itself" if joint in profile.joint_names else "which nothing moves"
            yield error(
                where,
                f"its finger {finger} hangs on joint {joint}, {mover}: the gripper would close on one side only",
                f'give {joint} a <mimic joint="{gripper.joint}"/> in the URDF, if the gripper couples them',
            )


def _held(profile: RobotProfile, urdf: Urdf, carrying: list[str]) -> Iterator[Finding]:
    """Yields the joints that count as fixed at zero."""
    fingers = {name for gripper in profile.grippers for link in gripper.fingers for name in urdf.moved_by(link)}
    held = [name for name in urdf.commanded if name not in profile.joint_names]
    for name in (name for name in held if name in carrying):
        yield warning(
            f"joint {name}",
            "it moves the tool and is not in the profile: it counts as fixed at zero",
            "put it in the profile, or make it fixed in the URDF where it is",
        )
    others = [name for name in held if name not in carrying and name not in fingers]
    if others:
        yield note(
            "joints",
            f"{len(others)} of the URDF are not in the profile and count as fixed at zero: {', '.join(others)}",
            "nothing, if they stand there; otherwise clearances are wrong",
        )


def _direction(profile: RobotProfile, last: str) -> Iterator[Finding]:
    """Yields a tool frame whose z axis leads back into the arm."""
    robot = load_model(profile)
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, robot.expand(profile.vector("home")))
    tool = data.oMf[link_index(robot.model, profile.tool_frame)]
    away = tool.translation - data.oMi[robot.model.getJointId(last)].translation
    length = float(np.linalg.norm(away))
    if length > NEAR_M and away @ tool.rotation[:, 2] < 0.5 * length:
        yield warning(
            f"tool_frame {profile.tool_frame}",
            f"its z axis does not lead away from joint {last}",
            "a policy that sends tool poses, and the tasks of the simulator, expect z away from the arm",
        )

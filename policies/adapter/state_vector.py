"""The state vector of a policy, from measured joints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import pinocchio as pin

from tendon.core.errors import MismatchError
from tendon.core.types import Array
from tendon.policies.adapter.conventions import JointConvention, joint_types
from tendon.policies.spec.components import JointComponent
from tendon.policies.spec.rotations import ROTATIONS
from tendon.policies.spec.spaces import StateItem
from tendon.robots.kinematics import Kinematics, kinematics_at
from tendon.robots.profile import RobotProfile

Part = Callable[[Array, Array], Array]


class StateVector:
    """Measured joints to the numbers that a policy sees, in its order and units, not normalised. One instance a thread.

    Args:
        where: what error messages call the policy.
        items: of the manifest.
        mean: (S,) of the state; of the ways to write a rotation, the one nearest to it is taken.
        profile: the robot.

    Raises:
        MismatchError: the robot lacks a joint, a unit is not one of that joint, or the policy sees tool or finger, and
            the robot has no arm or not exactly one finger.
    """

    def __init__(self, where: str, items: Sequence[StateItem], mean: Array, profile: RobotProfile) -> None:
        self._parts: list[Part] = []
        about_joints = all(item.name in ("joints", "finger_position") for item in items)
        kinematics = None if about_joints else tool_kinematics(where, profile)
        start = 0
        for item in items:
            centre = np.asarray(mean, dtype=np.float64)[start : start + item.size]
            start += item.size
            if item.name == "joints":
                self._parts.append(JointConvention(f"{where} state joints", item.joints, profile).read)
            elif item.name == "finger_position":
                finger = finger_component(where, profile)
                self._parts.append(JointConvention(f"{where} state finger_position", [finger], profile).read)
            elif kinematics is not None:
                self._parts.append(_tool(item, centre, _of_frame(where, item, kinematics, profile)))

    def read(self, joint_position: Array, joint_velocity: Array) -> Array:
        """Returns (S,) for (n,) positions [rad or m] and velocities."""
        return np.concatenate([part(joint_position, joint_velocity) for part in self._parts])


def tool_kinematics(where: str, profile: RobotProfile) -> Kinematics:
    """Returns the kinematics of the arm that carries the tool.

    Raises:
        MismatchError: the profile does not say which joints those are.
    """
    if not profile.groups.get("arm"):
        raise MismatchError(
            f"{where}: profile {profile.name} has no joint group arm, which carries the tool: name its joints there"
        )
    return Kinematics(profile)


def finger_component(where: str, profile: RobotProfile) -> JointComponent:
    """Returns the only joint of group gripper as a number in m.

    It is the joint's position, or of one that turns how far each fingertip is from the middle, as `grippers` says.

    Raises:
        MismatchError: there is not exactly one joint, or one that turns and no such gripper.
    """
    fingers = profile.groups.get("gripper", ())
    if len(fingers) != 1:
        raise MismatchError(
            f"{where}: profile {profile.name}: joints in group gripper is {len(fingers)}, expected 1: the policy moves "
            "one finger; for another number take items `joints`"
        )
    if joint_types(profile)[fingers[0]] == "prismatic":
        return JointComponent(joint=fingers[0], unit="m")
    for gripper in profile.grippers:
        if gripper.joint == fingers[0]:
            slope = 2.0 * (gripper.open - gripper.closed) / gripper.width
            sign: Literal[1, -1] = 1 if slope > 0 else -1
            return JointComponent(joint=gripper.joint, unit="rad", sign=sign, scale=abs(slope), zero=gripper.closed)
    raise MismatchError(
        f"{where}: the policy's finger is in m, and {fingers[0]} of profile {profile.name} turns: describe it in "
        "`grippers` of the profile, which says how wide it opens"
    )


def _tool(item: StateItem, centre: Array, kinematics: Kinematics) -> Part:
    if item.name == "tool_position":
        return lambda position, velocity: kinematics.tool_pose(position)[0]
    if item.name == "tool_velocity":
        return kinematics.tool_velocity
    write, turn = ROTATIONS[item.rotation].from_matrix, pin.rpy.rpyToMatrix(*(item.frame_rpy or (0.0, 0.0, 0.0)))
    return lambda position, velocity: write(kinematics.tool_pose(position)[1] @ turn, centre)


def _of_frame(where: str, item: StateItem, kinematics: Kinematics, profile: RobotProfile) -> Kinematics:
    if item.frame is None:
        return kinematics
    return kinematics_at(profile, item.frame, f"{where}: state {item.name} is of frame {item.frame}")

"""Joint components set against a robot: one permutation and one affine map, checked before anything moves."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

from tendon.core.errors import ConfigError, MismatchError
from tendon.core.types import Array
from tendon.policies.spec.components import CONSTANT, SHARE_UNITS, JointComponent
from tendon.robots.profile import Joint, RobotProfile

UNITS_OF = {
    "revolute": ("rad", "deg", "rad/s", "deg/s"),
    "continuous": ("rad", "deg", "rad/s", "deg/s"),
    "prismatic": ("m", "m/s"),
}
"""URDF joint types to the units they can be in, beside a share of their range."""


class JointConvention:
    """What each of C numbers says about n joints: joint = slope * number + offset.

    Numbers are about joints as they are; what the robot says is larger by the zeros of its calibration.

    Args:
        where: what error messages call the list, such as "bundle reach: action joints".
        components: the C words, in the policy's order.
        profile: the robot.

    Attributes:
        index: (C,) which joint each is about; 0 for a constant.
        slope: (C,) rad or m (a second) of one of the policy's numbers; 1 for a constant.
        offset: (C,) what the robot says of the joint where the number is 0.
        velocity: (C,) whether it is a speed.
        constant: (C,) whether it is about no joint.
        value: (C,) what a constant says, 0 for the others.

    Raises:
        MismatchError: the robot has no such joint, a unit is not one of that joint, or a gripper's share does not say
            which end is open.
    """

    def __init__(self, where: str, components: Sequence[JointComponent], profile: RobotProfile) -> None:
        types, grippers = joint_types(profile), gripper_joints(profile)
        index, affine = [], []
        for component in components:
            if component.unit == CONSTANT:
                index.append(0)
                affine.append((1.0, 0.0))
                continue
            joint = known_joint(where, component.joint, profile)
            _check_unit(where, component, types[joint.name], joint.name in grippers)
            index.append(profile.joint_names.index(joint.name))
            affine.append(component.affine(joint.lower, joint.upper))
        self.components = tuple(components)
        self.index: npt.NDArray[np.intp] = np.array(index, dtype=np.intp)
        self.slope, self.offset = np.array(affine, dtype=np.float64).reshape(-1, 2).T.copy()
        self.velocity = np.array([component.is_velocity for component in components], dtype=bool)
        self.constant = np.array([component.unit == CONSTANT for component in components], dtype=bool)
        self.value = np.array([component.value for component in components], dtype=np.float64)
        self.offset += np.where(self.velocity | self.constant, 0.0, profile.zeros[self.index])

    def read(self, joint_position: Array, joint_velocity: Array) -> Array:
        """Returns the (C,) numbers of a measured state, in the policy's units."""
        measured = np.where(self.velocity, joint_velocity[self.index], joint_position[self.index])
        return np.where(self.constant, self.value, (measured - self.offset) / self.slope)


def known_joint(where: str, name: str, profile: RobotProfile) -> Joint:
    """Returns a joint of the profile.

    Raises:
        MismatchError: there is none of this name.
    """
    for joint in profile.joints:
        if joint.name == name:
            return joint
    raise MismatchError(
        f"{where} names joint {name}, which profile {profile.name} has not (it has {', '.join(profile.joint_names)}): "
        "correct the name, or make it {unit: constant} if the robot lacks that joint"
    )


def gripper_joints(profile: RobotProfile) -> frozenset[str]:
    """Returns the joints of groups with "gripper" in their name, such as left_gripper."""
    return frozenset(joint for group, joints in profile.groups.items() if "gripper" in group for joint in joints)


def joint_types(profile: RobotProfile) -> dict[str, str]:
    """Returns the URDF type of each joint of the profile.

    Raises:
        ConfigError: the URDF lacks one.
    """
    found = {
        joint.get("name", ""): joint.get("type", "")
        for joint in ElementTree.parse(profile.urdf).getroot().iter("joint")
    }
    missing = [name for name in profile.joint_names if name not in found]
    if missing:
        raise ConfigError(f"URDF {profile.urdf} has no joint {', '.join(missing)}, which profile {profile.name} names")
    return {name: found[name] for name in profile.joint_names}


def _check_unit(where: str, component: JointComponent, kind: str, is_gripper: bool) -> None:
    fitting = UNITS_OF.get(kind, ())
    if component.unit not in SHARE_UNITS and component.unit not in fitting:
        raise MismatchError(
            f"{where}: {component.joint} is in {component.unit}, but is a {kind} joint: expected one of "
            f"{', '.join((*fitting, *SHARE_UNITS))}"
        )
    if component.unit in SHARE_UNITS and is_gripper and component.open is None:
        smallest, largest = (f"{end:g}" for end in SHARE_UNITS[component.unit])
        raise MismatchError(
            f"{where}: {component.joint} is a gripper in {component.unit}, and open is not given: "
            f"say which number is open, open: {smallest} or open: {largest}"
        )

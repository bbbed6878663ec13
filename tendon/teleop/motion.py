"""From what a hand wants to where the joints go: a tool that is led, or an arm that is followed.

Both begin at each press where the robot rests, so that nothing jumps, and both go no faster than the robot can.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol

import numpy as np
import pinocchio as pin

from tendon.core.errors import ConfigError
from tendon.core.types import Array
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import Gripper, RobotProfile
from tendon.teleop.axis_map import Intent

SPEED_SHARE = 0.5
"""Part of a joint's velocity limit that is used: the filter has room to follow without cutting corners."""
ACCELERATION = np.array([1.0] * 3 + [5.0] * 3)
"""Of the tool that is led [m/s^2, rad/s^2]: keys are pressed at once, an arm is not in motion at once."""
BRAKING = 4.0
"""How many times that when the hand wants less: what is let go of should not roll on."""
BEHIND_M, BEHIND_RAD = 0.01, 0.05
"""How far the tool may fall behind where it is led; beyond that it is led from where it is."""
LOST_TURN = 0.5
"""An axis of the tool about which less than this part of a turn can be had is lost."""


class Fingers:
    """The gripper of a hand."""

    def __init__(self, profile: RobotProfile, gripper: Gripper | None) -> None:
        self._gripper = gripper
        self.column = None if gripper is None else profile.joint_names.index(gripper.joint)
        self.columns = () if self.column is None else (self.column,)
        self._velocity = 0.0 if self.column is None else float(profile.vector("velocity")[self.column])

    def move(self, target: Array, strokes: float, step_s: float) -> None:
        """Opens (closes, below 0) the fingers of (n,) `target` by some strokes, no faster than they can."""
        if self._gripper is not None and self.column is not None:
            way = strokes * (self._gripper.open - self._gripper.closed)
            most = self._velocity * step_s
            ends = sorted((self._gripper.open, self._gripper.closed))
            here = float(target[self.column])
            there = min(max(here + min(max(way, -most), most), min(ends[0], here)), max(ends[1], here))
            target[self.column] = there

    def share(self, position: Array) -> float | None:
        """Returns how far they are open, 0 to 1; `None` without any."""
        if self._gripper is None or self.column is None:
            return None
        return (float(position[self.column]) - self._gripper.closed) / (self._gripper.open - self._gripper.closed)


class Motion(Protocol):
    """What a hand drives.

    Attributes:
        arm: columns of its joints in the joint vector, without the gripper.
        columns: with it.
        fingers: its gripper.
        note: why it does not go as the hand wants; empty when it does.
    """

    arm: list[int]
    columns: list[int]
    fingers: Fingers
    note: str

    def engage(self, position: Array, intent: Intent) -> None:
        """Begins at (n,) `position`, whatever the device says."""

    def step(self, intent: Intent, step_s: float) -> Array:
        """Returns the (n,) target after a time; joints that are not its own stay.

        Args:
            intent: what the hand wants.
            step_s: since the last step.
        """

    def stay(self, position: Array) -> None:
        """Goes on from (n,) `position` instead of the last target, and from rest."""


class ToolMotion:
    """Leads the tool of an arm by velocities.

    Args:
        profile: the robot.
        group: which arm.
    """

    def __init__(self, profile: RobotProfile, group: str) -> None:
        gripper = _gripper_of(profile, group)
        own = gripper is None or _same(profile, group, "arm")
        frame = profile.tool_frame if own else gripper.frame  # type: ignore[union-attr]
        self._kinematics = Kinematics(profile, frame, group)
        self.fingers = Fingers(profile, gripper)
        self.arm = list(profile.group_indices(group))
        self.columns = [*self.arm, *self.fingers.columns]
        self._most = SPEED_SHARE * profile.vector("velocity")
        self._few = len(self.arm) < 6
        self._workspace = profile.workspace if own else None
        self._target = profile.vector("home")
        self._twist = np.zeros(6)
        self._position, self._rotation = self._kinematics.tool_pose(self._target)
        self.note = ""

    def lost_axes(self, joint_position: Array) -> tuple[str, ...]:
        """Returns the axes of the tool about which an arm of fewer than six joints cannot turn it at will."""
        turns = self._kinematics.reachable_turns(joint_position)
        return tuple(axis for axis, part in zip("xyz", turns, strict=True) if part < LOST_TURN)

    def pose(self, joint_position: Array) -> tuple[Array, Array]:
        """Returns the tool's position (3,) [m] and rotation (3, 3) in the base frame."""
        return self._kinematics.tool_pose(joint_position)

    def engage(self, position: Array, intent: Intent) -> None:
        """See `Motion`."""
        del intent
        self.note = ""
        self.stay(position)

    def stay(self, position: Array) -> None:
        """See `Motion`."""
        self._target, self._twist = np.array(position, dtype=np.float64), np.zeros(6)
        self._position, self._rotation = self._kinematics.tool_pose(self._target)

    def step(self, intent: Intent, step_s: float) -> Array:
        """See `Motion`."""
        brakes = (np.abs(intent.twist) < np.abs(self._twist)) | (intent.twist * self._twist < 0.0)
        most = ACCELERATION * np.where(brakes, BRAKING, 1.0) * step_s
        self._twist += np.clip(intent.twist - self._twist, -most, most)
        target = self._lead(intent.in_tool, step_s) if self._twist.any() else self._target.copy()
        self.fingers.move(target, intent.gripper * step_s, step_s)
        self._target = target
        return target.copy()

    def _lead(self, in_tool: bool, step_s: float) -> Array:
        turn = self._rotation if in_tool else np.eye(3)
        way, angle = turn @ self._twist[:3] * step_s, turn @ self._twist[3:] * step_s
        position, rotation = self._inside(self._position + way), pin.exp3(angle) @ self._rotation
        target, before = self._kinematics.toward(self._target, position, rotation), self._target
        fastest = np.abs(target - before)[self.arm] / (self._most[self.arm] * step_s)
        self.note = ""
        if (share := float(fastest.max(initial=0.0))) > 1.0:
            target = before + (target - before) / share
            self.note = "as fast as the joints go"
        here, turned = self._kinematics.tool_pose(target)
        behind = float(np.linalg.norm(position - here))
        missed = float(np.linalg.norm(pin.log3(rotation @ turned.T)))
        if behind > BEHIND_M or (missed > BEHIND_RAD and not self._few):
            position = here
            rotation = turned
            self.note = self.note or "at the end of its reach"
        self._position, self._rotation = position, turned if self._few else rotation
        return target

    def _inside(self, position: Array) -> Array:
        """Returns a place drawn into the workspace; one that is outside already goes no further out."""
        if self._workspace is None:
            return position
        lower = np.minimum(self._workspace.lower, self._position)
        upper = np.maximum(self._workspace.upper, self._position)
        return np.clip(position, lower, upper)


class ArmMotion:
    """Follows the joints of a leader arm, each from where both are when the deadman is pressed.

    Args:
        profile: the robot.
        group: which arm.
        joints: see `AxisMap.joints`.
        gripper: of the leader: joint, closed and open position; `None` looks for one of the same name.
    """

    def __init__(
        self,
        profile: RobotProfile,
        group: str,
        joints: Mapping[str, str],
        leader: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        self._profile, self._joints, self._leader = profile, joints, dict(leader or {})
        self.arm = list(profile.group_indices(group))
        self.fingers = Fingers(profile, _gripper_of(profile, group))
        self.columns = [*self.arm, *self.fingers.columns]
        self._most = SPEED_SHARE * profile.vector("velocity")
        self._lower, self._upper = profile.vector("lower"), profile.vector("upper")
        self._target, self._reference = profile.vector("home"), profile.vector("home")
        self._pairs: list[tuple[int, str, float, float]] = []
        self.note = ""

    def engage(self, position: Array, intent: Intent) -> None:
        """See `Motion`.

        Raises:
            ConfigError: the leader lacks a joint.
        """
        self._target, self._reference, self.note = np.array(position), np.array(position), ""
        self._pairs = [(column, name, sign, intent.joints[name]) for column, name, sign in self._pairing(intent.joints)]

    def _pairing(self, given: Mapping[str, float]) -> list[tuple[int, str, float]]:
        names = [self._profile.joint_names[column] for column in self.arm]
        others = [name for name in given if name not in self._leader]
        in_order = dict(zip(names, others, strict=False)) if len(others) == len(names) else {}
        pairs = []
        for column, name in zip(self.arm, names, strict=True):
            named = self._joints.get(name) or (name if name in given else in_order.get(name, ""))
            sign, leader = (-1.0, named[1:]) if named.startswith("-") else (1.0, named)
            if leader not in given:
                raise ConfigError(
                    f"the leader arm has no joint for {name}, it has {', '.join(given) or 'none'}: say which under "
                    "`joints` in a map (--map FILE)"
                )
            pairs.append((column, leader, sign))
        return pairs

    def stay(self, position: Array) -> None:
        """See `Motion`."""
        self._target = np.array(position)

    def step(self, intent: Intent, step_s: float) -> Array:
        """See `Motion`."""
        wanted = self._target.copy()
        for column, name, sign, reference in self._pairs:
            wanted[column] = self._reference[column] + sign * (intent.joints.get(name, reference) - reference)
        wanted = np.clip(wanted, np.minimum(self._lower, self._target), np.maximum(self._upper, self._target))
        most = self._most * step_s
        self.note = "as fast as the joints go" if (np.abs(wanted - self._target) > most).any() else ""
        target = self._target + np.clip(wanted - self._target, -most, most)
        opening = self._opening(intent)
        here = self.fingers.share(target)
        if opening is not None and here is not None:
            self.fingers.move(target, opening - here, step_s)
        self._target = target
        return target.copy()

    def _opening(self, intent: Intent) -> float | None:
        for name, (closed, open_) in self._leader.items():
            if name in intent.joints:
                return min(max((intent.joints[name] - closed) / (open_ - closed), 0.0), 1.0)
        return None


def _gripper_of(profile: RobotProfile, group: str) -> Gripper | None:
    """Returns the gripper of a group: its own, or the only one of a robot with one arm."""
    own = next((each for each in profile.grippers if each.group == group), None)
    return profile.grippers[0] if own is None and group == "arm" and len(profile.grippers) == 1 else own


def _same(profile: RobotProfile, one: str, other: str) -> bool:
    """Whether two groups of a profile are the same joints."""
    return other in profile.groups and set(profile.groups[one]) == set(profile.groups[other])


def rotation_degrees(rotation: Array) -> tuple[float, float, float]:
    """Returns roll, pitch and yaw [degrees] about fixed axes x, y, z, in this order."""
    roll, pitch, yaw = pin.rpy.matrixToRpy(rotation).tolist()
    return math.degrees(roll), math.degrees(pitch), math.degrees(yaw)

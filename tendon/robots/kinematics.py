"""Forward and inverse kinematics of a profile's tool frame, by pinocchio."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin

from tendon.core.checks import closest
from tendon.core.errors import KinematicsError, MismatchError
from tendon.core.types import Array
from tendon.robots.model import link_index, load_model
from tendon.robots.profile import RobotProfile
from tendon.robots.tool import TOOL_DOWN
from tendon.robots.urdf import read_urdf

DAMPING = 1e-6
"""Weight of a joint's motion against the tool's error, both squared."""
CHANGE_DAMPING = 1e-4
"""The same for one step that is not looked at again: near a singular pose joints would run away otherwise."""
LEAD_DAMPING = 1e-3
"""The same for steps that follow one another, where the next makes up for what one leaves: with less, an arm at the
end of its reach is drawn further out by steps that are too long for it."""
MAX_STEP = 0.3
"""Of a joint in one iteration [rad or m]: the linear model holds that far."""
POSTURE_SHARE, POSTURE_FADE = 0.1, 0.7
"""How much of the way to the home posture redundancy is drawn, and how much of that is left at each iteration."""
PATIENCE = 15
"""Iterations that may go by without the error getting a tenth smaller."""
FEW_JOINTS_WEIGHT = 100.0
"""An arm of fewer than six joints cannot have any pose: 1 mm weighs as much as 0.1 rad there."""
NEAR_M, LARGEST_TILT = 2e-3, 1.0
"""How far the tool of such an arm may be off where it is led, and off pointing down [rad]."""


class Kinematics:
    """The tool frame of a robot as a function of its joint vector. One instance a thread (it holds scratch memory).

    Args:
        profile: the robot.
        frame: link that is the tool; by default the profile's.
        group: joints that inverse kinematics moves.

    Raises:
        ConfigError: its URDF cannot be read, or it has no such group.
    """

    def __init__(self, profile: RobotProfile, frame: str = "", group: str = "arm") -> None:
        robot = load_model(profile)
        self._model, self._spread, self._expand = robot.model, robot.spread, robot.expand
        self._data = self._model.createData()
        self._frame = link_index(self._model, frame or profile.tool_frame)
        self._arm = profile.group_indices(group)
        self._columns = robot.spread[:, self._arm]
        self._weight = None if len(self._arm) > 5 else np.array([FEW_JOINTS_WEIGHT] * 3 + [1.0] * 3)
        self._unit = np.eye(len(self._arm))
        self._damping = DAMPING * self._unit
        self._lower = profile.vector("lower")[self._arm]
        self._upper = profile.vector("upper")[self._arm]
        self._posture = profile.vector("home")[self._arm]

    def tool_pose(self, joint_position: Array) -> tuple[Array, Array]:
        """Returns the tool's position (3,) [m] and rotation matrix (3, 3) in the base frame."""
        pin.framesForwardKinematics(self._model, self._data, self._expand(joint_position))
        pose = self._data.oMf[self._frame]
        return pose.translation.copy(), pose.rotation.copy()

    def tool_velocity(self, joint_position: Array, joint_velocity: Array) -> Array:
        """Returns the tool's linear velocity (3,) [m/s] in the base frame."""
        jacobian = self._jacobian(joint_position)
        return np.asarray(jacobian[:3] @ (self._spread @ joint_velocity))

    def _jacobian(self, joint_position: Array) -> Array:
        q = self._expand(joint_position)
        jacobian = pin.computeFrameJacobian(self._model, self._data, q, self._frame, pin.LOCAL_WORLD_ALIGNED)
        pin.updateFramePlacement(self._model, self._data, self._frame)
        return np.asarray(jacobian).reshape(6, -1)  # pinocchio gives a vector for a robot of one joint

    def joint_change(self, joint_position: Array, tool_change: Array) -> Array:
        """Returns the (n,) change of joints that moves the tool by (3,) [m] and does not turn it, to first order.

        An arm of fewer than six joints turns it as little as it can.
        """
        columns, error = self._jacobian(joint_position) @ self._columns, np.concatenate([tool_change, np.zeros(3)])
        if self._weight is not None:
            columns, error = self._weight[:, None] * columns, self._weight * error
        change = np.zeros_like(joint_position)
        change[self._arm] = np.linalg.solve(columns.T @ columns + CHANGE_DAMPING * self._unit, columns.T @ error)
        return change

    def toward(self, joint_position: Array, position: Array, rotation: Array) -> Array:
        """Returns the (n,) joint vector one damped step nearer to a pose of the tool, inside the position limits.

        For a tool that is led a little further many times a second. Redundancy moves as little as it can, near a
        singular pose the tool falls behind, and a joint at its limit leaves the rest to the others. An arm of fewer
        than six joints goes to the place, and turns as far as it can.

        Args:
            joint_position: (n,) now; joints outside the group keep their value.
            position: (3,) [m] in the base frame.
            rotation: (3, 3) in the base frame.
        """
        columns, (here, turned) = self._jacobian(joint_position) @ self._columns, self.tool_pose(joint_position)
        error = np.concatenate([position - here, pin.log3(rotation @ turned.T)])
        if self._weight is not None:
            columns, error = self._weight[:, None] * columns, self._weight * error
        joints = np.array(joint_position, dtype=np.float64)
        arm = np.minimum(np.maximum(joints[self._arm], self._lower), self._upper)
        joints[self._arm] = self._step(columns.T @ columns + LEAD_DAMPING * self._unit, columns.T @ error, arm)
        return joints

    def reachable_turns(self, joint_position: Array) -> Array:
        """Returns (3,) which part of a turn about each axis of the tool an arm can do there without moving it."""
        _, rotation = self.tool_pose(joint_position)
        columns = self._jacobian(joint_position) @ self._columns
        weighted = np.concatenate([FEW_JOINTS_WEIGHT * columns[:3], columns[3:]])
        wanted = np.concatenate([np.zeros((3, 3)), rotation])
        change = np.linalg.solve(weighted.T @ weighted + DAMPING * self._unit, weighted.T @ wanted)
        return np.asarray(np.einsum("ij,ij->j", rotation, columns[3:] @ change))

    def inverse_down(self, position: Array, seed: Array, yaw: float = 0.0) -> Array:
        """Returns the (n,) joint vector that puts the tool at a place and has it point down.

        An arm of fewer than six joints points down as far as it can, and is up to `NEAR_M` off its place.

        Args:
            position: (3,) [m] in the base frame.
            seed: (n,) see `inverse`.
            yaw: of the tool about z, from `TOOL_DOWN` [rad].

        Raises:
            KinematicsError: no solution.
        """
        down = pin.utils.rotate("z", yaw) @ TOOL_DOWN if yaw else TOOL_DOWN
        if self._weight is None:
            return self.inverse(position, down, seed)
        return self.inverse(position, down, seed, tolerance=NEAR_M, rotation_tolerance=LARGEST_TILT)

    def inverse(
        self,
        position: Array,
        rotation: Array,
        seed: Array,
        *,
        ahead: Array | None = None,
        tolerance: float = 1e-4,
        rotation_tolerance: float = 1e-4,
        iterations: int = 60,
    ) -> Array:
        """Returns the joint vector near `seed` that puts the tool at a pose, inside the position limits.

        Damped least squares (Nakamura and Hanafusa 1986). A joint that a step would take past its limit stays there
        and the others make up for it. What redundancy is left keeps the arm near the seed and draws it to the home
        posture, less with each step, so that it does not keep the tool from its place.

        Args:
            position: (3,) [m] in the base frame.
            rotation: (3, 3) in the base frame.
            seed: (n,) what the answer is to be near to; joints outside group "arm" keep their value.
            ahead: (n,) a guess at answer - seed, such as what it was for the row before: it saves steps.
            tolerance: on distance [m] and angle [rad].
            rotation_tolerance: how far off the orientation may be [rad] where it cannot be had, as with fewer than six
                joints. The answer is the nearest one then.
            iterations: how many steps to try.

        Raises:
            KinematicsError: no solution within the tolerance; the message says how close it came.
        """
        joints = np.array(seed, dtype=np.float64)
        arm = joints[self._arm]
        joints[self._arm] = 0.0
        others = self._expand(joints)
        posture = arm + POSTURE_SHARE * (self._posture - arm)
        if ahead is not None:
            arm += ahead[self._arm]
        arm = np.minimum(np.maximum(arm, self._lower), self._upper)
        target, error, least, idle = pin.SE3(rotation, position), np.empty(6), np.inf, 0
        for k in range(iterations):
            q = others + self._columns @ arm
            jacobian = pin.computeFrameJacobian(self._model, self._data, q, self._frame, pin.LOCAL_WORLD_ALIGNED)
            jacobian = jacobian.reshape(6, -1)
            pose = pin.updateFramePlacement(self._model, self._data, self._frame)
            error[:3] = position - pose.translation
            error[3:] = pin.log3((target * pose.inverse()).rotation)
            x, y, z, *turn = error.tolist()  # plain numbers: a third of the time that numpy takes on so few
            away, turned = math.hypot(x, y, z), math.hypot(*turn)
            idle = 0 if away + turned < 0.9 * least else idle + 1
            least = min(least, away + turned)
            solved = away < tolerance and turned < (rotation_tolerance if idle > 2 else tolerance)
            if solved or idle > PATIENCE:
                break
            if self._weight is not None:
                jacobian, error = self._weight[:, None] * jacobian, self._weight * error
            jacobian = jacobian @ self._columns
            normal = jacobian.T @ jacobian + self._damping
            pull = DAMPING * POSTURE_FADE**k
            arm = self._step(normal, jacobian.T @ error + pull * (posture - arm), arm)
        if not solved:
            raise KinematicsError(
                f"no joint position puts the tool at {np.round(position, 3).tolist()} m: "
                f"closest is {away * 1e3:.1f} mm and {turned:.3f} rad off after {k + 1} steps"
            )
        joints[self._arm] = arm
        return joints

    def _step(self, normal: Array, gradient: Array, arm: Array) -> Array:
        """Returns the arm's joints after the step that solves `normal @ step = gradient`, inside the limits."""
        step, free = np.linalg.solve(normal, gradient), True
        for _ in range(len(arm)):
            largest = max(map(abs, step.tolist()))
            wanted = arm + step * (MAX_STEP / largest) if largest > MAX_STEP else arm + step
            inside = np.minimum(np.maximum(wanted, self._lower), self._upper)
            if inside.tolist() == wanted.tolist():
                break
            free = (inside == wanted) & free
            step = np.where(free, 0.0, inside - arm)
            others = np.flatnonzero(free)
            step[others] = np.linalg.solve(normal[np.ix_(others, others)], (gradient - normal @ step)[others])
        return inside


def kinematics_at(profile: RobotProfile, link: str, where: str, group: str = "arm", fix: str = "") -> Kinematics:
    """Returns the kinematics of a link that somebody else than the profile names.

    Args:
        profile: the robot.
        link: its name.
        where: who names it, for the error.
        group: joints that inverse kinematics moves.
        fix: what to do where there is none, for the error.

    Raises:
        MismatchError: the robot has no such link.
    """
    links = read_urdf(profile.urdf).links
    if link not in links:
        raise MismatchError(f"{where}: URDF {profile.urdf} has no such link{closest(link, links)}{fix}")
    return Kinematics(profile, link, group)

"""Forward and inverse kinematics of a profile's tool frame, by pinocchio."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from tendon.core.errors import ConfigError, KinematicsError
from tendon.core.profile import RobotProfile
from tendon.core.types import Array

DAMPING: Array = 1e-6 * np.eye(6)


class Kinematics:
    """The tool frame of a robot as a function of its joint vector. One instance a thread (it holds scratch memory).

    Args:
        profile: the robot; every joint of the profile must be in its URDF.

    Raises:
        ConfigError: the URDF lacks a joint or the tool frame.
    """

    def __init__(self, profile: RobotProfile) -> None:
        self._model = pin.buildModelFromUrdf(str(profile.urdf))
        missing = [name for name in profile.joint_names if not self._model.existJointName(name)]
        if missing:
            raise ConfigError(
                f"URDF {profile.urdf} has no joint {', '.join(missing)}, which profile {profile.name} names"
            )
        if not self._model.existFrame(profile.tool_frame):
            raise ConfigError(f"URDF {profile.urdf} has no frame {profile.tool_frame} (the profile's tool_frame)")
        self._data = self._model.createData()
        self._frame = self._model.getFrameId(profile.tool_frame)
        self._order = [self._model.joints[self._model.getJointId(name)].idx_q for name in profile.joint_names]
        self._arm = profile.group_indices("arm")
        self._arm_columns = [self._order[i] for i in self._arm]
        self._lower = profile.vector("lower")[self._arm]
        self._upper = profile.vector("upper")[self._arm]
        self._posture = profile.vector("home")[self._arm]
        self._neutral = pin.neutral(self._model)

    def _expand(self, joints: Array) -> Array:
        q: Array = self._neutral.copy()
        q[self._order] = joints
        return q

    def tool_pose(self, joint_position: Array) -> tuple[Array, Array]:
        """Returns the tool's position (3,) [m] and rotation matrix (3, 3) in the base frame."""
        pin.framesForwardKinematics(self._model, self._data, self._expand(joint_position))
        pose = self._data.oMf[self._frame]
        return pose.translation.copy(), pose.rotation.copy()

    def tool_velocity(self, joint_position: Array, joint_velocity: Array) -> Array:
        """Returns the tool's linear velocity (3,) [m/s] in the base frame."""
        jacobian = self._jacobian(joint_position)
        return np.asarray(jacobian[:3] @ self._expand(joint_velocity))

    def _jacobian(self, joint_position: Array) -> Array:
        q = self._expand(joint_position)
        jacobian = pin.computeFrameJacobian(self._model, self._data, q, self._frame, pin.LOCAL_WORLD_ALIGNED)
        pin.updateFramePlacement(self._model, self._data, self._frame)
        return np.asarray(jacobian)

    def inverse(
        self, position: Array, rotation: Array, seed: Array, tolerance: float = 1e-4, iterations: int = 60
    ) -> Array:
        """Returns the joint vector that puts the tool at a pose, the arm's redundancy drawn to the home posture.

        Damped least squares with a null-space posture term (Nakamura and Hanafusa 1986; Siciliano 1990),
        inside the position limits. Joints outside group "arm" keep their value in `seed`.

        Args:
            position: (3,) [m] in the base frame.
            rotation: (3, 3) in the base frame.
            seed: (n,) where to start; the answer is the solution near it.
            tolerance: on position [m] and orientation [rad].
            iterations: how many steps to try.

        Raises:
            KinematicsError: no solution within the tolerance; the message says how close it came.
        """
        joints = np.array(seed, dtype=np.float64)
        error = np.zeros(6)
        for _ in range(iterations):
            jacobian = self._jacobian(joints)
            pose = self._data.oMf[self._frame]
            error[:3] = position - pose.translation
            error[3:] = pin.log3(rotation @ pose.rotation.T)
            if max(error.max(), -error.min()) < tolerance:
                return joints
            jacobian = jacobian[:, self._arm_columns]
            arm = joints[self._arm]
            pull = 0.05 * (self._posture - arm)
            step = jacobian.T @ np.linalg.solve(jacobian @ jacobian.T + DAMPING, error - jacobian @ pull) + pull
            arm += np.minimum(np.maximum(step, -0.3), 0.3)  # np.clip costs twice as much on seven numbers
            joints[self._arm] = np.minimum(np.maximum(arm, self._lower), self._upper)
        distance, angle = float(np.linalg.norm(error[:3])), float(np.linalg.norm(error[3:]))
        raise KinematicsError(
            f"no joint position puts the tool at {np.round(position, 3).tolist()} m: "
            f"closest is {distance * 1e3:.1f} mm and {angle:.3f} rad off after {iterations} steps"
        )

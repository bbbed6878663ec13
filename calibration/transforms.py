"""Poses in space, and the vectors that change them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from tendon.core.errors import ConfigError
from tendon.core.types import Array, freeze

LEAST_LENGTH = 1e-9
"""Of a quaternion."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Pose:
    """Where a frame is, seen from another one.

    Attributes:
        rotation: (3, 3) its axes as columns.
        translation: (3,) its origin [m].
    """

    rotation: Array
    translation: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "rotation", freeze("rotation", self.rotation, (3, 3)))
        object.__setattr__(self, "translation", freeze("translation", self.translation, (3,)))

    def __matmul__(self, other: Pose) -> Pose:
        """Returns where a frame is that is at `other`, seen from this one."""
        return Pose(
            rotation=self.rotation @ other.rotation,
            translation=self.rotation @ other.translation + self.translation,
        )

    @property
    def inverse(self) -> Pose:
        """Where the other frame is, seen from this one."""
        return Pose(rotation=self.rotation.T, translation=-self.rotation.T @ self.translation)

    def apply(self, points: Array) -> Array:
        """Returns (..., 3) points of this frame [m], seen from the other one."""
        return np.asarray(points @ self.rotation.T + self.translation)

    def moved(self, change: Array) -> Pose:
        """Returns the pose after a (6,) change: translation [m], then a rotation vector [rad].

        Both are in the other frame's axes; the rotation turns about the frame's own origin.
        """
        return Pose(rotation=exp(change[3:]) @ self.rotation, translation=self.translation + change[:3])

    def change_to(self, other: Pose) -> Array:
        """Returns the (6,) change for which `moved` gives `other`."""
        return np.concatenate([other.translation - self.translation, log(other.rotation @ self.rotation.T)])

    @property
    def quaternion(self) -> tuple[float, float, float, float]:
        """x, y, z, w with w at least 0."""
        values = np.asarray(pin.Quaternion(np.array(self.rotation)).coeffs())
        x, y, z, w = (values if values[3] >= 0 else -values).tolist()
        return x, y, z, w


def exp(vector: Array) -> Array:
    """Returns the (3, 3) rotation of a (3,) rotation vector [rad]."""
    return np.asarray(pin.exp3(vector))


def log(rotation: Array) -> Array:
    """Returns the (3,) rotation vector [rad], at most pi long, of a (3, 3) rotation."""
    return np.asarray(pin.log3(rotation))


def from_quaternion(x: float, y: float, z: float, w: float) -> Array:
    """Returns the (3, 3) rotation of a quaternion of any length but 0.

    Raises:
        ConfigError: it is 0 long, or a number is not finite.
    """
    values = np.array([x, y, z, w])
    length = float(np.linalg.norm(values))
    if not (length > LEAST_LENGTH and math.isfinite(length)):
        raise ConfigError(f"quaternion is {values.tolist()}, must have a length above 0: 0, 0, 0, 1 turns nothing")
    return np.asarray(pin.Quaternion(values / length).matrix())


def mm_and_deg(change: Array) -> tuple[float, float]:
    """Returns how far a (6,) change of a pose goes [mm], and how far it turns [deg]."""
    return 1000 * float(np.linalg.norm(change[:3])), math.degrees(float(np.linalg.norm(change[3:])))


def nearest_rotation(matrix: Array) -> Array:
    """Returns the (3, 3) rotation nearest to a matrix (orthogonal Procrustes)."""
    u, _, vt = np.linalg.svd(matrix)
    return np.asarray(u @ np.diag([1.0, 1.0, float(np.sign(np.linalg.det(u @ vt)))]) @ vt)


def skews(vectors: Array) -> Array:
    """Returns (k, 3, 3) whose products with a vector are cross products of (k, 3) with it."""
    x, y, z = vectors.T
    zero = np.zeros_like(x)
    return np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=1).reshape(-1, 3, 3)

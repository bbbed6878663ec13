"""Poses in space, and the vectors that change them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tendon.core.types import Array, freeze


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
        x, y, z = log(self.rotation)
        angle = math.sqrt(x * x + y * y + z * z)
        scale = 0.5 if angle < 1e-9 else math.sin(angle / 2) / angle
        return x * scale, y * scale, z * scale, math.cos(angle / 2)


IDENTITY = Pose(rotation=np.eye(3), translation=np.zeros(3))


def skew(vector: Array) -> Array:
    """Returns (3, 3): the matrix whose product with a vector is the cross product."""
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def exp(vector: Array) -> Array:
    """Returns the (3, 3) rotation of a (3,) rotation vector [rad] (Rodrigues)."""
    angle = float(np.linalg.norm(vector))
    matrix = skew(vector)
    if angle < 1e-8:
        return np.eye(3) + matrix
    return np.asarray(
        np.eye(3) + math.sin(angle) / angle * matrix + (1 - math.cos(angle)) / angle**2 * (matrix @ matrix)
    )


def log(rotation: Array) -> Array:
    """Returns the (3,) rotation vector [rad], at most pi long, of a (3, 3) rotation."""
    twist = np.array(
        [rotation[2, 1] - rotation[1, 2], rotation[0, 2] - rotation[2, 0], rotation[1, 0] - rotation[0, 1]]
    )
    sine, cosine = float(np.linalg.norm(twist)) / 2, (float(np.trace(rotation)) - 1) / 2
    angle = math.atan2(sine, cosine)
    if sine > 1e-6:
        return np.asarray(twist * (angle / (2 * sine)))
    if cosine > 0:
        return twist / 2
    # Half a turn: the axis is in the symmetric part.
    outer = (rotation + np.eye(3)) / 2
    column = outer[:, int(np.argmax(np.diag(outer)))]
    return np.asarray(angle * column / np.linalg.norm(column))


def from_quaternion(x: float, y: float, z: float, w: float) -> Array:
    """Returns the (3, 3) rotation of a quaternion of any length but 0."""
    vector, norm = np.array([x, y, z]), math.sqrt(x * x + y * y + z * z + w * w)
    length = float(np.linalg.norm(vector))
    if length < 1e-12 * norm:
        return np.eye(3)
    return exp(vector / length * (2 * math.atan2(length, w)))


def nearest_rotation(matrix: Array) -> Array:
    """Returns the (3, 3) rotation nearest to a matrix (orthogonal Procrustes)."""
    u, _, vt = np.linalg.svd(matrix)
    return np.asarray(u @ np.diag([1.0, 1.0, float(np.sign(np.linalg.det(u @ vt)))]) @ vt)


def mean_pose(poses: list[Pose]) -> Pose:
    """Returns the pose in the middle: the mean of origins, and the rotation nearest to the mean of rotations."""
    return Pose(
        rotation=nearest_rotation(np.mean([pose.rotation for pose in poses], axis=0)),
        translation=np.median([pose.translation for pose in poses], axis=0),
    )


def skews(vectors: Array) -> Array:
    """Returns (k, 3, 3) whose products with a vector are cross products of (k, 3) with it."""
    x, y, z = vectors.T
    zero = np.zeros_like(x)
    return np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=1).reshape(-1, 3, 3)

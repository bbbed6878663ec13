"""The ways in which policies write a rotation down, each as a pair of functions to and from a matrix."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from tendon.core.errors import InvalidDataError
from tendon.core.types import Array

SHORTEST = 1e-6
"""A quaternion or a column shorter than this has no direction."""


@dataclass(frozen=True)
class Representation:
    """One way of writing a rotation down.

    Attributes:
        size: how many numbers it takes.
        to_matrix: (size,) numbers to a rotation matrix (3, 3); InvalidDataError where they are none.
        from_matrix: a rotation matrix and (size,) numbers to the numbers nearest to these that mean the rotation.
    """

    size: int
    to_matrix: Callable[[Array], Array]
    from_matrix: Callable[[Array, Array], Array]


def _nearest(candidates: list[Array], centre: Array) -> Array:
    return min(candidates, key=lambda numbers: float(np.sum((numbers - centre) ** 2)))


def _from_axis_angle(numbers: Array) -> Array:
    return np.asarray(pin.exp3(numbers))


def _to_axis_angle(matrix: Array, centre: Array) -> Array:
    vector = pin.log3(matrix)
    angle = float(np.linalg.norm(vector))
    if angle < SHORTEST:
        return vector
    return _nearest([vector, vector * (1.0 - 2.0 * np.pi / angle)], centre)


def _from_euler_xyz(numbers: Array) -> Array:
    return np.asarray(pin.rpy.rpyToMatrix(*numbers))


def _to_euler_xyz(matrix: Array, centre: Array) -> Array:
    roll, pitch, yaw = pin.rpy.matrixToRpy(matrix)
    twins = [np.array([roll, pitch, yaw]), np.array([roll + np.pi, np.pi - pitch, yaw + np.pi])]
    return _nearest([centre + (twin - centre + np.pi) % (2.0 * np.pi) - np.pi for twin in twins], centre)


def _from_quaternion_xyzw(numbers: Array) -> Array:
    length = float(np.linalg.norm(numbers))
    if not length > SHORTEST:
        raise InvalidDataError(f"quaternion {numbers.tolist()} has length {length:.1e}: it is no rotation")
    return np.asarray(pin.Quaternion(numbers / length).toRotationMatrix())


def _to_quaternion_xyzw(matrix: Array, centre: Array) -> Array:
    numbers = pin.Quaternion(matrix).coeffs()
    return _nearest([numbers, -numbers], centre)


def _from_columns(numbers: Array) -> Array:
    """Gram and Schmidt on the first two columns; Zhou et al. 2019, equation (15)."""
    x1, x2, x3, y1, y2, y3 = numbers.tolist()  # plain numbers: a tenth of the time that numpy takes on so few
    length = math.hypot(x1, x2, x3)
    if not length > SHORTEST:
        raise InvalidDataError(
            f"rot6d {numbers.tolist()} has a first direction of length {length:.1e}: it is no rotation"
        )
    x1, x2, x3 = x1 / length, x2 / length, x3 / length
    along = x1 * y1 + x2 * y2 + x3 * y3
    y1, y2, y3 = y1 - along * x1, y2 - along * x2, y3 - along * x3
    length = math.hypot(y1, y2, y3)
    if not length > SHORTEST:
        raise InvalidDataError(f"rot6d {numbers.tolist()} has but one direction: it is no rotation")
    y1, y2, y3 = y1 / length, y2 / length, y3 / length
    z1, z2, z3 = x2 * y3 - x3 * y2, x3 * y1 - x1 * y3, x1 * y2 - x2 * y1
    return np.array([[x1, y1, z1], [x2, y2, z2], [x3, y3, z3]])


ROTATIONS: dict[str, Representation] = {
    "axis_angle": Representation(3, _from_axis_angle, _to_axis_angle),
    "euler_xyz": Representation(3, _from_euler_xyz, _to_euler_xyz),
    "rot6d_columns": Representation(6, _from_columns, lambda matrix, centre: matrix[:, :2].T.ravel()),
    "rot6d_rows": Representation(
        6, lambda numbers: _from_columns(numbers).T.copy(), lambda matrix, centre: matrix[:2].ravel()
    ),
    "quaternion_xyzw": Representation(4, _from_quaternion_xyzw, _to_quaternion_xyzw),
}
"""Known ones.

- `axis_angle`: axis times angle [rad].
- `euler_xyz`: roll, pitch, yaw [rad] about fixed axes, R = Rz(yaw) Ry(pitch) Rx(roll), as in URDF and scipy's "xyz".
- `rot6d_columns`, `rot6d_rows`: the first two columns (Zhou et al. 2019) or rows (pytorch3d) of the matrix, in turn.
- `quaternion_xyzw`: of any length and sign.

A rotation has several axis-angles, Euler angles and quaternions: `from_matrix` takes the one nearest to the mean that
the policy was trained with. Near half a turn, where a gripper that points down is, it would else jump between two.
"""

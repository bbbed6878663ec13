"""Rotations: to a matrix and back is one law for each way of writing them down, and the nearest of several is taken."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tendon.core.errors import InvalidDataError
from tendon.core.types import Array
from tendon.policies.spec.rotations import ROTATIONS
from tests.laws import law_settings

NUMBERS = st.floats(-4.0, 4.0)
QUATERNIONS = hnp.arrays(np.float64, 4, elements=st.floats(-1, 1)).filter(lambda q: np.linalg.norm(q) > 0.1)


def random_matrix(numbers: Array) -> Array:
    return ROTATIONS["quaternion_xyzw"].to_matrix(numbers)


@pytest.mark.parametrize("name", ROTATIONS)
@law_settings()
@given(quaternion=QUATERNIONS, seed=st.integers(0, 1000))
def test_written_down_and_read_again_is_the_same_rotation(name: str, quaternion: Array, seed: int) -> None:
    """Whatever the centre is that it should be near to."""
    kind, matrix = ROTATIONS[name], random_matrix(quaternion)
    numbers = kind.from_matrix(matrix, np.random.default_rng(seed).uniform(-4, 4, kind.size))
    assert numbers.shape == (kind.size,)
    np.testing.assert_allclose(kind.to_matrix(numbers), matrix, atol=1e-6)


@pytest.mark.parametrize("name", ROTATIONS)
@law_settings()
@given(data=st.data())
def test_what_is_read_is_a_rotation(name: str, data: st.DataObject) -> None:
    """Orthonormal and right-handed, for any numbers of a network; or an error that says there is none."""
    kind = ROTATIONS[name]
    numbers = data.draw(hnp.arrays(np.float64, kind.size, elements=NUMBERS))
    try:
        matrix = kind.to_matrix(numbers)
    except InvalidDataError as error:
        assert "no rotation" in str(error)
        return
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(3), atol=1e-6)
    assert np.linalg.det(matrix) == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["axis_angle", "euler_xyz", "quaternion_xyzw"])
@law_settings()
@given(quaternion=QUATERNIONS, tilt=hnp.arrays(np.float64, 3, elements=st.floats(-1e-3, 1e-3)))
def test_a_small_turn_is_a_small_change_of_the_numbers(name: str, quaternion: Array, tilt: Array) -> None:
    """Also across half a turn, where the plain formulas jump: numbers near the last ones are taken."""
    kind, matrix = ROTATIONS[name], random_matrix(quaternion)
    before = kind.from_matrix(matrix, np.zeros(kind.size))
    if name == "euler_xyz" and abs(np.cos(before[1])) < 0.1:
        return  # gimbal lock: roll and yaw are not continuous there
    if name == "axis_angle" and np.linalg.norm(before) < 0.1:
        return
    after = kind.from_matrix(ROTATIONS["axis_angle"].to_matrix(tilt) @ matrix, before)
    assert np.abs(after - before).max() < 0.05


def test_known_values() -> None:
    """A quarter turn about z, by hand: so that a convention cannot change on both ways at once."""
    half = np.sqrt(0.5)
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    for name, numbers in {
        "axis_angle": [0, 0, np.pi / 2],
        "euler_xyz": [0, 0, np.pi / 2],
        "quaternion_xyzw": [0, 0, half, half],
        "rot6d_columns": [0, 1, 0, -1, 0, 0],
        "rot6d_rows": [0, -1, 0, 1, 0, 0],
    }.items():
        np.testing.assert_allclose(ROTATIONS[name].to_matrix(np.array(numbers, float)), turn, atol=1e-12)
        centre = np.zeros(len(numbers))
        found = ROTATIONS[name].from_matrix(turn, centre)
        sign = np.sign(found[-1]) if name == "quaternion_xyzw" else 1.0
        np.testing.assert_allclose(sign * found, numbers, atol=1e-12)


def test_euler_angles_turn_about_fixed_axes_in_the_order_x_y_z() -> None:
    """R = Rz Ry Rx, as scipy's lower-case "xyz" and URDF's rpy."""
    roll, pitch, yaw = 0.3, -0.4, 0.5
    single = ROTATIONS["axis_angle"].to_matrix
    expected = single(np.array([0, 0, yaw])) @ single(np.array([0, pitch, 0])) @ single(np.array([roll, 0, 0]))
    np.testing.assert_allclose(ROTATIONS["euler_xyz"].to_matrix(np.array([roll, pitch, yaw])), expected, atol=1e-12)


def test_a_tool_that_points_down_is_written_near_the_mean() -> None:
    """Half a turn about x is (pi, 0, 0) or (-pi, 0, 0): the policy was trained on one of them."""
    for sign in (1.0, -1.0):
        for tilt in (-0.01, 0.01):
            down = ROTATIONS["axis_angle"].to_matrix(np.array([np.pi + tilt, 0.0, 0.0]))
            found = ROTATIONS["axis_angle"].from_matrix(down, np.array([sign * 3.0, 0.0, 0.0]))
            np.testing.assert_allclose(found, [sign * np.pi + tilt, 0.0, 0.0], atol=1e-6)

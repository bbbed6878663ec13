"""Where a hand goes to grip: next to the jaw that stands still, turned like the thing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.robots.profile import load_profile
from tendon.sim.scenes.jaws import CLEAR_M, aside_of, still_face, yaw_between_fingers


@pytest.mark.parametrize("robot", ["panda", "ur5e_2f85", "xarm7"])
def test_fingers_that_all_move_have_no_still_face(robot: str) -> None:
    profile = load_profile(robot)
    assert still_face(profile, profile.grippers[0]) == 0.0


def test_the_jaw_of_an_so101_that_stands_still_is_34_mm_from_the_tools_middle() -> None:
    profile = load_profile("so101")
    assert still_face(profile, profile.grippers[0]) == pytest.approx(0.0341, abs=1e-4)


@given(
    face=st.floats(0.02, 0.05), side=st.sampled_from([-1, 1]), half=st.floats(0.002, 0.015), yaw=st.floats(-1.5, 1.5)
)
def test_a_thing_is_clear_of_the_still_jaw_before_the_hand_closes(
    face: float, side: int, half: float, yaw: float
) -> None:
    tool = aside_of(side * face, half, yaw)
    along = np.array([-math.sin(yaw), math.cos(yaw), 0.0])
    assert abs(tool @ along) == pytest.approx(max(face - half - CLEAR_M, 0.0), abs=1e-12)
    np.testing.assert_allclose(np.cross(tool, along), 0.0, atol=1e-12)


@given(yaw=st.floats(-10, 10))
def test_a_yaw_between_fingers_is_the_things_or_half_a_turn_from_it(yaw: float) -> None:
    c, s = math.cos(yaw), math.sin(yaw)
    found = yaw_between_fingers(np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]))
    assert -math.pi / 2 <= found <= math.pi / 2
    assert abs(math.sin(found - yaw)) < 1e-9

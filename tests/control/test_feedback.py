"""Which of the last commands a robot is held by, as far as its joints can tell."""

from __future__ import annotations

import numpy as np
import pytest

from tendon.control.feedback import Feedback
from tendon.control.standstill import Standstill
from tendon.core.types import Array, Observation
from tests.control.limits_checker import PROFILE
from tests.control.robot_side import MS, PERIOD_NS

OLDER, NEWEST = np.full(8, 0.1), np.r_[np.full(7, 0.14), 0.104]
ARM, GRIPPER = slice(0, 7), 7


def measured_at(position: Array) -> Feedback:
    feedback = Feedback(PROFILE, Standstill(PROFILE.safety, PERIOD_NS))
    feedback.take(Observation(stamp_ns=MS, joint_position=position, joint_velocity=np.zeros(8)), MS)
    return feedback


@pytest.mark.parametrize("arm", [OLDER, NEWEST])
@pytest.mark.parametrize("gripper", [OLDER, NEWEST])
def test_two_controllers_may_have_heard_different_commands(arm: Array, gripper: Array) -> None:
    """Also where gravity pulls the arm off, by what is still taken for held."""
    place = np.r_[arm[ARM], gripper[GRIPPER]]
    sagged = place + np.r_[np.full(7, 0.09) * PROFILE.tracking_tolerance[ARM], 0.0]
    assert (measured_at(sagged).nearest((OLDER, NEWEST)) == place).all()


def test_a_robot_that_is_off_both_is_pressed_on_and_starts_where_it_is() -> None:
    pressed = OLDER - np.r_[np.zeros(6), 0.05, 0.0]
    assert (measured_at(pressed).nearest((OLDER, NEWEST)) == np.r_[pressed[ARM], OLDER[GRIPPER]]).all()


@pytest.mark.parametrize("arm", [OLDER, NEWEST])
def test_what_holds_an_object_goes_with_the_arm(arm: Array) -> None:
    assert (measured_at(np.r_[arm[ARM], 0.2]).nearest((OLDER, NEWEST)) == arm).all()

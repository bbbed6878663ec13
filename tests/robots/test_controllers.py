"""The controllers of a profile: each joint follows its own, and what is wrong is refused by name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tendon.core.errors import InvalidDataError, MismatchError
from tendon.core.types import SentTrajectory
from tendon.robots.controllers import Controllers
from tendon.robots.profile import load_profile

MS = 1_000_000
PROFILE = load_profile("panda")
HAND = replace(PROFILE.controllers[1], type="forward_command", timeout_s=0.1)
MIXED = replace(PROFILE, controllers=(PROFILE.controllers[0], HAND))
HOME = PROFILE.vector("home")


def trajectory(position: list[float], velocity: list[float] | None = None) -> SentTrajectory:
    """One point, 100 ms from now."""
    return SentTrajectory(
        stamp_ns=0,
        joint_names=PROFILE.controllers[0].joints,
        times_ns=[100 * MS],
        position=np.array([position]),
        velocity=np.array([velocity or [0.0] * 7]),
    )


def test_each_controller_moves_its_own_joints() -> None:
    """The arm plays a trajectory, the hand goes to a position within a period; both in the profile's order."""
    controllers = Controllers(MIXED, HOME)
    goal = HOME[:7] + 0.1
    controllers.accept_trajectory("panda_arm_controller", trajectory(goal.tolist()), 1000 * MS)
    controllers.accept_positions("panda_hand_controller", [0.039], 1000 * MS)
    position, velocity = controllers.sample(1005 * MS)
    assert position[7] == pytest.approx(0.0395) and velocity[7] == pytest.approx(-0.1)
    assert (position[:7] > HOME[:7]).all() and (velocity[:7] > 0).all()
    position, velocity = controllers.sample(2000 * MS)
    np.testing.assert_allclose(position, [*goal, 0.039])
    assert not velocity.any()


def test_what_is_wrong_is_refused_and_what_ran_goes_on() -> None:
    controllers = Controllers(MIXED, HOME)
    goal = (HOME[:7] + 0.1).tolist()
    controllers.accept_trajectory("panda_arm_controller", trajectory(goal), 1000 * MS)
    expected = controllers.sample(1050 * MS)
    with pytest.raises(MismatchError, match=r"no joint_trajectory controller panda_arm; did you mean panda_arm_contr"):
        controllers.accept_trajectory("panda_arm", trajectory(goal), 1000 * MS)
    with pytest.raises(MismatchError, match="no forward_command controller panda_arm_controller"):
        controllers.accept_positions("panda_arm_controller", goal, 1000 * MS)
    with pytest.raises(InvalidDataError, match="position that is not finite"):
        controllers.accept_trajectory("panda_arm_controller", trajectory([np.nan] * 7), 1000 * MS)
    with pytest.raises(InvalidDataError, match="must end at rest"):
        controllers.accept_trajectory("panda_arm_controller", trajectory(goal, [0.1] * 7), 1000 * MS)
    for wrong in ([np.nan], [0.01, 0.02], []):
        with pytest.raises(InvalidDataError, match="commanded position"):
            controllers.accept_positions("panda_hand_controller", wrong, 1000 * MS)
    for got, wanted in zip(controllers.sample(1050 * MS), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)

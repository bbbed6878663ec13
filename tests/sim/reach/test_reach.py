"""The suite `reach`: a ball that the robot can reach, for every robot, and an exact check."""

from __future__ import annotations

import numpy as np
import pytest

from tendon.control.clearance.model import Clearance
from tendon.core.errors import MismatchError
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import load_profile
from tendon.sim.reach.scene import sample_scene
from tendon.sim.reach.suite import REACH
from tests.sim.test_robot_body import ROBOTS


@pytest.mark.parametrize("robot", ROBOTS)
def test_the_ball_is_where_a_posture_without_contact_has_the_tool(robot: str) -> None:
    profile = load_profile(robot)
    clearance, kinematics = Clearance(profile), Kinematics(profile)
    for seed in (-3, 0, 2**62):
        scene = sample_scene(profile, seed)
        assert scene == sample_scene(profile, seed)
        posture = np.array(scene.posture)
        assert (clearance.distances(posture) > clearance.margin).all()
        np.testing.assert_allclose(kinematics.tool_pose(posture)[0], scene.ball)
        assert (profile.vector("lower") <= posture).all() and (posture <= profile.vector("upper")).all()


def test_it_is_done_when_the_tool_is_there_and_progress_grows_on_the_way() -> None:
    profile = load_profile("ur5e")
    world, scene = REACH.world(profile), sample_scene(profile, 7)
    world.reset(scene)
    home, way = profile.vector("home"), np.array(scene.posture) - profile.vector("home")
    seen = []
    for share in (0.0, 0.5, 1.0):
        world.reset_joints(home + share * way)
        seen.append((scene.task.progress(world), scene.task.success(world)))
    world.close()
    assert seen[0] == (0.0, False) and 0.05 < seen[1][0] < 1.0 and seen[2] == (1.0, True)


def test_what_is_no_scene_is_said() -> None:
    profile = load_profile("ur5e")
    with pytest.raises(ValueError, match="unknown task family push; known: reach"):
        sample_scene(profile, 0, "push")
    with pytest.raises(ValueError, match="must be an integer of 64 bits"):
        sample_scene(profile, 2**63)


def test_a_robot_that_can_go_nowhere_is_a_mismatch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tendon.sim.reach.scene.LARGEST_TURN", 1e-3)
    with pytest.raises(MismatchError, match="ur5e reaches hardly a place in its workspace from home"):
        sample_scene(load_profile("ur5e"), 1)

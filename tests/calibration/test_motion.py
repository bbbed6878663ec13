"""Planned views, the motion between them through the filter, and the whole rig in simulation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tendon.calibration.motion import plan
from tendon.calibration.motion.guide import Guide, clear_of
from tendon.calibration.motion.plan import plan_views
from tendon.control.clearance.model import Clearance
from tendon.core.errors import CalibrationError, MissingDependencyError, StoppedError
from tendon.core.types import Array, Command
from tendon.demo.calibration.rig import draw_rig
from tendon.robots.environment import load_environment
from tendon.robots.trajectory_controller import TrajectoryController
from tests.calibration.rigs import HOME, PANDA

CLEARANCE = Clearance(PANDA, load_environment("tabletop"))


class FollowingRobot:
    """A robot that is where its trajectory controller says; one may hold its arm."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.held: Array | None = None
        self.places: list[Array] = []
        self._controller = TrajectoryController(PANDA.joint_names, HOME)

    def observe_joints(self) -> tuple[Array, Array]:
        position, velocity = self._controller.sample(self.now_ns)
        if self.held is not None:
            return self.held, np.zeros_like(position)
        return np.array(position), np.array(velocity)

    def apply(self, command: Command) -> Command:
        self._controller.accept_command(command, self.now_ns)
        return command

    def advance(self, until_ns: int) -> None:
        self.now_ns = until_ns
        self.places.append(self.observe_joints()[0])


def test_planned_views_keep_clear_stay_inside_and_turn_about_all_axes() -> None:
    true = draw_rig(PANDA, np.random.default_rng(0))
    poses = plan_views(true.nominal, clear_of(CLEARANCE), 10)
    assert len(poses) == 10
    for pose in poses:
        assert (CLEARANCE.distances(pose) > CLEARANCE.margin).all()
        assert (pose >= PANDA.vector("lower")).all() and (pose <= PANDA.vector("upper")).all()
    assert (np.ptp(poses, axis=0)[3:7] > np.radians(20)).all()


def test_a_board_that_nobody_sees_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "TRIES", 500)
    true = draw_rig(PANDA, np.random.default_rng(0))
    with pytest.raises(CalibrationError, match=r"0 of 500 poses .*put the board nearer"):
        plan_views(true.nominal, lambda joints: False, 3)


def test_the_guide_goes_there_slowly_through_the_filter_and_rests() -> None:
    robot = FollowingRobot()
    guide = Guide(PANDA, robot, CLEARANCE)
    goal = HOME + np.array([0.2, -0.1, 0.1, 0.1, 0.2, 0.1, 0.3, 0.0])
    at = guide.go(goal)
    np.testing.assert_allclose(at.joint_position, goal, atol=3e-3)
    assert np.abs(at.joint_velocity).max() < 2e-3
    speeds = np.abs(np.diff(robot.places, axis=0)) * PANDA.control_hz / PANDA.vector("velocity")
    assert speeds.max() < 0.25
    assert all((CLEARANCE.distances(place) > CLEARANCE.margin - 1e-3).all() for place in robot.places[::20])
    guide.stop("done")


def test_an_arm_that_is_held_stops_the_guide_and_another_one_goes_on() -> None:
    robot = FollowingRobot()
    guide = Guide(PANDA, robot, CLEARANCE)
    robot.held = HOME
    with pytest.raises(StoppedError, match="lead it with another guide"):
        guide.go(HOME + np.array([0.5, 0, 0, 0, 0, 0, 0, 0]))
    robot = FollowingRobot()
    goal = HOME + np.array([0.1, 0, 0, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(Guide(PANDA, robot, CLEARANCE).go(goal).joint_position, goal, atol=3e-3)


@pytest.mark.laws
def test_a_whole_rig_in_simulation(tmp_path: Path) -> None:
    """As `make calibrate-demo`: near to the truth, bound to a bundle, refused with another calibration, drift found."""
    from tendon.demo.calibration.binding import bound_bundle
    from tendon.demo.calibration.story import check_again, tell_story

    try:
        told = tell_story(tmp_path, simulator="mujoco", tell=lambda line: None)
    except MissingDependencyError as error:
        pytest.skip(str(error))
    assert told.camera_mm["wrist"] < 1.0 and told.camera_deg["wrist"] < 0.1 and told.zero_deg < 0.1
    starts, refusal = bound_bundle(told.profile, told.record, tmp_path)
    assert starts and "made_for calibration" in refusal
    assert check_again(told, "mujoco", 0, 0.0).holds and not check_again(told, "mujoco", 0, 0.002, 0.2).holds

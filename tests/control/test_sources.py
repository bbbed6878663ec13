"""Whose chunks are followed, how fast, and the way home: every hand-over is bumpless."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tendon.control.controller import Controller
from tendon.control.executor import Placement
from tendon.core.errors import InvalidDataError, StoppedError
from tendon.core.modes import Mode, Source
from tendon.core.types import ActionChunk, Observation
from tests.control.limits_checker import PROFILE, make_chunk
from tests.control.robot_side import MS, Robot

HOME = PROFILE.vector("home")


def to(joint: int, way: float, now_ns: int) -> ActionChunk:
    """A chunk that leads one joint away from home."""
    rows = np.tile(HOME, (40, 1))
    rows[:, joint] += np.linspace(0.0, way, 40)
    return make_chunk(rows, now_ns, 50 * MS)


def armed() -> Robot:
    robot = Robot()
    robot.arm()
    for _ in range(40):
        robot.tick()
    return robot


def test_only_the_selected_source_is_followed_and_the_switch_keeps_every_limit() -> None:
    robot = armed()
    assert robot.controller.submit(to(0, 0.8, robot.now_ns), robot.now_ns) is Placement.ACCEPTED
    teleop = to(2, -0.8, robot.now_ns)
    assert robot.controller.submit(teleop, robot.now_ns, Source.TELEOP, robot.now_ns) is Placement.IDLE
    for _ in range(60):
        robot.tick()
    robot.controller.guidance.select(Source.TELEOP)
    for k in range(60):
        if k >= 2:
            if k == 2:
                teleop = to(2, -0.8, robot.now_ns)
            held = replace(teleop, observation_stamp_ns=robot.now_ns)
            assert (
                robot.controller.submit(held, robot.now_ns, Source.TELEOP, teleop.observation_stamp_ns)
                is Placement.ACCEPTED
            )
        tick = robot.tick()
    assert tick.mode is Mode.RUNNING and robot.velocities[-1][2] < -0.1
    robot.controller.guidance.select(Source.HOLD)
    for _ in range(60):
        tick = robot.tick()
    assert tick.mode is Mode.RUNNING and not robot.velocities[-1].any(), "hold is at rest and not latched"
    robot.controller.guidance.select(Source.POLICY)
    assert robot.controller.submit(to(1, 0.3, robot.now_ns), robot.now_ns) is Placement.ACCEPTED
    for _ in range(60):
        robot.tick()
    robot.assert_inside()


def test_invalid_chunks_in_a_row_are_those_of_who_leads() -> None:
    """A hand that says that nobody holds once made each invalid chunk of a policy the first."""
    robot = armed()
    for _ in range(9):
        robot.controller.reject("NaN", Source.TELEOP)
        robot.tick()
    assert robot.controller.mode is Mode.ARMED
    for _ in range(2):
        robot.controller.reject("NaN", Source.POLICY)
        robot.controller.submit(to(0, 0.1, robot.now_ns), robot.now_ns, Source.TELEOP)
    assert robot.controller.mode is Mode.ARMED
    robot.controller.reject("NaN", Source.POLICY)
    robot.tick()
    assert robot.controller.mode.stopped


def test_slow_scales_the_speed_and_hold_rests_without_latching_and_goes_on() -> None:
    robot = armed()
    fast = to(0, 40.0, robot.now_ns)
    robot.controller.submit(fast, robot.now_ns)
    for _ in range(40):
        robot.tick()
    limit = PROFILE.vector("velocity")[0]
    assert robot.velocities[-1][0] == pytest.approx(limit, rel=1e-6)
    robot.controller.guidance.set_speed_scale(0.25)
    for _ in range(30):
        robot.tick()
    assert robot.velocities[-1][0] == pytest.approx(0.25 * limit, rel=1e-6)
    robot.controller.guidance.set_speed_scale(0.0)
    for _ in range(20):
        tick = robot.tick()
    assert tick.reasons == ("held",) and not robot.velocities[-1].any() and tick.mode is Mode.RUNNING
    robot.controller.guidance.set_speed_scale(1.0)
    for _ in range(10):
        tick = robot.tick()
    assert not robot.velocities[-1].any() and tick.mode is Mode.RUNNING, "it raced after what went on meanwhile"
    robot.controller.submit(to(0, 40.0, robot.now_ns), robot.now_ns)
    for _ in range(10):
        robot.tick()
    assert robot.velocities[-1][0] > 0.25 * limit
    robot.assert_inside()
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(InvalidDataError, match="speed"):
            robot.controller.guidance.set_speed_scale(wrong)


def test_a_robot_that_was_not_armed_is_not_said_to_be_at_home() -> None:
    robot = Robot(HOME + 0.3)
    assert not robot.controller.at_home()


def test_home_is_reached_slowly_from_a_motion_and_only_when_armed() -> None:
    robot = Robot()
    with pytest.raises(StoppedError, match="home"):
        robot.controller.begin_home()
    robot = armed()
    robot.controller.submit(to(0, 0.8, robot.now_ns), robot.now_ns)
    for _ in range(80):
        robot.tick()
    moving = robot.velocities[-1][0]
    assert moving > 0.1
    count = len(robot.velocities)
    robot.controller.follow_home(np.array([robot.controller.begin_home(), HOME]))
    for _ in range(900):
        tick = robot.tick()
        if robot.controller.at_home():
            break
    assert robot.controller.at_home() and tick.mode is Mode.RUNNING
    assert np.allclose(robot.positions[-1], HOME, atol=2e-3)
    assert (np.abs(robot.velocities[count:]) <= 0.25 * PROFILE.vector("velocity")).all()
    assert robot.controller.guidance.source is Source.HOME
    robot.assert_inside()


def test_a_controller_without_a_stop_on_the_wire_needs_a_timeout_of_its_own() -> None:
    def ready(timeout_s: float | None) -> Controller:
        drives = replace(PROFILE.controllers[0], type="forward_command", timeout_s=timeout_s)
        controller = Controller(replace(PROFILE, controllers=(drives, *PROFILE.controllers[1:])))
        still = Observation(stamp_ns=1000 * MS, joint_position=HOME, joint_velocity=np.zeros(8))
        controller.tick(1000 * MS, still)
        return controller

    with pytest.raises(StoppedError, match="timeout_s"):
        ready(None).arm()
    controller = ready(0.1)
    controller.arm()
    assert controller.mode is Mode.ARMED


def test_a_profile_without_a_collision_model_arms_only_when_it_says_so() -> None:
    """Forgotten, it is refused with the command that makes one; `collisions: none` is meant."""
    still = Observation(stamp_ns=1000 * MS, joint_position=HOME, joint_velocity=np.zeros(8))
    controller = Controller(replace(PROFILE, collisions=None))
    controller.tick(1000 * MS, still)
    with pytest.raises(StoppedError, match=r"no collision model.*`tendon robot collisions`.*collisions: none"):
        controller.arm()
    assert controller.mode is Mode.STANDBY
    controller = Controller(replace(PROFILE, collisions="none"))
    controller.tick(1000 * MS, still)
    controller.arm()
    assert controller.mode is Mode.ARMED


def test_after_a_hold_a_chunk_leads_on_that_saw_the_robot_at_rest() -> None:
    """One that was asked for before is of a plan that ended with the hold."""
    robot = armed()
    assert robot.controller.submit(to(0, 0.8, robot.now_ns), robot.now_ns) is Placement.ACCEPTED
    for _ in range(60):
        robot.tick()
    before = to(0, 0.8, robot.now_ns)
    robot.controller.guidance.set_speed_scale(0.0)
    for _ in range(60):
        robot.tick()
        robot.controller.guidance.set_speed_scale(0.0)
    rested = to(0, 0.8, robot.now_ns)
    for _ in range(10):
        robot.tick()
    robot.controller.guidance.set_speed_scale(1.0)
    assert robot.controller.submit(before, robot.now_ns) is Placement.OLDER
    assert (robot.controller.guidance.looked_at_ns, robot.controller.guidance.plan_ns) == (
        before.observation_stamp_ns,
        0,
    )
    assert robot.controller.submit(rested, robot.now_ns) is Placement.ACCEPTED
    assert robot.controller.guidance.looked_at_ns == robot.controller.guidance.plan_ns == rested.observation_stamp_ns
    robot.assert_inside()


@pytest.mark.parametrize("source", [Source.HOLD, Source.TELEOP])
@pytest.mark.parametrize("ticks", [0, 1])
def test_the_policy_leads_again_from_where_the_robot_came_to_rest(source: Source, ticks: int) -> None:
    """Given back while it brakes, a chunk asked for in motion would lead it back to where it was seen."""
    robot = armed()
    robot.controller.submit(to(0, 40.0, robot.now_ns), robot.now_ns)
    for _ in range(60):
        robot.tick()
    robot.controller.guidance.select(source)
    for _ in range(ticks):
        robot.tick()
    robot.controller.guidance.select(Source.POLICY)
    refused = 0
    while robot.controller.submit(to(1, 0.3, robot.now_ns), robot.now_ns) is not Placement.ACCEPTED:
        robot.tick()
        refused += 1
    assert refused > 5 and np.abs(robot.velocities[-1]).max() < 0.05
    for _ in range(60):
        robot.tick()
    robot.assert_inside()

"""What joints bear: a contact stops the robot, which comes back from it; a payload slows it down."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.control.controller import Controller
from tendon.core.causes import Cause
from tendon.core.errors import StoppedError
from tendon.core.modes import Mode
from tendon.core.types import Array, Observation
from tendon.robots.effort import EffortLimit
from tendon.robots.profile import RobotProfile
from tendon.robots.safety_settings import SafetySettings, bounds_of
from tendon.safety.effort_watch import EffortWatch
from tendon.safety.response import Response
from tests.control.limits_checker import PROFILE
from tests.control.robot_side import MS, Robot
from tests.control.test_controller import swing
from tests.laws import law_settings

CONTACT, PAYLOAD = 30.0, 20.0


def limited(**settings: float) -> RobotProfile:
    """Returns the Panda with limits of what its arm bears."""
    arm = tuple(replace(joint, contact_effort=CONTACT, payload_effort=PAYLOAD) for joint in PROFILE.joints[:7])
    return replace(PROFILE, joints=(*arm, PROFILE.joints[7]), safety=SafetySettings(**settings))


class FeelingRobot(Robot):
    """A robot whose joints say what they bear."""

    effort: Array = np.zeros(8)

    def observe(self) -> Observation:
        return replace(super().observe(), joint_effort=self.effort)


def running() -> FeelingRobot:
    robot = FeelingRobot()
    robot.controller = Controller(limited(), held=PROFILE.vector("home"))
    robot.tick()
    robot.arm()
    robot.controller.submit(swing(robot.now_ns, robot.now_ns), robot.now_ns)
    for _ in range(40):
        robot.tick()
    assert robot.controller.mode is Mode.RUNNING
    return robot


def test_a_person_who_is_touched_and_seen_is_not_pressed_on() -> None:
    """The robot once stayed 14 mrad beyond, as a person so near forbade it the way back too."""
    robot, joint = running(), np.arange(8) == 1
    robot.controller._filter.guards = (lambda path, away: "panda_link5 too close to a person",)
    place = robot.observe().joint_position
    for _ in range(200):
        ahead = robot.side.sample(robot.now_ns + 10 * MS)[0] - place
        robot.offset = np.where(joint, -ahead, 0.0)
        robot.effort = np.where(joint & (np.abs(ahead) > 0.01), 1.01 * CONTACT, 0.0)
        robot.tick()
    assert robot.controller.mode is Mode.LATCHED
    assert abs(robot.positions[-1][1] - place[1]) < 1e-9


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_contact_stops_within_three_ticks_and_the_robot_comes_back_to_where_it_touched(sign: float) -> None:
    robot = running()
    since, place = len(robot.positions), robot.observe().joint_position
    robot.effort = sign * CONTACT * 1.01 * (np.arange(8) == 2)
    ticks = [robot.tick() for _ in range(3)]
    assert ticks[0].mode is Mode.RUNNING and ticks[2].mode is Mode.STOPPING
    assert ticks[2].cause is Cause.EFFORT
    assert ticks[2].reasons[0] == f"contact: panda_joint3 bears an effort of {sign * 30.3:.3g}, allowed 30"
    touched = robot.observe().joint_position
    for _ in range(150):
        robot.tick()
    assert robot.controller.mode is Mode.LATCHED
    away = np.abs(robot.positions[-1][:7] - place[:7])
    assert (away <= np.abs(touched - place)[:7] + 0.02).all(), "it stays pressed on"
    robot.assert_inside(since)
    with pytest.raises(StoppedError, match="contact: panda_joint3"):
        robot.controller.reset()
    robot.effort = np.zeros(8)
    robot.tick()
    robot.controller.reset()


def test_one_sample_is_noise_and_a_joint_without_a_limit_may_bear_anything() -> None:
    robot = running()
    robot.effort = np.where(np.arange(8) == 7, 1e6, 0.0)
    for k in range(30):
        robot.effort = np.where(np.arange(8) == 2, 99.0 * (k % 4 == 0), robot.effort)
        assert robot.tick().mode is Mode.RUNNING


def test_a_payload_that_lasts_slows_down_and_a_contact_that_nobody_stops_for_stops() -> None:
    watch = EffortWatch(limited())
    light, heavy, wall = (level * (np.arange(8) == 1) for level in (19.0, 21.0, 31.0))
    found = {}
    story = (("light", light), ("heavy", heavy), ("gone", light), ("forgotten", light), ("wall", wall))
    for second, (name, effort) in enumerate(story):
        for k in range(100):
            watch.measured(effort, (1000 * second + 10 * k) * MS)
            for finding in watch.findings(0):
                found.setdefault((name, finding.response), 10 * k)
    assert found == {("heavy", Response.SLOW): 500, ("wall", Response.STOP): 150, ("wall", Response.SLOW): 500}


@law_settings(max_examples=50)
@given(
    efforts=st.lists(st.floats(-100, 100) | st.just(float("nan")), min_size=1, max_size=40),
    lasts=st.integers(0, 5),
)
def test_the_limit_is_broken_when_every_sample_of_that_time_is_above_it_and_never_by_one_below(
    efforts: list[float], lasts: int
) -> None:
    limit = EffortLimit(("joint",), np.array([30.0]), lasts * 0.01)
    for k, effort in enumerate(efforts):
        limit.measured(np.array([effort]), k * 10 * MS)
        last = efforts[max(0, k - lasts) : k + 1]
        if len(last) == lasts + 1 and all(abs(each) > 30.0 for each in last):
            assert limit.problem
        elif not abs(effort) > 30.0 or sum(abs(each) > 30.0 for each in efforts[: k + 1]) <= lasts:
            assert not limit.problem


@pytest.mark.parametrize("lasts_ms", [20, 150, 500])
def test_a_tool_that_chatters_on_a_contact_breaks_it(lasts_ms: int) -> None:
    """30 N m at 25 Hz, sampled at 100 Hz, are above the limit in every second sample: that was never found."""
    limit = EffortLimit(("joint",), np.array([10.0]), lasts_ms * 1e-3)
    for k in range(0, 5 * lasts_ms, 10):
        limit.measured(np.array([30.0 * np.sin(2 * np.pi * 25 * k * 1e-3)]), k * MS)
        if limit.problem:
            return
    pytest.fail("not found")


@law_settings(max_examples=50)
@given(st.lists(st.integers(3, 50), max_size=40), st.integers(1, 50))
def test_peaks_that_are_few_are_no_payload(gaps: list[int], lasts: int) -> None:
    limit = EffortLimit(("joint",), np.array([10.0]), lasts * 0.01)
    peaks = set(np.cumsum(gaps).tolist())
    for k in range(sum(gaps) + 1):
        limit.measured(np.array([30.0 if k in peaks else 0.0]), k * 10 * MS)
        assert not limit.problem


def test_no_profile_makes_the_monitor_faster_than_the_controller() -> None:
    """It would close the gate before the way back has been sent."""
    assert bounds_of("contact_ignored_s").tightest > bounds_of("contact_lasts_s").loosest + 0.05

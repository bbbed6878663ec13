"""The controller without ROS gets home along a planned way, also when it is held, slowed or stopped under way."""

from __future__ import annotations

import numpy as np
import pytest

from tendon.control.controller import Controller
from tendon.control.homing.chunk import SPEED_SHARE, rest_of_way
from tendon.control.homing.planner import HomePlanner
from tendon.control.tick import Tick
from tendon.core.causes import Cause, Reason
from tendon.core.errors import StoppedError
from tendon.core.modes import Mode, Source
from tendon.core.types import Array, Observation
from tests.control.homing.test_planner import DETOUR, STUCK
from tests.control.homing.walled import clearance_of, profile_of, room

CLEARANCE = clearance_of("panda", "none")
PROFILE = profile_of("panda")
HOME = PROFILE.vector("home")


class Body:
    """A robot that is exactly where the reference was led to, and a controller with clearances."""

    def __init__(self, start: Array) -> None:
        self.controller = Controller(PROFILE, clearance=CLEARANCE, held=start)
        self.now_ns, self.position, self.least_m = 1_000_000_000, start, np.inf
        self.tick()
        self.controller.arm()
        self.pass_s(0.5)

    def tick(self) -> Tick:
        self.now_ns += self.controller.period_ns
        still = Observation(stamp_ns=self.now_ns, joint_position=self.position, joint_velocity=np.zeros(8))
        tick = self.controller.tick(self.now_ns, still)
        if tick.command is not None:
            self.position = tick.command.trajectory.position[1 if len(tick.command.trajectory.position) > 1 else 0]
        self.least_m = min(self.least_m, float(room("panda", "none", tick.reference).min()))
        return tick

    def pass_s(self, seconds: float) -> Tick:
        for _ in range(round(seconds * 100)):
            tick = self.tick()
        return tick

    def go(self) -> Array:
        way = HomePlanner(PROFILE, CLEARANCE).plan(self.controller.begin_home(), limit_s=20.0)
        self.controller.follow_home(way)
        return way

    def arrives(self, patience_s: float = 60.0) -> bool:
        for _ in range(round(patience_s * 10)):
            self.pass_s(0.1)
            if self.controller.at_home():
                return True
        return False


def test_where_a_straight_line_got_stuck_it_gets_home() -> None:
    start = STUCK[1]
    body = Body(start)
    body.controller.begin_home()
    body.controller.follow_home(np.array([start, HOME]))
    assert not body.arrives(16.0), "a straight line would do: this start proves nothing"
    assert body.tick().reasons[0].startswith("did not come home by its way: ask again"), "starved says nothing"
    body = Body(start)
    body.go()
    assert body.arrives(), body.tick()
    assert body.least_m >= 0.0


def test_held_slowed_and_asked_again_on_its_way_it_still_gets_home_along_it() -> None:
    body = Body(DETOUR)
    way = body.go()
    body.pass_s(2.0)
    body.controller.guidance.set_speed_scale(0.0)
    assert body.pass_s(1.0).reasons == ("held",)
    stood = body.position.copy()
    body.pass_s(1.0)
    np.testing.assert_array_equal(body.position, stood)
    body.controller.guidance.set_speed_scale(0.5)
    body.pass_s(2.0)
    assert not np.array_equal(body.position, stood), "it goes on after the hold"
    body.controller.guidance.set_speed_scale(0.25)
    body.pass_s(1.0)
    body.controller.guidance.set_speed_scale(1.0)
    foot = rest_of_way(way, body.position)[1]
    assert np.abs(body.position - foot).max() < 0.02, "it has left its way"
    body.controller.begin_home()
    assert body.pass_s(1.0).reasons == ("waits for its way home",)
    body.go()
    assert body.arrives() and body.least_m >= 0.0
    assert body.pass_s(2.0).reasons == ("at home",)


def test_a_robot_that_was_stopped_on_its_way_does_not_go_on_when_it_is_armed_again() -> None:
    body = Body(DETOUR)
    body.go()
    body.pass_s(2.0)
    body.controller.stop(Reason(Cause.REQUESTED, "a test"))
    body.pass_s(1.0)
    assert body.controller.mode is Mode.LATCHED
    body.controller.reset()
    body.controller.arm()
    body.pass_s(0.5)
    stood = body.position.copy()
    body.pass_s(2.0)
    np.testing.assert_allclose(body.position, stood, atol=1e-9)


def test_a_way_is_followed_only_by_the_robot_that_asked_for_it_and_still_stands_there() -> None:
    body = Body(HOME + np.array([0.3, 0, 0, 0, 0, 0, 0, 0]))
    start = body.controller.begin_home()
    way = np.array([start, HOME])
    with pytest.raises(StoppedError, match="moved while its way home was planned"):
        body.controller.follow_home(way + 0.01)
    body.controller.guidance.select(Source.TELEOP)
    with pytest.raises(StoppedError, match="source is teleop"):
        body.controller.follow_home(way)
    body.controller.begin_home()
    body.controller.stop(Reason(Cause.REQUESTED, "a test"))
    with pytest.raises(StoppedError, match="not going home"):
        body.controller.follow_home(way)
    with pytest.raises(StoppedError, match="home needs an armed robot"):
        body.controller.begin_home()


def test_a_way_that_was_asked_for_before_a_stop_leads_nobody_after_it() -> None:
    """It was planned in another process meanwhile; the robot went on as soon as it was armed again."""
    body = Body(HOME + np.array([0.3, 0, 0, 0, 0, 0, 0, 0]))
    way = np.array([body.controller.begin_home(), HOME])
    body.controller.stop(Reason(Cause.REQUESTED, "a test"))
    body.pass_s(1.0)
    body.controller.reset()
    body.controller.arm()
    with pytest.raises(StoppedError, match="armed anew"):
        body.controller.follow_home(way)


def test_home_right_after_arming_waits_until_the_robot_has_settled() -> None:
    """A chunk from before that was dropped, and nobody was told."""
    body = Body(HOME + np.array([0.3, 0, 0, 0, 0, 0, 0, 0]))
    body.controller.stop(Reason(Cause.REQUESTED, "a test"))
    body.pass_s(0.5)
    body.controller.reset()
    body.controller.arm()
    body.go()
    assert body.arrives(20.0)


def test_a_robot_that_was_kept_from_its_way_does_not_race_after_it() -> None:
    """A person stood near it for three seconds: the plan's target was seconds ahead when they had gone."""
    start = HOME.copy()
    start[0] = 2.0
    body, near = Body(start), [False]
    body.controller._filter.guards = (lambda path, away: "a person is near" if near[0] else "",)
    body.controller.begin_home()
    body.controller.follow_home(np.array([start, HOME]))
    fastest = 0.0
    for k in range(2500):
        near[0] = 300 <= k < 600
        before = body.position
        reasons = body.tick().reasons
        fastest = max(fastest, float((np.abs(body.position - before) * 100.0 / PROFILE.vector("velocity")).max()))
        if k == 599:
            assert "a person is near" in reasons[-1] and (body.position == before).all()
    assert body.controller.at_home()
    assert fastest <= 1.001 * SPEED_SHARE
    body.controller.guidance.select(Source.POLICY)
    assert body.controller._filter.speed == 1.0, "whoever leads next is not slowed"

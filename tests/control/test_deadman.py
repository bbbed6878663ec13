"""Who teleoperates has to hold: silence stops, and after it only a new press counts. Decided on the robot's side."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.control.deadman import BRAKES_NS, RELEASED, Deadman, hold_silence_ns
from tendon.control.executor import Placement
from tendon.core.filter_input import LEAD_TICKS
from tendon.core.modes import Mode, Source
from tendon.core.types import ActionChunk
from tendon.robots.safety_settings import nanoseconds
from tests.control.limits_checker import PROFILE, make_chunk
from tests.control.robot_side import MS, PERIOD_NS, Robot
from tests.laws import law_settings

HOME = PROFILE.vector("home")
CYCLE_NS = 20 * MS
SILENCE_NS = hold_silence_ns(PROFILE)
AHEAD_NS = nanoseconds(PROFILE.safety.state_ahead_s)


class Hand:
    """A robot that somebody leads along joint 0, a chunk every 20 ms."""

    def __init__(self, armed: bool = True, control_hz: float = 100.0) -> None:
        self.robot = Robot(profile=replace(PROFILE, control_hz=control_hz))
        self.robot.controller.guidance.select(Source.TELEOP)
        if armed:
            self.robot.arm()
        self.pressed_ns = self.sent_ns = 0
        self.way = 0.0

    def press(self) -> None:
        self.pressed_ns = self.robot.now_ns

    def send(self, hold_ns: int | None = None) -> Placement:
        self.sent_ns, self.way = self.robot.now_ns, self.way + 0.5 * CYCLE_NS * 1e-9
        rows = np.tile(HOME, (30, 1))
        rows[:, 0] += self.way + 0.5 * 0.02 * np.minimum(np.arange(-1, 29), 5)
        chunk = ActionChunk(
            actions=rows, start_ns=self.sent_ns + 60 * MS, step_ns=CYCLE_NS, observation_stamp_ns=self.sent_ns
        )
        hold_ns = self.pressed_ns if hold_ns is None else hold_ns
        return self.robot.controller.submit(chunk, self.sent_ns, Source.TELEOP, hold_ns)

    def lead(self, cycles: int) -> None:
        for _ in range(cycles):
            assert self.send() is Placement.ACCEPTED
            self.robot.tick()
            self.robot.tick()

    def braking_ns(self, since_ns: int) -> int:
        """How long after a time the robot first went slower than at that time."""
        first = len(self.robot.velocities) - (self.robot.now_ns - since_ns) // MS
        speeds = np.array([velocity[0] for velocity in self.robot.velocities[first:]])
        return int(np.argmax(speeds < 0.98 * speeds[0])) * MS


@pytest.fixture
def hand() -> Hand:
    hand = Hand()
    hand.press()
    hand.lead(40)
    assert hand.robot.velocities[-1][0] > 0.3
    return hand


def leads_only_after_a_press(hand: Hand, ticks: int) -> None:
    """The hold of before leads nothing, a new press leads on from where the robot is."""
    robot = hand.robot
    for _ in range(ticks):
        assert hand.send() is Placement.RELEASED
        robot.tick()
    assert not robot.velocities[-1].any()
    hand.press()
    hand.way = robot.positions[-1][0] - HOME[0]
    hand.lead(20)
    assert robot.velocities[-1][0] > 0.3


def test_silence_brakes_within_150_ms_and_the_same_hold_moves_it_no_more(hand: Hand) -> None:
    robot, last_ns = hand.robot, hand.sent_ns
    for _ in range(60):
        tick = robot.tick()
    assert hand.braking_ns(last_ns) <= BRAKES_NS
    assert tick.mode is Mode.RUNNING and not robot.velocities[-1].any(), "at rest, and not latched"
    assert "release, then press again" in tick.reasons[0]
    for _ in range(5):
        assert hand.send() is Placement.RELEASED, "frozen and awake again, it still holds what it held"
        robot.tick()
    assert not robot.velocities[-1].any()
    hand.press()
    hand.way = robot.positions[-1][0] - HOME[0]
    hand.lead(20)
    assert robot.velocities[-1][0] > 0.3
    robot.assert_inside()


def test_a_release_brakes_as_soon_as_it_is_heard(hand: Hand) -> None:
    robot = hand.robot
    begun_ns = robot.now_ns
    assert hand.send(RELEASED) is Placement.IDLE
    for _ in range(60):
        tick = robot.tick()
    assert hand.braking_ns(begun_ns) <= (LEAD_TICKS + 2) * PERIOD_NS
    assert "press to go on" in tick.reasons[0] and not robot.velocities[-1].any()
    robot.assert_inside()


def test_a_key_held_while_the_robot_is_armed_does_not_set_it_in_motion() -> None:
    hand = Hand()
    hand.pressed_ns = 900 * MS
    for _ in range(20):
        assert hand.send() is Placement.RELEASED
        tick = hand.robot.tick()
    assert tick.mode is Mode.ARMED and not hand.robot.velocities[-1].any()
    hand.press()
    hand.lead(20)
    assert hand.robot.velocities[-1][0] > 0.1


def test_a_hold_of_the_safety_monitor_ends_that_of_the_hand(hand: Hand) -> None:
    """It would lead on meanwhile, and the robot would race after it when the hold is over."""
    robot = hand.robot
    robot.controller.guidance.set_speed_scale(0.0)
    for _ in range(30):
        hand.send()
        robot.tick()
        robot.tick()
    assert not robot.velocities[-1].any()
    robot.controller.guidance.set_speed_scale(1.0)
    leads_only_after_a_press(hand, 5)


def test_a_press_while_the_robot_still_comes_to_its_start_does_not_count() -> None:
    """It leads on meanwhile: followed in the middle, it would begin with a leap."""
    hand = Hand(armed=False)
    hand.robot.controller.arm()
    hand.robot.tick()
    hand.press()
    for _ in range(60):
        assert hand.send() is Placement.RELEASED
        hand.robot.tick()
    assert not hand.robot.velocities[-1].any()


@pytest.mark.parametrize("leads", [Source.POLICY, Source.HOME])
def test_a_hold_from_before_somebody_else_led_the_robot_does_not_lead_it_back(hand: Hand, leads: Source) -> None:
    """It once did so at full speed: the hand leads on from where the robot was when it was pressed."""
    robot = hand.robot
    robot.controller.guidance.select(leads)
    for k in range(60):
        if leads is Source.POLICY and not k:
            away = np.linspace(HOME, HOME - 0.5, 40)
            robot.controller.submit(make_chunk(away, robot.now_ns, 50 * MS), robot.now_ns)
        hand.send()
        robot.tick()
    robot.controller.guidance.select(Source.TELEOP)
    leads_only_after_a_press(hand, 60)


def test_the_press_that_takes_over_from_a_policy_counts() -> None:
    """It is heard a moment before or after the robot is given to it."""
    hand = Hand()
    hand.robot.controller.guidance.select(Source.POLICY)
    hand.press()
    assert hand.send() is Placement.IDLE
    for _ in range(5):
        hand.robot.tick()
    hand.robot.controller.guidance.select(Source.TELEOP)
    hand.lead(20)
    assert hand.robot.velocities[-1][0] > 0.1


def test_a_control_loop_that_stood_still_does_not_go_on_with_an_old_hold(hand: Hand) -> None:
    """What it finds when it wakes up is fresh, but the robot has braked meanwhile."""
    hand.robot.tick(skip=12)
    assert hand.send() is Placement.RELEASED


def test_what_is_late_on_its_way_counts_as_silence(hand: Hand) -> None:
    """A link that queues messages up delivers those of a hand that has let go long ago."""
    robot = hand.robot
    late = []
    begun_ns = robot.now_ns
    for k in range(40):
        late.append((robot.now_ns, hand.pressed_ns))
        if k >= 15:
            stamp_ns, hold_ns = late.pop(0)
            rows = np.tile(HOME + 0.5, (30, 1))
            chunk = ActionChunk(actions=rows, start_ns=stamp_ns, step_ns=CYCLE_NS, observation_stamp_ns=stamp_ns)
            assert robot.controller.submit(chunk, robot.now_ns, Source.TELEOP, hold_ns) is Placement.RELEASED
        robot.tick()
        robot.tick()
    assert hand.braking_ns(begun_ns) <= BRAKES_NS and not robot.velocities[-1].any()


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["send", "stale", "release", "silence", "arm", "press"]), st.integers(1, 200)),
        max_size=40,
    )
)
@law_settings()
def test_no_sequence_keeps_a_hold_over_silence_or_brings_an_ended_one_back(steps: list[tuple[str, int]]) -> None:
    """Against a model of three lines: the ends that were seen, and the newest message since."""
    deadman, now_ns, hold_ns, ended_ns, heard_ns = Deadman(PROFILE), MS, MS, 0, None
    for what, step_ms in steps:
        now_ns += step_ms * MS
        if heard_ns is not None and now_ns - heard_ns > SILENCE_NS:
            ended_ns, heard_ns = now_ns, None
            assert deadman.lapse(now_ns)
        assert not deadman.lapse(now_ns)
        if what == "press":
            hold_ns = now_ns
        if what == "send":
            good = hold_ns > ended_ns
            assert deadman.take(hold_ns, now_ns, now_ns) is good
            heard_ns = now_ns if good else heard_ns
        if what == "stale":
            assert not deadman.take(hold_ns, now_ns - SILENCE_NS - 1, now_ns)
        if what == "release":
            assert not deadman.take(RELEASED, now_ns, now_ns)
            ended_ns, heard_ns = (now_ns, None) if heard_ns is not None else (ended_ns, None)
        if what == "arm":
            deadman.end(now_ns)
            ended_ns, heard_ns = now_ns, None
        assert deadman.held is (heard_ns is not None)


@given(hold_ns=st.integers(-(2**63), 2**63), stamp_ns=st.integers(-(2**63), 2**63))
def test_a_hold_of_another_clock_leads_nothing(hold_ns: int, stamp_ns: int) -> None:
    deadman = Deadman(PROFILE)
    deadman.end(1000 * MS)
    taken = deadman.take(hold_ns, stamp_ns, 2000 * MS)
    assert not taken or (1000 * MS < hold_ns <= stamp_ns and -SILENCE_NS <= stamp_ns - 2000 * MS <= AHEAD_NS)


HOUR_NS = 3600 * 10**9


def test_a_release_from_the_future_ends_the_hold_now_and_locks_nobody_out() -> None:
    """One that was stamped an hour ahead was remembered: no press within that hour led the robot."""
    deadman = Deadman(PROFILE)
    assert deadman.take(900 * MS, 1000 * MS, 1000 * MS)
    assert not deadman.take(RELEASED, 1001 * MS + HOUR_NS, 1001 * MS) and not deadman.held
    assert not deadman.take(900 * MS, 1002 * MS, 1002 * MS), "that hold is over"
    pressed_ns = 1001 * MS + AHEAD_NS + 1
    assert deadman.take(pressed_ns, pressed_ns, pressed_ns)


def test_a_press_from_the_future_leads_nothing_and_is_not_remembered() -> None:
    deadman, now_ns = Deadman(PROFILE), 1000 * MS
    assert not deadman.take(now_ns + HOUR_NS, now_ns + HOUR_NS, now_ns) and not deadman.held
    assert deadman.note == "a press is stamped 3600000 ms ahead of this clock: use the same clock"
    assert deadman.take(now_ns, now_ns + AHEAD_NS, now_ns)
    assert not deadman.take(now_ns, now_ns + AHEAD_NS + 1, now_ns) and deadman.held
    assert not deadman.lapse(now_ns + AHEAD_NS + SILENCE_NS) and deadman.lapse(now_ns + AHEAD_NS + SILENCE_NS + 1)


@pytest.mark.parametrize("hz", [50.0, 62.5, 100.0, 250.0, 500.0, 1000.0])
def test_silence_brakes_within_150_ms_at_any_rate(hz: float) -> None:
    """It took 180 ms at 50 Hz."""
    hand = Hand(control_hz=hz)
    robot, period_ns = hand.robot, hand.robot.controller.period_ns
    robot.tick()
    hand.press()
    hand.send()
    for _ in range(800 * MS // period_ns):
        robot.tick()
        if robot.now_ns - hand.sent_ns >= CYCLE_NS:
            hand.send()
    assert robot.velocities[-1][0] > 0.3
    last_ns = hand.sent_ns
    for _ in range(1000 * MS // period_ns):
        robot.tick()
    assert hand.braking_ns(last_ns) <= BRAKES_NS and not robot.velocities[-1].any()
    robot.assert_inside()


def test_of_two_who_hold_at_once_the_later_press_leads_and_the_release_of_either_is_one() -> None:
    """Two programs that send at the same time: the robot does not go to and fro between them."""
    hand = Hand()
    hand.press()
    hand.lead(5)
    first_ns = hand.pressed_ns
    hand.robot.tick()
    hand.press()
    assert hand.send() is Placement.ACCEPTED
    hand.robot.tick()
    assert hand.send(first_ns) is not Placement.ACCEPTED
    hand.robot.tick()
    assert hand.send() is Placement.ACCEPTED
    hand.robot.tick()
    hand.send(RELEASED)
    hand.robot.tick()
    assert hand.send() is not Placement.ACCEPTED and hand.send(first_ns) is not Placement.ACCEPTED

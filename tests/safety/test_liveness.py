"""Cameras and joint states that only look alive are found, and a robot at rest raises no alarm."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.robots.profile import Camera, load_profile
from tendon.safety.camera_watch import CameraWatch, Frame, PoseHistory
from tendon.safety.joint_watch import JointWatch
from tendon.safety.response import GradedResponse, Requests, Response
from tests.laws import law_settings

MS = 1_000_000
PERIOD = 50 * MS
PROFILE = load_profile("panda")
HOME = PROFILE.vector("home")
NOISE = np.random.default_rng(0).integers(0, 255, 3000, dtype=np.uint8)


def picture(stamp_ns: int, number: int = 0) -> Frame:
    return Frame.of(stamp_ns, np.roll(NOISE, number).tobytes())


class Scene:
    """A camera, the robot it looks at, and their clock. `real` slows the robot's time down, as lock-step may."""

    def __init__(self, real: int = 1) -> None:
        self.now_ns, self.real, self.needed = 10**12, real, True
        self.poses = PoseHistory(list(range(7)))
        self.pose = HOME.copy()
        camera = Camera(name="wrist", width=32, height=32, rate_hz=20.0, frame="w")
        self.watch = CameraWatch(
            camera, lambda: self.needed, lambda: self.poses.newest_ns, self.poses.at, PROFILE.safety
        )

    def run(self, periods: int, speed: float = 0.0, frozen: bool = False, silent: bool = False, **image: int) -> int:
        """Returns after how many periods the first fault is seen, `periods` when none is."""
        for k in range(periods):
            for _ in range(5):
                self.now_ns += 10 * MS * self.real
                self.pose = self.pose + speed * 0.01
                self.poses.add(self.stamp(), self.pose)
                if self.found():
                    return k
            if not silent:
                number = 1 if frozen else round(1000 * float(self.pose[0]))
                stamp_ns = self.stamp() + image.get("offset", 0)
                frame = picture(stamp_ns, number)
                if "grey" in image:
                    frame = Frame.of(stamp_ns, bytes([image["grey"]]) * 3000)
                self.watch.take(frame, self.now_ns)
                if self.found():
                    return k + 1
        return periods + 1

    def stamp(self) -> int:
        return self.now_ns // self.real

    def found(self) -> list:
        return list(self.watch.findings(self.now_ns))


def test_equal_pictures_of_a_robot_at_rest_are_no_fault_and_nor_is_its_start() -> None:
    scene = Scene()
    assert scene.run(20) == 21
    assert scene.run(20, speed=2.0) == 21


def test_equal_pictures_of_a_robot_that_moves_are_seen_within_three_periods() -> None:
    scene = Scene()
    scene.run(10, speed=0.5)
    assert scene.run(10, speed=0.5, frozen=True) <= 4  # the first of the equal frames was still new
    (finding,) = scene.found()
    assert finding.response is Response.HOLD and "camera wrist is frozen" in finding.reason


@pytest.mark.parametrize(("grey", "words"), [(0, "is black"), (128, "nothing but grey value 128")])
def test_a_black_or_constant_picture_is_seen_at_once(grey: int, words: str) -> None:
    scene = Scene()
    scene.run(5)
    assert scene.run(5, grey=grey) == 1
    assert words in scene.found()[0].reason


def test_silence_is_seen_within_three_periods_and_stops_after_two_seconds() -> None:
    scene = Scene()
    scene.run(5)
    assert scene.run(10, silent=True) == 2
    assert "sent nothing" in scene.found()[0].reason
    scene.now_ns += 2100 * MS
    scene.poses.add(scene.stamp(), scene.pose)
    assert scene.found()[0].response is Response.STOP


def test_a_camera_that_never_sends_is_silent_and_one_nobody_needs_is_not() -> None:
    scene = Scene()
    assert scene.run(10, silent=True) == 2
    scene.needed = False
    assert scene.found() == []
    scene.needed = True
    assert scene.run(2, silent=True) == 3


@pytest.mark.parametrize(("offset", "words"), [(-PERIOD, "same stamp again"), (-2 * PERIOD, "goes back in time")])
def test_a_stamp_that_does_not_advance_is_a_fault(offset: int, words: str) -> None:
    scene = Scene()
    scene.run(5)
    assert scene.run(1, offset=offset) == 1
    assert words in scene.found()[0].reason


def test_a_slow_simulation_is_no_dead_camera() -> None:
    assert Scene(real=20).run(10, speed=0.5) == 11


@law_settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(1, 5), st.floats(-2.0, 2.0)), max_size=8))
def test_a_good_camera_is_never_a_fault_however_the_robot_moves(moves: list[tuple[int, float]]) -> None:
    scene = Scene()
    scene.run(3)
    for periods, speed in moves:
        assert scene.run(periods, speed=0.0 if abs(speed) < 0.1 else speed) == periods + 1


class Arm:
    """Joint states and commands, 100 a second."""

    def __init__(self) -> None:
        self.watch, self.now_ns, self.q = JointWatch(PROFILE), 10**12, HOME.copy()

    def run(self, ticks: int, speed: float, frozen: bool = False) -> int | None:
        """Returns after how many ms a fault is seen."""
        goal = self.q.copy()
        for k in range(ticks):
            self.now_ns += 10 * MS
            goal[0] += speed * 0.01
            self.watch.commanded(list(range(8)), goal, self.now_ns)
            if not frozen:
                self.q = goal.copy()
            self.watch.measured(self.q, np.full(8, speed) * (not frozen), self.now_ns)
            if list(self.watch.findings(self.now_ns)):
                return (k + 1) * 10
        return None


def test_frozen_joint_states_are_seen_within_100_ms_of_motion() -> None:
    arm = Arm()
    assert arm.run(50, 0.5) is None
    seen_ms = arm.run(50, 0.5, frozen=True)
    assert seen_ms is not None and seen_ms <= 100


def test_a_velocity_with_a_position_that_stays_is_seen_within_30_ms() -> None:
    arm = Arm()
    assert arm.run(50, 0.5) is None
    for _ in range(3):
        arm.now_ns += 10 * MS
        arm.watch.measured(arm.q, np.full(8, 0.5), arm.now_ns)
    (finding,) = arm.watch.findings(arm.now_ns)
    assert finding.response is Response.STOP and "say that panda_joint1 moves" in finding.reason


@pytest.mark.parametrize("read_ms", [8, 10, 20])
def test_a_bus_that_is_read_more_slowly_than_it_is_published_is_not_frozen(read_ms: int) -> None:
    """A fast joint goes far in the 4 ms between two equal joint states."""
    arm = Arm()
    for ms in range(0, 1000, 2):
        if ms % read_ms == 0:
            arm.q = HOME + 2e-3 * ms
        arm.now_ns += 2 * MS
        arm.watch.commanded(list(range(8)), arm.q, arm.now_ns)
        arm.watch.measured(arm.q, np.full(8, 2.0), arm.now_ns)
        assert not list(arm.watch.findings(arm.now_ns))


def test_an_offset_of_the_velocity_sensor_is_no_motion() -> None:
    arm = Arm()
    assert arm.run(50, 0.0) is None
    for _ in range(100):
        arm.now_ns += 10 * MS
        arm.watch.measured(arm.q, np.full(8, 0.01), arm.now_ns)
        assert not list(arm.watch.findings(arm.now_ns))


def test_joint_states_may_stay_the_same_while_nothing_is_commanded() -> None:
    arm = Arm()
    assert arm.run(100, 0.0) is None
    assert arm.run(100, 0.0, frozen=True) is None
    assert arm.run(50, 0.5) is None


def test_a_robot_that_was_moved_by_hand_is_not_frozen_when_it_is_armed() -> None:
    arm = Arm()
    assert arm.run(50, 0.5) is None
    arm.q[0] += 0.4  # nobody commands it meanwhile
    for _ in range(100):
        arm.now_ns += 10 * MS
        arm.watch.measured(arm.q, np.zeros(8), arm.now_ns)
    assert arm.run(50, 0.0) is None, "the first command jumps to where the robot is"
    assert arm.run(50, 0.5) is None


def test_a_robot_that_was_kept_from_its_last_commands_is_not_locked_out_when_they_end() -> None:
    """A stop that the robot's side made before the controller's leaves it away from its last command for good."""
    arm = Arm()
    assert arm.run(50, 0.5) is None
    assert arm.run(20, 0.5, frozen=True) is not None
    for _ in range(30):
        arm.now_ns += 10 * MS
        arm.watch.measured(arm.q, np.zeros(8), arm.now_ns)
    assert not list(arm.watch.findings(arm.now_ns)), "nobody could ever reset it"
    assert arm.run(20, 0.5, frozen=True) is not None, "it is looked at again when it is commanded again"


def test_a_servo_that_sticks_for_a_moment_after_a_rest_is_not_frozen() -> None:
    arm = Arm()
    assert arm.run(100, 0.0) is None
    assert arm.run(7, 0.5, frozen=True) is None
    assert arm.run(50, 0.5) is None


def test_the_most_restrictive_finding_counts_and_is_released_late() -> None:
    requests, graded = Requests(PROFILE.safety), GradedResponse(PROFILE.safety)
    requests.ask("policy_node", Response.SLOW, "unsure", 0)
    requests.ask("other", Response.HOLD, "far off", 0)
    assert graded.update(requests.findings(0), 0).response is Response.HOLD
    requests.ask("other", Response.FULL, "", 10 * MS)
    assert graded.update(requests.findings(10 * MS), 10 * MS).response is Response.HOLD
    assert graded.update(requests.findings(520 * MS), 520 * MS).response is Response.SLOW
    assert graded.update(requests.findings(3000 * MS), 3000 * MS) is None


def test_a_request_without_a_reason_says_what_it_asks_for() -> None:
    requests = Requests(PROFILE.safety)
    requests.ask("policy_node", Response.STOP, "", 0)
    (finding,) = requests.findings(0)
    assert finding.response is Response.STOP and finding.reason == "policy_node: STOP"

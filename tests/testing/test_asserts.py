"""Each assert passes when it should, and says what was wrong when it fails: without a graph, on what one would say."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tendon.core.causes import Cause
from tendon.core.errors import ConfigError
from tendon.core.node_status import LatencyReport, Level, MeterReport, NodeStatus
from tendon.evaluation.episode import Episode
from tendon.evaluation.evaluate import Evaluation
from tendon.evaluation.motion import Motion
from tendon.robots.profile import load_profile
from tendon.ros2_nodes.clients.witness import Sign
from tendon.testing import (
    Fault,
    assert_latency,
    assert_limits,
    assert_no_stop,
    assert_rest,
    assert_stop,
    assert_success,
    jam,
    kill,
)

PROFILE = load_profile("panda")
COUNT = len(PROFILE.joint_names)
SECOND_NS = 1_000_000_000
FAULT = Fault(name="policy_node killed", at_ns=2 * SECOND_NS)


def evaluation(done: int, lost: int) -> Evaluation:
    episodes = [
        Episode(
            seed=100_000 + k,
            family="pick",
            instruction="pick up the red cube",
            success=k < done,
            progress=float(k < done),
            duration_s=3.0 if k < done else 12.0,
            peak_acceleration=0.5,
            rms_jerk=1.0,
            peak_jump=0.0,
            stopped_share=0.0,
            stop="" if k != done else "tracking: joint 2",
        )
        for k in range(done + lost)
    ]
    return Evaluation(episodes=tuple(episodes), families=("pick",))


class TestSuccess:
    """A rate is shown by enough episodes, and how many are enough is said."""

    def test_ten_of_ten_show_seven_in_ten(self) -> None:
        assert_success(evaluation(10, 0), at_least=0.7)

    def test_too_few_are_no_proof_and_it_says_how_many_would_be(self) -> None:
        with pytest.raises(
            AssertionError, match=r"100\.0 % .* \(4/4\) succeeded: too few.* 80 %.* 16 episodes would"
        ) as e:
            assert_success(evaluation(4, 0), at_least=0.8)
        assert "at least that" in str(e.value)
        assert_success(evaluation(16, 0), at_least=0.8)

    def test_a_rate_that_is_shown_to_be_less_says_so_and_what_became_of_the_lost(self) -> None:
        with pytest.raises(AssertionError, match="that is less than 90 %") as e:
            assert_success(evaluation(4, 8), at_least=0.9)
        assert "pick/100004: stopped: tracking: joint 2" in str(e.value)
        assert "pick/100005: not done within 12.0 s" in str(e.value)
        assert "pick/100003" not in str(e.value)

    def test_the_bound_itself_cannot_be_told(self) -> None:
        with pytest.raises(AssertionError, match="no number of episodes tells"):
            assert_success(evaluation(2, 2), at_least=0.5)

    @pytest.mark.parametrize("bound", [0, 1, 1.5, "0.8", float("nan")])
    def test_a_bound_that_is_none(self, bound: Any) -> None:
        with pytest.raises(ConfigError, match="at_least is"):
            assert_success(evaluation(4, 0), at_least=bound)


class Heard:
    """What a graph said; its time is that of the newest entry."""

    profile = PROFILE
    nodes = ("sim_node", "control_node", "safety_monitor")
    arguments = {"backend": "sim"}  # noqa: RUF012

    def __init__(self, now_s: float = 10.0) -> None:
        self.armed_ns: int | None = SECOND_NS
        self.times_armed = 1
        self._now_ns = round(now_s * SECOND_NS)
        self.signs: list[Sign] = []
        self.speed = 0.0
        still = np.tile(PROFILE.vector("home"), (50, 1))
        self.motion = Motion(
            profile=PROFILE, time_ns=np.arange(50) * 3_333_333, position=still, velocity=np.zeros((50, COUNT))
        )
        self.witness: Any = SimpleNamespace(
            statuses=[],
            measured=[(0, PROFILE.vector("home"), np.zeros(COUNT))],
            stops=lambda after_ns: [sign for sign in self.signs if sign.at_ns >= after_ns],
            motion=lambda: self.motion,
        )

    def now_ns(self) -> int:
        return self._now_ns

    def at_rest(self) -> bool:
        return self.speed == 0.0

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        assert condition(), what

    def wait_until(self, condition: Callable[[], bool], deadline_ns: int) -> None:
        del deadline_ns
        assert condition()

    def stop(self, cause: Cause, at_s: float) -> None:
        sign = Sign(
            at_ns=round(at_s * SECOND_NS), node="safety_monitor", text="", stops=True, why="because", cause=cause
        )
        self.signs.append(sign)

    def report(self, p99_ms: float | None, at_s: float = 2.0) -> None:
        latency = None if p99_ms is None else LatencyReport(p50_ms=1.0, p99_ms=p99_ms, max_ms=p99_ms)
        meters = {"chunk": MeterReport(rate_hz=1.0, drops=0, latency=latency)}
        status = NodeStatus(node="control_node", level=Level.OK, text="", meters=meters)
        self.witness.statuses.append((round(at_s * SECOND_NS), status))


@pytest.fixture
def heard() -> Any:
    """A graph that stood still, and said nothing."""
    return Heard()


class TestStops:
    """A stop that should not be, one that should, and one for another reason."""

    def test_none_is_none(self, heard: Any) -> None:
        assert_no_stop(heard)

    def test_one_before_arming_and_one_that_was_asked_for_do_not_count(self, heard: Any) -> None:
        heard.stop(Cause.TRACKING, 0.5)
        heard.stop(Cause.REQUESTED, 3.0)
        assert_no_stop(heard)

    def test_another_is_told_with_its_time_and_reason(self, heard: Any) -> None:
        heard.stop(Cause.LATE, 3.5)
        with pytest.raises(AssertionError, match=r"for nothing: late after 2\.50 s, says safety_monitor: because"):
            assert_no_stop(heard)

    def test_one_in_time_is_found_and_timed(self, heard: Any) -> None:
        heard.stop(Cause.HEARTBEAT, 2.2)
        assert assert_stop(heard, "heartbeat", within_s=0.5, after=FAULT) == pytest.approx(0.2)

    def test_one_that_is_late_or_for_another_cause_is_not_it(self, heard: Any) -> None:
        heard.stop(Cause.LATE, 2.1)
        heard.stop(Cause.HEARTBEAT, 2.6)
        with pytest.raises(
            AssertionError, match=r"for heartbeat within 0\.5 s of policy_node killed: late after 1\.10 s"
        ):
            assert_stop(heard, Cause.HEARTBEAT, within_s=0.5, after=FAULT)

    def test_none_at_all_is_said(self, heard: Any) -> None:
        with pytest.raises(AssertionError, match=r"within 0\.5 s of arming: none came"):
            assert_stop(heard, "camera", within_s=0.5)

    def test_who_never_armed_is_told_so(self, heard: Any) -> None:
        heard.armed_ns = None
        with pytest.raises(ConfigError, match="never armed"):
            assert_no_stop(heard)

    def test_a_cause_that_is_none(self, heard: Any) -> None:
        with pytest.raises(ConfigError, match="'heartbeet'; did you mean heartbeat"):
            assert_stop(heard, "heartbeet", within_s=1)

    def test_a_robot_that_moves_on_is_told_with_its_speed(self, heard: Any) -> None:
        assert_rest(heard, within_s=1, after=FAULT)
        heard.speed = 0.4
        heard.witness.measured[-1][2][1] = -0.4
        with pytest.raises(AssertionError, match=r"within 1 s of policy_node killed: panda_joint2 at -0\.400 a second"):
            assert_rest(heard, within_s=1, after=FAULT)


class TestLimits:
    """What was commanded and what was measured."""

    def test_a_robot_that_stands_breaks_none(self, heard: Any) -> None:
        assert_limits(heard)

    def test_a_jump_is_told_with_its_size(self, heard: Any) -> None:
        heard.motion.position[25:, 0] += 0.05
        with pytest.raises(AssertionError, match=r"1 of 50 commanded samples of panda broke a limit: .*jerk \d+"):
            assert_limits(heard)

    def test_a_joint_that_is_measured_too_fast_is_named(self, heard: Any) -> None:
        heard.witness.measured.append((1, PROFILE.vector("home"), np.full(COUNT, 3.0)))
        with pytest.raises(AssertionError, match=r"panda_joint1 was measured at 3\.000 a second"):
            assert_limits(heard)


class TestLatency:
    """The worst of all windows counts."""

    def test_the_worst_window_counts(self, heard: Any) -> None:
        for p99_ms in (None, 20.0, 35.0, 20.0):
            heard.report(p99_ms)
        assert_latency(heard, "control_node", "chunk", p99_ms=35)
        with pytest.raises(AssertionError, match=r"chunk of control_node took 35 ms .* allowed are 30"):
            assert_latency(heard, "control_node", "chunk", p99_ms=30)

    def test_what_came_before_the_graph_was_armed_again_does_not_count(self, heard: Any) -> None:
        heard.times_armed = 2
        heard.report(80.0, at_s=5.9)
        heard.report(20.0, at_s=6.1)
        assert_latency(heard, "control_node", "chunk", p99_ms=30)

    def test_a_stream_in_which_nothing_came_is_no_success(self, heard: Any) -> None:
        heard.report(None)
        with pytest.raises(AssertionError, match="no latency of chunk in 1 reports"):
            assert_latency(heard, "control_node", "chunk", p99_ms=30)

    def test_wrong_names_are_corrected(self, heard: Any) -> None:
        heard.report(1.0)
        with pytest.raises(ConfigError, match="no meter 'chunks'; did you mean chunk"):
            assert_latency(heard, "control_node", "chunks", p99_ms=30)
        with pytest.raises(ConfigError, match="no node 'policy_node'"):
            assert_latency(heard, "policy_node", "chunk", p99_ms=30)


class TestFaults:
    """What cannot be broken is refused before anything is."""

    def test_the_robot_cannot_be_killed(self, heard: Any) -> None:
        with pytest.raises(ConfigError, match="sim_node is the robot"), kill(heard, "sim_node"):
            pass

    def test_a_node_that_is_not_there(self, heard: Any) -> None:
        with (
            pytest.raises(ConfigError, match="did you mean control_node"),
            kill(heard, "contol_node"),
        ):
            pass

    def test_a_joint_that_is_not_there(self, heard: Any) -> None:
        with (
            pytest.raises(ConfigError, match="no joint 'panda_joint8'; did"),
            jam(heard, "panda_joint8"),
        ):
            pass

    def test_a_mock_has_no_joint_to_jam(self, heard: Any) -> None:
        heard.nodes, heard.arguments = ("mock_node",), {"backend": "mock"}
        with pytest.raises(ConfigError, match="backend is 'mock', take sim"), jam(heard, "panda_joint2"):
            pass

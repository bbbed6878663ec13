"""AsyncInference never makes its caller wait, asks for the right prefix and survives a failing policy."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.core.clock import ManualClock
from tendon.core.errors import InvalidDataError, StoppedError
from tendon.core.pace import Pace
from tendon.core.protocols import Policy
from tendon.core.types import ActionChunk, Observation
from tendon.policies.inference.asynchronous import AsyncInference
from tendon.policies.inference.delay import DelayEstimator
from tendon.policies.inference.schedule import FRAME_JITTER_NS

STEP_NS = 100_000_000
WAIT_S = 5.0


def observation(stamp_ns: int) -> Observation:
    return Observation(stamp_ns=stamp_ns, joint_position=np.zeros(2), joint_velocity=np.zeros(2))


def plan(start_ns: int, step_ns: int, rows: int) -> ActionChunk:
    return ActionChunk(actions=np.zeros((rows, 2)), start_ns=start_ns, step_ns=step_ns, observation_stamp_ns=0)


AWAY = replace(plan(0, STEP_NS, 3), actions=np.full((3, 2), 0.2))


class ScriptedPolicy:
    """Waits for `go` at each inference, moves the clock by `takes_ns`, then answers or raises `fails`."""

    step_ns, prefix_rows, overlap_rows, pace = STEP_NS, 3, 0, Pace(replan_rows=1)

    def __init__(self, clock: ManualClock, takes_ns: int = 0) -> None:
        self.clock, self.takes_ns = clock, takes_ns
        self.fails: Exception | None = None
        self.go, self.entered = threading.Semaphore(0), threading.Semaphore(0)
        self.calls: list[tuple[int, ActionChunk | None]] = []

    def infer(
        self, observation: Observation, prefix: ActionChunk | None = None, frozen: int | None = None
    ) -> ActionChunk:
        self.calls.append((observation.stamp_ns, prefix))
        self.entered.release()
        assert self.go.acquire(timeout=WAIT_S)
        self.clock.advance_ns(self.takes_ns)
        if self.fails is not None:
            raise self.fails
        return replace(plan(observation.stamp_ns + STEP_NS, STEP_NS, 4), observation_stamp_ns=observation.stamp_ns)


class Rig:
    """An AsyncInference on a scripted policy, driven one inference at a time."""

    def __init__(self, takes_ns: int = 0, **options: object) -> None:
        self.clock = ManualClock(10**9)
        self.policy = ScriptedPolicy(self.clock, takes_ns)
        self.chunks: list[ActionChunk] = []
        self.errors: list[Exception] = []
        self.done = threading.Semaphore(0)
        settings = {
            "plan_window": plan,
            "tolerance": np.full(2, 0.1),
            "rest_speed": np.full(2, 0.05),
            "publish": self._publish,
            "on_error": self._fail,
            "estimator": DelayEstimator(warm_up=0),
        }
        self.inference = AsyncInference(self.policy, self.clock, **(settings | options))  # type: ignore[arg-type]
        self.inference.start()

    def _publish(self, chunk: ActionChunk, _: Policy) -> None:
        self.chunks.append(chunk)
        self.done.release()

    def _fail(self, error: Exception) -> None:
        self.errors.append(error)
        self.done.release()

    def run_once(self, waited_ns: int = 0, speed: float = 0.0) -> None:
        """Infers from an observation a step later, which is some time old when it is offered."""
        self.clock.advance_ns(STEP_NS)
        seen = observation(self.clock.now_ns() - waited_ns)
        self.inference.offer(replace(seen, joint_velocity=np.full(2, speed)))
        assert self.policy.entered.acquire(timeout=WAIT_S)
        self.policy.go.release()
        assert self.done.acquire(timeout=WAIT_S)
        _settle(self.inference)


def _settle(inference: AsyncInference) -> None:
    """Waits until the bookkeeping after `publish` is done."""
    deadline = time.monotonic() + WAIT_S
    while (status := inference.status()).published + status.errors + status.replaced < status.offered:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_a_frame_that_waited_is_forgotten_when_the_next_one_is_to_be_planned_from(rig: MakeRig) -> None:
    """It may have waited for as long as somebody else led: an answer to it, and how late that is, tells nothing."""
    it = rig()
    it.run_once()
    it.inference.offer(observation(it.clock.now_ns() + 1))  # not due yet
    it.clock.advance_ns(60 * 10**9)
    it.inference.replan_now()
    it.run_once()
    assert [stamp_ns for stamp_ns, _ in it.policy.calls][1:] == [it.clock.now_ns()]
    assert it.inference.status().delay_ns < 10**9


@pytest.fixture
def rig() -> object:
    made: list[Rig] = []

    def make(**options: object) -> Rig:
        made.append(Rig(**options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for each in made:
        each.policy.go.release(1000)
        assert each.inference.close()


MakeRig = Callable[..., Rig]


class TestDelayEstimator:
    """The delay to plan for is one that was seen, and not the best one."""

    @given(st.lists(st.integers(0, 10**10), min_size=1, max_size=80))
    def test_at_least_95_percent_of_the_window_is_within_it(self, delays: list[int]) -> None:
        estimator = DelayEstimator(window=50, warm_up=0)
        for delay in delays:
            estimator.add(delay)
        window = delays[-50:]
        assert estimator.delay_ns in window
        assert sum(delay <= estimator.delay_ns for delay in window) >= 0.95 * (len(window) - 1)

    def test_warm_up_and_a_clock_set_back_are_left_out(self) -> None:
        estimator = DelayEstimator(warm_up=2)
        for delay in (10**10, 10**10, -5):
            estimator.add(delay)
        assert estimator.delay_ns is None
        estimator.add(7)
        assert estimator.delay_ns == 7

    def test_old_measurements_are_forgotten(self) -> None:
        estimator = DelayEstimator(window=3, warm_up=0)
        for delay in (1000, 1, 2, 3):
            estimator.add(delay)
        assert estimator.delay_ns == 3


class TestOffer:
    """The caller's side."""

    def test_a_slow_policy_never_blocks_it_and_the_newest_wins(self, rig: MakeRig) -> None:
        """A hundred offers while one inference hangs: all return, and only the last is inferred next."""
        it = rig()
        it.inference.offer(observation(0))
        assert it.policy.entered.acquire(timeout=WAIT_S)
        begin = time.monotonic()
        for step in range(1, 101):
            it.inference.offer(observation(step * STEP_NS))
        assert time.monotonic() - begin < 1.0
        assert not it.chunks
        it.policy.go.release(2)
        for _ in range(2):
            assert it.done.acquire(timeout=WAIT_S)
        assert [stamp for stamp, _ in it.policy.calls] == [0, 100 * STEP_NS]
        _settle(it.inference)
        assert it.inference.status().replaced == 99

    def test_nothing_is_inferred_twice(self, rig: MakeRig) -> None:
        """Without a new observation there is no new chunk."""
        it = rig()
        it.run_once()
        it.policy.go.release()
        assert not it.policy.entered.acquire(timeout=0.05)


class TestRate:
    """One inference a step of the chunk, by stamps alone, whatever the rate of the camera."""

    @staticmethod
    def infer(it: Rig, stamp_ns: int) -> None:
        it.inference.offer(observation(stamp_ns))
        it.policy.go.release()
        assert it.done.acquire(timeout=WAIT_S)

    @pytest.mark.parametrize("early_ns", [0, FRAME_JITTER_NS])
    def test_less_than_a_step_newer_waits_for_one_that_is_due(self, rig: MakeRig, early_ns: int) -> None:
        """Each observation that is not due is replaced in its turn; one that is due by its frames' jitter is taken."""
        it = rig()
        self.infer(it, 10 * STEP_NS)
        for stamp_ns in (10 * STEP_NS + STEP_NS // 2, 11 * STEP_NS - FRAME_JITTER_NS - 1):
            it.inference.offer(observation(stamp_ns))
            time.sleep(0.02)
            assert len(it.policy.calls) == 1
        self.infer(it, 11 * STEP_NS - early_ns)
        assert [stamp for stamp, _ in it.policy.calls] == [10 * STEP_NS, 11 * STEP_NS - early_ns]
        assert it.inference.status().replaced == 2

    def test_a_new_instruction_does_not_wait(self, rig: MakeRig) -> None:
        """A task switched in mid-motion is in the next chunk."""
        it = rig()
        self.infer(it, 10 * STEP_NS)
        it.inference.offer(replace(observation(10 * STEP_NS + STEP_NS // 2), instruction="open the drawer"))
        assert it.policy.entered.acquire(timeout=WAIT_S)
        it.policy.go.release()

    def test_one_that_came_during_inference_is_taken_when_it_ends_if_it_is_due(self, rig: MakeRig) -> None:
        """No wakeup is lost: nothing is offered after it."""
        it = rig()
        it.inference.offer(observation(10 * STEP_NS))
        assert it.policy.entered.acquire(timeout=WAIT_S)
        it.inference.offer(observation(11 * STEP_NS))
        it.policy.go.release(2)
        assert it.policy.entered.acquire(timeout=WAIT_S)

    def test_a_stamp_far_back_is_taken_at_once(self, rig: MakeRig) -> None:
        """The clock was set back, by a reset of the simulation say: waiting for the old time would be for ever."""
        it = rig()
        self.infer(it, 100 * STEP_NS)
        self.infer(it, 2 * STEP_NS)
        self.infer(it, 3 * STEP_NS)
        assert len(it.chunks) == 3

    def test_a_failed_inference_is_not_tried_again_within_the_step(self, rig: MakeRig) -> None:
        it = rig()
        it.policy.fails = InvalidDataError("no such camera")
        self.infer(it, 10 * STEP_NS)
        it.inference.offer(observation(10 * STEP_NS + STEP_NS // 2))
        it.policy.fails = None
        self.infer(it, 11 * STEP_NS)
        assert [stamp for stamp, _ in it.policy.calls] == [10 * STEP_NS, 11 * STEP_NS]


class TestPrefix:
    """Rows of the plan that are past when the answer comes."""

    @pytest.mark.parametrize(
        ("takes_ms", "lead_ms", "rows", "capped"),
        [
            (0, 0, 0, False),
            (1, 0, 1, False),
            (100, 0, 1, False),
            (101, 0, 2, False),
            (80, 30, 2, False),
            (300, 0, 3, False),
            (301, 0, 3, True),
            (900, 0, 3, True),
        ],
    )
    def test_rows_follow_the_measured_delay(
        self, rig: MakeRig, takes_ms: int, lead_ms: int, rows: int, capped: bool
    ) -> None:
        """ceil((delay + lead) / step), capped by the policy, and the cap is said."""
        it = rig(takes_ns=takes_ms * 10**6, lead_ns=lead_ms * 10**6)
        it.run_once()
        it.run_once()
        stamp_ns, prefix = it.policy.calls[-1]
        assert (0 if prefix is None else len(prefix.actions)) == rows
        assert prefix is None or (prefix.start_ns, prefix.step_ns) == (stamp_ns + STEP_NS, STEP_NS)
        status = it.inference.status()
        assert (status.prefix_rows, status.prefix_capped) == (rows, capped)
        assert status.delay_ns == takes_ms * 10**6

    @pytest.mark.parametrize(("takes_ms", "continued", "rows"), [(0, 2, 2), (101, 1, 2), (0, 9, 3), (900, 2, 3)])
    def test_rows_are_no_fewer_than_the_pace_says_and_no_more_than_the_policy_can(
        self, rig: MakeRig, takes_ms: int, continued: int, rows: int
    ) -> None:
        it = rig(takes_ns=takes_ms * 10**6)
        it.policy.pace = Pace(replan_rows=1, continued_rows=continued)
        it.run_once()
        it.run_once()
        prefix = it.policy.calls[-1][1]
        assert prefix is not None and len(prefix.actions) == rows

    def test_before_a_delay_is_known_it_is_the_longest(self, rig: MakeRig) -> None:
        """Too long a prefix is late to react; too short a one jumps."""
        it = rig()
        it.run_once()
        prefix = it.policy.calls[0][1]
        assert prefix is not None
        assert len(prefix.actions) == 3

    def test_without_a_running_plan_there_is_none(self, rig: MakeRig) -> None:
        it = rig(plan_window=lambda *_: None)
        it.run_once()
        assert it.policy.calls[0][1] is None
        assert it.inference.status().prefix_rows == 0

    def test_a_plan_that_the_robot_does_not_follow_is_not_continued(self, rig: MakeRig) -> None:
        """It is further from the plan than the tolerance."""
        it = rig(plan_window=lambda *_: AWAY)
        it.run_once()
        assert it.policy.calls[0][1] is None
        assert it.inference.status().prefix_rows == 0

    def test_another_policy_takes_over_at_once_and_continues_the_plan(self, rig: MakeRig) -> None:
        """The first policy's inference is finished and published; the next one is the other's, on its own grid."""
        it = rig()
        other = ScriptedPolicy(it.clock)
        other.step_ns, other.prefix_rows = STEP_NS // 2, 2  # type: ignore[misc]
        other.go.release(10)
        it.run_once()
        it.inference.offer(observation(it.clock.now_ns()))  # not due for the first policy
        it.inference.use(other, DelayEstimator(expected_ns=STEP_NS))
        assert it.done.acquire(timeout=WAIT_S)
        stamp_ns, prefix = other.calls[0]
        assert prefix is not None and len(it.chunks) == 2
        assert (len(prefix.actions), prefix.start_ns, prefix.step_ns) == (2, stamp_ns + STEP_NS // 2, STEP_NS // 2)

    def test_an_expected_delay_counts_until_one_is_measured(self, rig: MakeRig) -> None:
        it = rig(takes_ns=10**6, estimator=DelayEstimator(warm_up=0, expected_ns=2 * STEP_NS))
        it.run_once()
        prefix = it.policy.calls[0][1]
        assert prefix is not None and len(prefix.actions) == 2
        assert it.inference.status().delay_ns == 10**6

    def test_the_wait_for_the_thread_counts_as_delay(self, rig: MakeRig) -> None:
        """Delay is from exposure to publication, not the run time of the model."""
        it = rig(takes_ns=10**7)
        it.run_once(waited_ns=5 * 10**7)
        assert it.inference.status().delay_ns == 6 * 10**7


class TestPlace:
    """When the rows of an answer are carried out."""

    @pytest.mark.parametrize("speed", [0.0, 0.05], ids=["still", "noise of a sensor"])
    def test_an_answer_to_a_robot_that_waits_for_it_begins_when_it_comes(self, speed: float, rig: MakeRig) -> None:
        it = rig(takes_ns=4 * STEP_NS, lead_ns=4 * 10**7, plan_window=lambda *_: None)
        it.run_once(speed=speed)
        assert it.chunks[0].start_ns == it.clock.now_ns() + 4 * 10**7 + STEP_NS
        assert it.chunks[0].observation_stamp_ns == it.policy.calls[0][0], "its age stays what it is"

    def test_nothing_is_due_before_the_motion_begins_that_it_waited_for(self, rig: MakeRig) -> None:
        """The robot was seen where it will not be: the answer led it back there."""
        it = rig(takes_ns=4 * STEP_NS, lead_ns=4 * 10**7, plan_window=lambda *_: None)
        it.run_once()
        begin_ns = it.clock.now_ns() + 4 * 10**7
        it.policy.go.release()
        it.inference.offer(observation(begin_ns - 1))
        assert not it.done.acquire(timeout=0.05)
        it.inference.offer(observation(begin_ns))
        assert it.done.acquire(timeout=WAIT_S)
        assert [stamp_ns for stamp_ns, _ in it.policy.calls[1:]] == [begin_ns]

    def test_one_to_a_robot_on_a_plan_stays_on_the_time_of_its_observation(self, rig: MakeRig) -> None:
        it = rig(takes_ns=4 * STEP_NS)
        it.run_once()
        assert it.chunks[0].start_ns == it.policy.calls[0][0] + STEP_NS

    @pytest.mark.parametrize("plan_then", [None, AWAY], ids=["without a plan", "away from its plan"])
    def test_one_to_a_robot_that_moves_does_too(self, plan_then: ActionChunk | None, rig: MakeRig) -> None:
        it = rig(takes_ns=4 * STEP_NS, plan_window=lambda *_: plan_then)
        moving = replace(observation(it.clock.now_ns()), joint_velocity=np.array([0.0, 0.5]))
        it.policy.go.release()
        it.inference.offer(moving)
        assert it.done.acquire(timeout=WAIT_S)
        assert it.chunks[0].start_ns == moving.stamp_ns + STEP_NS


class TestErrors:
    """A bad inference costs its chunk and no more."""

    def test_the_policy_may_fail_and_the_next_one_runs(self, rig: MakeRig) -> None:
        it = rig(takes_ns=10**6)
        it.policy.fails = InvalidDataError("no such camera")
        it.run_once()
        assert it.inference.status().errors == 1
        assert it.inference.status().last_error == "InvalidDataError: no such camera"
        assert it.inference.status().delay_ns is None
        it.policy.fails = None
        it.run_once()
        assert len(it.errors) == 1
        assert len(it.chunks) == 1

    def test_so_may_publishing_and_the_report_of_errors(self, rig: MakeRig) -> None:
        """Even a broken callback does not end the thread."""
        reported = threading.Semaphore(0)

        def raise_error(*_: object) -> None:
            reported.release()
            raise RuntimeError("broken callback")

        it = rig(publish=raise_error, on_error=raise_error)
        for count in (1, 2):
            it.inference.offer(observation(count * STEP_NS))
            it.policy.go.release()
            for _ in range(2):
                assert reported.acquire(timeout=WAIT_S)
        assert it.inference.status().errors == 2


class TestClose:
    """The thread ends when told."""

    def test_a_chunk_that_comes_after_it_is_not_published(self, rig: MakeRig) -> None:
        """Nothing moves on a stopped node's word."""
        it = rig()
        it.inference.offer(observation(0))
        assert it.policy.entered.acquire(timeout=WAIT_S)
        assert not it.inference.close(timeout_s=0.01)
        it.policy.go.release()
        assert it.inference.close()
        assert not it.chunks

    def test_it_ends_an_idle_thread_and_one_never_started(self, rig: MakeRig) -> None:
        assert rig().inference.close()
        clock = ManualClock()
        unstarted = AsyncInference(
            ScriptedPolicy(clock),
            clock,
            plan_window=plan,
            tolerance=np.full(2, 0.1),
            rest_speed=np.full(2, 0.05),
            publish=print,
            on_error=print,
        )
        assert unstarted.close()

    def test_it_starts_once(self, rig: MakeRig) -> None:
        with pytest.raises(StoppedError, match="started before"):
            rig().inference.start()


def test_simulated_time_that_stands_still_is_no_inference_that_hangs(rig: MakeRig) -> None:
    """A graph that a debugger had stopped was to be ended, says its status."""
    it = rig(stated_ns=50_000_000)
    promised, waits = threading.Event(), threading.Event()
    it.clock.sleep_until_ns = lambda _: (promised.set(), waits.wait(WAIT_S))  # type: ignore[method-assign, assignment]
    it.inference.offer(observation(it.clock.now_ns()))
    it.policy.go.release()
    assert promised.wait(WAIT_S)
    assert it.inference.status().running_ns == 0
    waits.set()
    assert it.done.acquire(timeout=WAIT_S)


def test_an_inference_that_does_not_end_is_seen(rig: MakeRig) -> None:
    """A driver that hangs raises nothing: the node said that all was well, for ever."""
    it = rig()
    assert it.inference.status().running_ns == 0
    it.inference.offer(observation(it.clock.now_ns()))
    assert it.policy.entered.acquire(timeout=WAIT_S)
    time.sleep(0.05)
    assert it.inference.status().running_ns >= 40_000_000
    it.policy.go.release()
    assert it.done.acquire(timeout=WAIT_S)
    deadline = time.monotonic() + WAIT_S
    while it.inference.status().running_ns:
        assert time.monotonic() < deadline

"""The copy of a plan and the controller that follows it, through arming and holds: the robot never races or turns.

A policy wants to move a joint at a speed of its own, from where the robot was seen. Cameras are late, so are answers.
"""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendon.control.continuation import on_plan_tolerance
from tendon.control.controller import Controller
from tendon.core.clock import ManualClock
from tendon.core.modes import Source
from tendon.core.pace import Pace
from tendon.core.types import ActionChunk, Array, Observation
from tendon.policies.inference.loaded import Loaded
from tendon.policies.inference.plan import PlanCopy
from tendon.policies.inference.session import Answer, PolicySession
from tendon.policies.inference.stepped import SteppedInference
from tendon.robots.profile import load_profile
from tendon.robots.rest import Rest

MS = 1_000_000
FRAME_NS, CAMERA_LATE_NS = 33 * MS, 40 * MS
RACE = 1.8
"""Asked a second after arming, these policies have the robot start with 1.16 to 1.72 times the speed of their rows."""


class SteadyPolicy:
    """Wants to move the first joint by `speed` [rad/s]; continues what it is told to."""

    last = None

    def __init__(self, speed: float, step_ns: int, rows: int, pace: Pace) -> None:
        self.speed, self.step_ns, self.rows, self.pace = speed, step_ns, rows, pace
        self.prefix_rows, self.overlap_rows = rows // 3, 0

    def observe(self, observation: Observation) -> None:
        pass

    def infer(
        self, observation: Observation, prefix: ActionChunk | None = None, frozen: int | None = None
    ) -> ActionChunk:
        count = 0 if prefix is None else frozen or 0
        actions = np.tile(observation.joint_position, (self.rows, 1))
        if prefix is not None and count:
            actions[:count], actions[count:] = prefix.actions[:count], prefix.actions[count - 1]
        actions[count:, 0] += self.speed * 1e-9 * self.step_ns * np.arange(1, self.rows - count + 1)
        return ActionChunk(
            actions=actions,
            start_ns=observation.stamp_ns + self.step_ns,
            step_ns=self.step_ns,
            observation_stamp_ns=observation.stamp_ns,
        )


class Graph:
    """Controller and policy session as two nodes: what each says of itself takes a tick to the other."""

    def __init__(self, robot: str, policy: SteadyPolicy, delay_ns: int) -> None:
        profile = load_profile(robot)
        self.policy = policy
        self.position = profile.vector("home")
        self.velocity = np.zeros(len(self.position))
        self.controller = Controller(profile, held=self.position)
        self.clock = ManualClock(10**9)
        self.plan = plan = PlanCopy(len(self.position), self.controller.lead_ns, 10**9)
        self.session: PolicySession[SteadyPolicy] = PolicySession(
            (Loaded(name="steady", policy=policy),),  # type: ignore[type-var]
            plan,
            self.clock.now_ns,
            publish=self._hear,  # type: ignore[arg-type]
        )
        self.inference = SteppedInference(
            policy,  # type: ignore[arg-type]
            delay_ns=delay_ns + CAMERA_LATE_NS,
            plan_window=plan.window,
            tolerance=on_plan_tolerance(profile),
            rest_speed=Rest(profile).speed,
            lead_ns=self.controller.lead_ns,
            publish=self.session.deliver,
        )
        self.session.start(self.inference)
        self.chunks = deque[ActionChunk]()
        self.frames = deque[Observation]()
        self.frame_ns = 0
        self.said = 0, 0
        self.led = True
        self.way: list[Array] = []
        self._tick()

    def _hear(self, answer: Answer[SteadyPolicy]) -> None:
        assert self.controller.settled, "an answer that leads nowhere"
        self.chunks.append(answer.chunk)

    def begin(self, speed: float = 1.0) -> None:
        """Arms, and asks at once."""
        self.controller.arm()
        self.session.permit(armed=True, speed=speed)
        self.session.follow("go")

    def run(self, duration_s: float, speed: float = 1.0) -> None:
        """Passes time, with so much of the limits; 0 holds the robot."""
        for _ in range(round(duration_s * 1e9 / self.controller.period_ns)):
            self._tick(speed)

    def _tick(self, speed: float = 1.0) -> None:
        self.clock.advance_ns(self.controller.period_ns)
        now_ns = self.clock.now_ns()
        self.controller.guidance.set_speed_scale(speed)
        if self.chunks:
            self.controller.submit(self.chunks.popleft(), now_ns)
        seen = Observation(stamp_ns=now_ns, joint_position=self.position, joint_velocity=self.velocity)
        reference = np.array(self.controller.tick(now_ns, seen).reference)
        self.velocity = (reference - self.position) / (self.controller.period_ns * 1e-9)
        self.position = reference
        self.way.append(reference)
        self.plan.confirm(*self.said)
        if self.session.instruction:
            self.session.permit(armed=True, speed=speed, led=self.led)
        self.said = self.controller.guidance.looked_at_ns, self.controller.guidance.plan_ns
        self.led = self.controller.guidance.source is Source.POLICY and self.controller.settled
        if now_ns >= self.frame_ns:
            self.frame_ns = now_ns + FRAME_NS
            self.frames.append(seen)
        while self.frames and self.frames[0].stamp_ns + CAMERA_LATE_NS <= now_ns:
            frame = self.frames.popleft()
            self.session.offer(
                Observation(
                    stamp_ns=frame.stamp_ns,
                    joint_position=frame.joint_position,
                    joint_velocity=frame.joint_velocity,
                    instruction=self.session.instruction,
                )
            )
        self.inference.advance(now_ns)

    def assert_steady(self, since: int = 0) -> None:
        """The joint went forward only since a tick, and not faster than a start takes."""
        way = np.array(self.way)[since:, 0]
        speeds = np.diff(way) / (self.controller.period_ns * 1e-9)
        assert speeds.max() <= RACE * self.policy.speed, "it raced after a plan"
        assert (np.maximum.accumulate(way) - way).max() <= 0.005, "it was led back"


ROWS = {"30 Hz": (33_333_333, 50, Pace(replan_rows=2)), "10 Hz": (100 * MS, 16, Pace(replan_rows=4))}


@pytest.mark.parametrize("robot", ["panda", "ur5e", "g1_arms"])
@pytest.mark.parametrize("rows", list(ROWS))
@settings(max_examples=20)
@given(speed=st.floats(0.05, 0.5), delay_ms=st.sampled_from([10, 60, 120, 250, 400]))
def test_a_robot_that_is_armed_starts_as_fast_as_its_policy_wants(
    robot: str, rows: str, speed: float, delay_ms: int
) -> None:
    """For a while after arming no chunk is taken. The copy of the plan went on, and the robot raced after it."""
    step_ns, count, pace = ROWS[rows]
    graph = Graph(robot, SteadyPolicy(speed, step_ns, count, pace), delay_ms * MS)
    graph.begin()
    graph.run(2.5)
    assert graph.way[-1][0] - graph.way[0][0] > 0.2 * speed, "it goes"
    graph.assert_steady()


@pytest.mark.parametrize("rows", list(ROWS))
@settings(max_examples=40)
@given(
    speed=st.floats(0.1, 0.5),
    delay_ms=st.sampled_from([10, 60, 120, 250, 400]),
    begin_s=st.floats(0.0, 0.5),
    hold_s=st.floats(0.5, 1.0),
)
def test_a_robot_that_was_held_goes_on_as_fast_as_its_policy_wants(
    rows: str, speed: float, delay_ms: int, begin_s: float, hold_s: float
) -> None:
    """An answer that was asked for before the hold came after it, and led the robot to where that plan had been.

    A hold of the safety monitor lasts half a second at least (`safety: release_s`).
    """
    step_ns, count, pace = ROWS[rows]
    graph = Graph("ur5e", SteadyPolicy(speed, step_ns, count, pace), delay_ms * MS)
    graph.begin()
    graph.run(2.0 + begin_s)
    graph.run(hold_s, speed=0.0)
    held = graph.way[-1][0]
    graph.run(1.5)
    assert graph.way[-1][0] - held > 0.2 * speed, "it goes on"
    graph.assert_steady()


@settings(max_examples=20)
@given(speed=st.floats(0.1, 0.5), delay_ms=st.sampled_from([10, 60, 250]), hold_s=st.floats(0.01, 0.4))
def test_a_hold_that_ends_soon_after_arming_lets_no_chunk_in_too_early(
    speed: float, delay_ms: int, hold_s: float
) -> None:
    graph = Graph("panda", SteadyPolicy(speed, *ROWS["30 Hz"]), delay_ms * MS)
    graph.controller.guidance.set_speed_scale(0.0)
    graph.begin(speed=0.0)
    graph.run(hold_s, speed=0.0)
    graph.run(2.0)
    assert graph.way[-1][0] - graph.way[0][0] > 0.2 * speed, "it goes"
    graph.assert_steady()


@settings(max_examples=30)
@given(
    speed=st.floats(0.1, 0.5),
    delay_ms=st.sampled_from([10, 60, 250, 400]),
    home_s=st.floats(0.3, 1.5),
    rest_s=st.floats(0.3, 0.6),
)
def test_after_another_source_a_robot_at_rest_starts_as_fast_as_its_policy_wants(
    speed: float, delay_ms: int, home_s: float, rest_s: float
) -> None:
    """An answer that was asked for while another led came after it, and led the robot to where that had been."""
    graph = Graph("ur5e", SteadyPolicy(speed, *ROWS["30 Hz"]), delay_ms * MS)
    home = graph.position
    graph.begin()
    graph.run(1.5)
    begin = graph.controller.begin_home()
    graph.run(0.3)
    graph.controller.follow_home(np.array([begin, home]))
    graph.run(home_s)
    graph.controller.guidance.select(Source.HOLD)
    graph.run(rest_s)
    since, rested = len(graph.way), graph.position[0]
    graph.controller.guidance.select(Source.POLICY)
    graph.run(1.5)
    assert graph.position[0] - rested > 0.2 * speed, "it goes on"
    graph.assert_steady(since)

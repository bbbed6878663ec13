"""When a policy is asked again, and which part of the running plan it continues: by a thread or in a simulation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from tendon.control.continuation import PlanWindow, continuation
from tendon.core.protocols import Policy
from tendon.core.types import ActionChunk, Array, Observation
from tendon.policies.inference.delay import DelayEstimator

FRAME_JITTER_NS = 5_000_000
"""Frames may come this much earlier than a whole number of periods after one another."""


@dataclass(frozen=True, kw_only=True)
class InferenceStatus:
    """Where inference stands.

    Attributes:
        offered: observations given to it.
        replaced: observations that a newer one replaced before inference began.
        published: chunks published.
        errors: inferences that failed.
        last_error: message of the last one, empty when none failed.
        delay_ns: estimated delay from observation stamp to published chunk; `None` before it is known.
        prefix_rows: frozen rows of the running plan that the last inference was asked to continue.
        prefix_capped: the delay needs more rows than the policy can continue, so chunks may jump.
        running_ns: for how long the inference that runs has, by the wall clock; 0 when none does.
    """

    offered: int = 0
    replaced: int = 0
    published: int = 0
    errors: int = 0
    last_error: str = ""
    delay_ns: int | None = None
    prefix_rows: int = 0
    prefix_capped: bool = False
    running_ns: int = 0


class Scheduler(Protocol):
    """Who computes inferences: a thread as long as it takes (`AsyncInference`), or lock-step (`SteppedInference`)."""

    def use(self, policy: Policy, estimator: DelayEstimator, stated_ns: int | None = None) -> None:
        """Changes the policy: the next inference is its, at once, and continues the running plan.

        Args:
            policy: is asked from now on.
            estimator: of its delay.
            stated_ns: what an inference takes on a simulated clock; `None` for what it really takes.
        """

    def replan_now(self) -> None:
        """Makes the next observation due, whenever the last one was."""

    def offer(self, observation: Observation) -> None:
        """Gives it an observation, from which it infers if that is due."""

    def status(self) -> InferenceStatus:
        """Returns counts and the delay."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PlanPrefix:
    """What an inference is given of the running plan.

    Attributes:
        rows: of the plan on the grid of the new chunk; `None` without a plan that the robot follows.
        frozen: leading rows that will be past when the answer is in force.
        capped: the delay needs more of them than the policy can continue.
        waits: the robot rested without a plan, and does so until the answer comes.
    """

    rows: ActionChunk | None
    frozen: int
    capped: bool
    waits: bool = False


class Schedule:
    """When the policy is due, and what it continues. One thread, or under a lock of its owner.

    Frozen rows of the prefix of each inference are those of the running plan that will be past when the answer is in
    force: due within the delay plus `lead_ns` (real-time chunking, Black et al. 2025). They are no fewer than its
    pace says; before a delay is known they are as many as the policy allows.

    Args:
        policy: is asked first.
        plan_window: the running plan, such as `Executor.window`.
        tolerance: (n,) how far the robot may be from that plan for it to be continued, see `continuation`.
        rest_speed: (n,) measured speed up to which a joint rests, see `Rest`.
        lead_ns: how far ahead of now the control loop has committed its reference, and the way of the chunk to it.
    """

    def __init__(
        self, policy: Policy, *, plan_window: PlanWindow, tolerance: Array, rest_speed: Array, lead_ns: int
    ) -> None:
        self._policy = policy
        self._plan_window, self._tolerance, self._lead_ns = plan_window, tolerance, lead_ns
        self._rest_speed = rest_speed
        self._taken: tuple[int, str] | None = None
        self._waited = 0, 0

    @property
    def policy(self) -> Policy:
        """Is asked next."""
        return self._policy

    def use(self, policy: Policy) -> None:
        """Changes the policy; it is due at once."""
        self._policy = policy
        self.replan_now()

    def replan_now(self) -> None:
        """Makes the next observation due, whenever the last one was."""
        self._taken = None

    def due(self, stamp_ns: int, instruction: str) -> bool:
        """Returns whether an observation is a period from the last one taken, or has another instruction.

        Before the motion begins for which the robot waited it is seen where it will not be: nothing is due.
        A stamp far back is a clock that was set back.
        """
        seen_ns, begin_ns = self._waited
        if seen_ns <= stamp_ns < begin_ns:
            return False
        self._waited = 0, 0
        if self._taken is None:
            return True
        taken_ns, taken_instruction = self._taken
        period_ns = self._policy.pace.replan_rows * self._policy.step_ns
        return instruction != taken_instruction or abs(stamp_ns - taken_ns) >= period_ns - FRAME_JITTER_NS

    def take(self, observation: Observation) -> None:
        """Takes note of what is inferred from."""
        self._taken = observation.stamp_ns, observation.instruction

    def prefix(self, policy: Policy, observation: Observation, delay_ns: int | None) -> PlanPrefix:
        """Returns what a policy continues. Any thread: it touches nothing that changes.

        Args:
            policy: will be asked.
            observation: it will be asked from.
            delay_ns: expected from there to its chunk; `None` when nothing is known.
        """
        frozen, capped = policy.prefix_rows, False
        if delay_ns is not None:
            wanted = -(-(delay_ns + self._lead_ns) // policy.step_ns)
            kept = max(wanted, policy.pace.continued_rows)
            frozen, capped = min(kept, policy.prefix_rows), wanted > policy.prefix_rows
        led = frozen + policy.overlap_rows
        rows = continuation(self._plan_window, observation, policy.step_ns, led, self._tolerance)
        frozen = 0 if rows is None else min(frozen, len(rows.actions))
        return PlanPrefix(
            rows=rows, frozen=frozen, capped=capped, waits=rows is None and self._rests(policy, observation)
        )

    def _rests(self, policy: Policy, observation: Observation) -> bool:
        """Returns whether the robot stands still without a plan."""
        rests = bool((np.abs(observation.joint_velocity) <= self._rest_speed).all())
        return rests and self._plan_window(observation.stamp_ns, policy.step_ns, 1) is None

    def place(self, chunk: ActionChunk, prefix: PlanPrefix, now_ns: int) -> ActionChunk:
        """Returns a chunk that comes now, with its rows when they are to be carried out.

        Rows are due from the observation on, whose robot moves meanwhile by the plan that they continue. A robot that
        waits for them is where it was seen: its motion begins now, or it would begin late and race after its plan.
        """
        begin_ns = now_ns + self._lead_ns
        late_ns = begin_ns - chunk.observation_stamp_ns
        if not prefix.waits or late_ns <= 0:
            return chunk
        self._waited = chunk.observation_stamp_ns, begin_ns
        return replace(chunk, start_ns=chunk.start_ns + late_ns)

"""Inference in simulated time, without a thread: the answer is computed at once and handed out when it is due."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tendon.control.continuation import PlanWindow
from tendon.core.protocols import Policy
from tendon.core.types import ActionChunk, Array, Observation
from tendon.policies.inference.delay import DelayEstimator
from tendon.policies.inference.schedule import InferenceStatus, PlanPrefix, Schedule


class SteppedInference:
    """Infers when it is offered an observation: a `Scheduler` in lock-step. One thread; a policy's errors go through.

    Args:
        policy: is asked first.
        delay_ns: from observation to chunk, in simulated time.
        plan_window, tolerance, rest_speed, lead_ns: see `Schedule`.
        publish: takes each chunk when it is due, and the policy that made it.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        delay_ns: int,
        plan_window: PlanWindow,
        tolerance: Array,
        rest_speed: Array,
        lead_ns: int,
        publish: Callable[[ActionChunk, Policy], None],
    ) -> None:
        self._schedule = Schedule(
            policy, plan_window=plan_window, tolerance=tolerance, rest_speed=rest_speed, lead_ns=lead_ns
        )
        self._delay_ns, self._publish = delay_ns, publish
        self._pending: tuple[int, ActionChunk, PlanPrefix, Policy] | None = None
        self._status = InferenceStatus(delay_ns=delay_ns)

    def use(self, policy: Policy, estimator: DelayEstimator, stated_ns: int | None = None) -> None:
        """Changes the policy; the delay stays what it was unless another is stated, for nothing is measured here."""
        del estimator
        self._schedule.use(policy)
        self._delay_ns = self._delay_ns if stated_ns is None else stated_ns
        self._status = replace(self._status, delay_ns=self._delay_ns)

    def replan_now(self) -> None:
        """Makes the next observation due, whenever the last one was."""
        self._schedule.replan_now()

    def wants(self, now_ns: int, instruction: str) -> bool:
        """Returns whether an observation of now would be inferred from: whoever draws its images need not in vain."""
        return self._pending is None and self._schedule.due(now_ns, instruction)

    def offer(self, observation: Observation) -> None:
        """Infers from an observation that is due; the chunk is published by `advance`."""
        status = replace(self._status, offered=self._status.offered + 1)
        if not self.wants(observation.stamp_ns, observation.instruction):
            self._status = replace(status, replaced=status.replaced + 1)
            return
        self._schedule.take(observation)
        policy = self._schedule.policy
        prefix = self._schedule.prefix(policy, observation, self._delay_ns)
        self._status = replace(status, prefix_rows=prefix.frozen, prefix_capped=prefix.capped)
        chunk = policy.infer(observation, prefix.rows, prefix.frozen)
        self._pending = observation.stamp_ns + self._delay_ns, chunk, prefix, policy

    def advance(self, now_ns: int) -> None:
        """Publishes the chunk that is due by now."""
        if self._pending is None or now_ns < self._pending[0]:
            return
        (_, chunk, prefix, policy), self._pending = self._pending, None
        self._publish(self._schedule.place(chunk, prefix, now_ns), policy)
        self._status = replace(self._status, published=self._status.published + 1)

    def status(self) -> InferenceStatus:
        """Returns counts and the delay."""
        return self._status

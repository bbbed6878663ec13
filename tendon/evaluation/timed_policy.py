"""Any policy, with the way of an evaluation to share time between inference and execution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tendon.core.errors import ConfigError
from tendon.core.pace import Pace
from tendon.core.protocols import Policy, Remembering
from tendon.core.types import ActionChunk, Observation


class TimedPolicy:
    """A `SessionPolicy` of any core `Policy`: it takes every instruction as it stands, and nothing steers it.

    Args:
        policy: answers.
        continues: whether it is told the running plan; otherwise each chunk starts from what it sees.
        rows: that are executed of each chunk, from the time on at which it arrives; `None` executes it as it stands.
        delay_ns: from observation to chunk.
        pace: how long its plans are kept; `None` as the policy's.
    """

    def __init__(
        self, policy: Policy, *, continues: bool, rows: int | None, delay_ns: int, pace: Pace | None = None
    ) -> None:
        self._policy, self._rows, self._delay_ns = policy, rows, delay_ns
        self.step_ns, self.pace = policy.step_ns, pace or policy.pace
        self.prefix_rows = policy.prefix_rows if continues else 0
        self.overlap_rows = policy.overlap_rows if continues else 0
        self.last: object | None = None
        self.steering: Mapping[str, float] = {}

    def check_instruction(self, instruction: str) -> None:
        """Leaves it to `infer` to refuse a word."""

    def check_steering(self, name: str, value: float) -> None:
        """Raises ConfigError: nothing steers it."""
        raise ConfigError(f"{name} is {value}: a policy is not steered in an evaluation")

    def steer(self, name: str, value: float) -> None:
        """Raises ConfigError: nothing steers it."""
        self.check_steering(name, value)

    @property
    def sees_past(self) -> bool:
        """As the policy."""
        return isinstance(self._policy, Remembering) and self._policy.sees_past

    def observe(self, observation: Observation) -> None:
        """Shows it to a policy that sees its past."""
        if isinstance(self._policy, Remembering):
            self._policy.observe(observation)

    def infer(
        self, observation: Observation, prefix: ActionChunk | None = None, frozen: int | None = None
    ) -> ActionChunk:
        """Answers, and moves the rows to when they are executed."""
        chunk = self._policy.infer(observation, prefix, frozen)
        if self._rows is None:
            return chunk
        start_ns = observation.stamp_ns + self._delay_ns + self.step_ns
        return replace(chunk, actions=chunk.actions[: self._rows], start_ns=start_ns)

"""Policies that are ready to run, and what a session asks of one beside its chunks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from tendon.core.protocols import Policy
from tendon.core.types import Observation
from tendon.policies.detector.detector import Detector
from tendon.policies.inference.delay import DelayEstimator


class SessionPolicy(Policy, Protocol):
    """A policy that is instructed and steered while it runs."""

    @property
    def last(self) -> object | None:
        """What its last inference was like; the detector looks at an `Inference`."""

    @property
    def steering(self) -> Mapping[str, float]:
        """What it is steered by: name to value."""

    def check_instruction(self, instruction: str) -> None:
        """Raises InstructionError when it does not know a word."""

    def check_steering(self, name: str, value: float) -> None:
        """Raises ConfigError when it cannot be steered by that number, or not so far."""

    def steer(self, name: str, value: float) -> None:
        """Sets one of those numbers, from the next inference on. Any thread."""

    def observe(self, observation: Observation) -> None:
        """Takes an observation that it may not be asked from, for a policy that sees its past. Cheap."""


P = TypeVar("P", bound=SessionPolicy)


@dataclass(eq=False)
class Loaded(Generic[P]):
    """A policy that is ready to run.

    Attributes:
        name: of its bundle, or the server's.
        policy: runs it.
        detector: of its failures; `None` without a calibration.
        expected_ns: what an inference took when it was warmed up.
        stated_ns: what an inference takes on a simulated clock; `None` for what it really takes.
    """

    name: str
    policy: P
    detector: Detector | None = None
    expected_ns: int = 0
    stated_ns: int | None = None

    def estimator(self) -> DelayEstimator:
        """Returns a new estimator of its delay; nothing is left out, for it is warm."""
        return DelayEstimator(warm_up=0, expected_ns=self.expected_ns)

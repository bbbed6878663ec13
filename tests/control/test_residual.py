"""The residual slot."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tendon.control.residual import BoundedResidual
from tendon.core.errors import InvalidDataError
from tendon.core.types import Array, Observation

OBSERVATION = Observation(stamp_ns=0, joint_position=np.zeros(2), joint_velocity=np.zeros(2))
TARGET = np.array([1.0, 2.0])


class Stage:
    def __init__(self, answer: Callable[[Array], object]) -> None:
        self._answer = answer

    def step(self, observation: Observation, target: Array) -> Array:
        return self._answer(target)  # type: ignore[return-value]


def test_a_correction_is_held_to_its_bound() -> None:
    residual = BoundedResidual(Stage(lambda target: target + np.array([0.01, -5.0])), [0.02, 0.03])
    assert np.allclose(residual.step(OBSERVATION, TARGET), [1.01, 1.97])
    assert residual.problem is None


@pytest.mark.parametrize("answer", [np.array([np.nan, 0.0]), np.zeros(3), None, "up"])
def test_an_unusable_answer_changes_nothing_and_is_named(answer: object) -> None:
    residual = BoundedResidual(Stage(lambda _: answer), [0.1, 0.1])
    assert residual.step(OBSERVATION, TARGET) is TARGET
    assert residual.problem


def test_a_stage_that_raises_changes_nothing_and_is_named() -> None:
    def fail(target: Array) -> Array:
        raise RuntimeError("no weights")

    residual = BoundedResidual(Stage(fail), [0.1, 0.1])
    assert residual.step(OBSERVATION, TARGET) is TARGET
    assert residual.problem == "residual failed: RuntimeError: no weights"


def test_a_bound_that_is_not_finite_is_refused() -> None:
    with pytest.raises(InvalidDataError, match="residual bound"):
        BoundedResidual(Stage(lambda target: target), [np.inf, 1.0])

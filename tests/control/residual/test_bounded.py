"""The residual slot: nothing that a stage answers leads the robot farther than its bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendon.control.residual.authority import FALL_S, Authority
from tendon.control.residual.bounded import BoundedResidual
from tendon.core.base_motion import BaseMotion
from tendon.core.errors import InvalidDataError
from tendon.core.types import ActionChunk, Array, Observation
from tendon.robots.kinematics import Kinematics
from tests.control.limits_checker import PROFILE

HOME = PROFILE.vector("home")
OBSERVATION = Observation(stamp_ns=0, joint_position=HOME, joint_velocity=np.zeros(8))
BASE = BaseMotion(
    due_ns=20_000_000,
    position=HOME,
    velocity=np.full(8, 0.01),
    chunk=ActionChunk(actions=HOME[None], start_ns=0, step_ns=100_000_000, observation_stamp_ns=0),
    window=lambda start_ns, step_ns, rows: None,
)
JOINTS, TOOL = np.full(8, 0.05), 0.03
ANYTHING = st.floats(allow_nan=True, allow_infinity=True, width=64)


class Stage:
    def __init__(self, answer: Callable[[], object]) -> None:
        self._answer = answer

    def step(self, observation: Observation, base: BaseMotion) -> tuple[Array, Array]:
        return self._answer()  # type: ignore[return-value]


def whole() -> Authority:
    """Returns an authority that is whole at once."""
    return Authority(10_000_000, 1_000_000_000, rise_s=0.0)


def slot(answer: Callable[[], object]) -> BoundedResidual:
    return BoundedResidual(Stage(answer), PROFILE, JOINTS, TOOL, whole())


def test_a_stage_that_writes_into_what_it_corrects_leads_nothing() -> None:
    """It once moved the base itself by any amount, and all bounds with it."""
    given = replace(BASE, position=np.array(HOME), velocity=np.zeros(8))

    class Writing:
        def step(self, observation: Observation, base: BaseMotion) -> tuple[Array, Array]:
            where, speed = base.position, base.velocity
            where += 0.7
            speed += 1.0
            return np.zeros(8), np.zeros(8)

    residual = BoundedResidual(Writing(), PROFILE, JOINTS, TOOL, whole())
    position, velocity = residual.correct(OBSERVATION, given)
    assert np.array_equal(position, HOME) and not velocity.any()
    assert "read-only" in residual.problems[0]


def test_a_small_correction_is_added_in_position_and_velocity() -> None:
    change, rate = np.linspace(-0.002, 0.002, 8), np.linspace(-0.1, 0.1, 8)
    residual = slot(lambda: (change, rate))
    position, velocity = residual.correct(OBSERVATION, BASE)
    assert np.allclose(position, HOME + change) and np.allclose(velocity, 0.01 + rate + 100 * change)
    residual = slot(lambda: (change, rate))
    residual.authority.setting = 0.25
    position, velocity = residual.correct(OBSERVATION, BASE)
    assert np.allclose(position, HOME + 0.25 * change) and np.allclose(velocity, 0.01 + 0.25 * (rate + 100 * change))
    residual = slot(lambda: (change, rate))
    residual.authority.setting = 0.0
    assert (residual.correct(OBSERVATION, BASE)[0] == HOME).all()
    assert residual.problems == ()


@given(st.lists(ANYTHING, min_size=8, max_size=8), st.floats(0, 1))
@settings(deadline=None, max_examples=300)
def test_whatever_is_answered_no_joint_and_no_tool_goes_beyond_its_bound(answer: list[float], authority: float) -> None:
    residual, tool = slot(lambda: (answer, np.zeros(8))), Kinematics(PROFILE)
    residual.authority.setting = authority
    position, _ = residual.correct(OBSERVATION, BASE)
    assert (np.abs(position - HOME) <= authority * JOINTS + 1e-12).all()
    away = np.linalg.norm(tool.tool_pose(position)[0] - tool.tool_pose(HOME)[0])
    assert away <= authority * TOOL + 1e-9


@pytest.mark.parametrize(
    "answer",
    [(np.full(8, np.nan), np.zeros(8)), (np.zeros(8), np.full(8, np.inf)), (np.zeros(3), np.zeros(8)), 1, "up"],
)
def test_an_unusable_answer_changes_nothing_and_is_named(answer: object) -> None:
    residual = slot(lambda: answer)
    position, velocity = residual.correct(OBSERVATION, BASE)
    assert position is BASE.position and velocity is BASE.velocity
    assert "residual" in residual.problems[0]


def test_a_stage_that_raises_changes_nothing_and_is_named() -> None:
    def fail() -> object:
        raise RuntimeError("no weights")

    residual = slot(fail)
    assert residual.correct(OBSERVATION, BASE)[0] is BASE.position
    assert residual.problems == ("residual failed: RuntimeError: no weights",)


@pytest.mark.parametrize(("joints", "tool"), [(np.inf, 0.1), (-0.1, 0.1), (0.1, -0.1), (0.1, np.nan)])
def test_a_bound_that_is_none_is_refused(joints: float, tool: float) -> None:
    with pytest.raises(InvalidDataError, match="residual"):
        BoundedResidual(Stage(lambda: 0), PROFILE, np.full(8, joints), tool, whole())


def test_what_it_added_before_a_failure_fades_out_within_its_bounds_and_comes_back_from_none() -> None:
    """After a switch of policies the whole offset was dropped, and after one lost message was back, in one tick."""
    failing = False

    def answer() -> object:
        if failing:
            raise RuntimeError("another policy")
        return np.full(8, 0.004), np.zeros(8)

    residual = BoundedResidual(Stage(answer), PROFILE, JOINTS, TOOL, Authority(10_000_000, 1_000_000_000))
    added, named = [], []
    for tick in range(1, 201):
        failing = 100 <= tick < 140
        due_ns = 10_000_000 * tick
        chunk = replace(BASE.chunk, observation_stamp_ns=due_ns)
        position, _ = residual.correct(OBSERVATION, replace(BASE, due_ns=due_ns, chunk=chunk))
        added.append(float(np.abs(position - HOME).max()))
        named.append(bool(residual.problems))
        assert residual.problems or residual.authority.now > 0.0
    assert max(added) == added[98] == pytest.approx(0.004)
    assert np.abs(np.diff(added)).max() <= 0.004 * 0.01 / FALL_S + 1e-12
    assert not any(added[120:138]) and added[-1] == pytest.approx(0.004)
    assert named == [100 <= tick < 140 for tick in range(1, 201)]

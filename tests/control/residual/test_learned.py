"""A learned correction: when it asks, what it shows, and how it moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tendon.control.residual.authority import Authority
from tendon.control.residual.bounded import BoundedResidual
from tendon.control.residual.learned import LearnedResidual
from tendon.control.residual.space import ResidualSpace
from tendon.core.base_motion import BaseMotion
from tendon.core.errors import ConfigError, MismatchError
from tendon.core.types import ActionChunk, Array, Features, Observation
from tendon.robots.kinematics import Kinematics
from tests.control.limits_checker import PROFILE

HOME = PROFILE.vector("home")
OBSERVATION = Observation(stamp_ns=0, joint_position=HOME, joint_velocity=np.zeros(8))
BASE = "5ba5e"
FEATURES = Features(policy=BASE, embedding=np.arange(5.0), points=np.array([[0.5, 0.1, 0.02]]))
SPACE = ResidualSpace(step_s=0.1, embedding=5, points=1, rows=4)
CHUNK = ActionChunk(
    actions=np.tile(HOME, (3, 1)), start_ns=0, step_ns=100_000_000, observation_stamp_ns=0, features=FEATURES
)


class Answers:
    def __init__(self, action: Sequence[float]) -> None:
        self.action, self.asked = np.array(action, dtype=float), list[Array]()

    def ask(self, observation: Array) -> None:
        self.asked.append(observation)

    def answer(self) -> Array:
        return self.action


def base(due_ns: int, chunk: ActionChunk = CHUNK) -> BaseMotion:
    return BaseMotion(
        due_ns=due_ns, position=HOME, velocity=np.zeros(8), chunk=chunk, window=lambda start_ns, step_ns, rows: chunk
    )


def play(stage: LearnedResidual, ticks: Sequence[int]) -> tuple[Array, Array]:
    moved = [stage.step(OBSERVATION, base(10_000_000 * tick)) for tick in ticks]
    return np.array([position for position, _ in moved]), np.array([velocity for _, velocity in moved])


def test_it_asks_once_a_step_and_shows_as_many_numbers_as_its_space_says() -> None:
    actor = Answers([0, 0, 0, 0])
    play(LearnedResidual(PROFILE, SPACE, actor, BASE), range(1, 101))
    assert len(actor.asked) == 10
    assert {each.shape for each in actor.asked} == {(SPACE.observations,)}
    here = Kinematics(PROFILE).tool_pose(HOME)[0]
    first = actor.asked[0]
    assert np.allclose(first[:3], here)
    assert np.allclose(first[11 + 16 : 11 + 19], FEATURES.points[0] - here)
    assert first[11 + 19] == pytest.approx(0.01)
    assert (first[-5:] == FEATURES.embedding).all()


def test_after_an_answer_that_failed_it_asks_anew_at_the_next_step() -> None:
    """It asked the same again at each tick, 999 times in 10 s, also when what there was to see was right again."""
    actor, tries = Answers([0, 0, 1, 0]), 0

    def answer() -> Array:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise ValueError("not this one")
        return actor.action

    actor.answer = answer  # type: ignore[method-assign]
    authority = Authority(10_000_000, 800_000_000)
    residual = BoundedResidual(LearnedResidual(PROFILE, SPACE, actor, BASE), PROFILE, np.ones(8), 1.0, authority)
    moved = [residual.correct(OBSERVATION, base(10_000_000 * tick))[0] for tick in range(1, 101)]
    assert len(actor.asked) == 10 and tries == 10
    assert not residual.problems and np.abs(moved[-1] - HOME).max() > 0


def test_one_that_sees_no_plan_asks_for_none() -> None:
    actor, blind = Answers([0, 0, 0, 0]), replace(SPACE, rows=0)

    def window(start_ns: int, step_ns: int, rows: int) -> ActionChunk | None:
        raise AssertionError("asked for a plan")

    LearnedResidual(PROFILE, blind, actor, BASE).step(OBSERVATION, replace(base(10_000_000), window=window))
    assert actor.asked[0].shape == (blind.observations,) == (11 + 3 + 1 + 5,)


def test_the_tool_goes_where_the_answer_says_without_a_jump_and_its_velocity_is_its_own() -> None:
    actor = Answers([1.0, -0.5, 0.25, 1.0])
    offsets, rates = play(LearnedResidual(PROFILE, SPACE, actor, BASE), range(1, 101))
    tool = Kinematics(PROFILE)
    moved = tool.tool_pose(HOME + offsets[-1])[0] - tool.tool_pose(HOME)[0]
    assert np.allclose(moved, SPACE.tool_m * actor.action[:3], atol=2e-3)
    assert offsets[-1][7] == pytest.approx(0.25 * 0.04, rel=0.02)
    measured = np.diff(offsets, axis=0) / 0.01
    assert np.allclose(measured, (rates[1:] + rates[:-1]) / 2, atol=0.05 * np.abs(rates).max())


def test_after_a_gap_it_begins_from_nothing() -> None:
    stage = LearnedResidual(PROFILE, SPACE, Answers([1, 1, 1, 1]), BASE)
    play(stage, range(1, 50))
    offsets, _ = play(stage, [90])
    assert (offsets[0] == 0).all()


def test_an_answer_beyond_one_is_taken_as_one() -> None:
    far, _ = play(LearnedResidual(PROFILE, SPACE, Answers([9, 9, 9, 9]), BASE), range(1, 60))
    one, _ = play(LearnedResidual(PROFILE, SPACE, Answers([1, 1, 1, 1]), BASE), range(1, 60))
    assert (far == one).all()


def test_of_a_policy_that_tells_nothing_it_sees_the_arm_the_plan_and_their_age() -> None:
    """An imported policy may have no embedding. That the plan is of the policy it corrects is still demanded."""
    actor, space = Answers([0, 0, 0, 0]), replace(SPACE, embedding=0, points=0)
    untold = Features(policy=BASE, embedding=np.zeros(0), points=np.zeros((0, 3)))
    LearnedResidual(PROFILE, space, actor, BASE).step(OBSERVATION, base(10_000_000, replace(CHUNK, features=untold)))
    assert actor.asked[0].shape == (space.observations,) == (11 + 16 + 1,)
    assert actor.asked[0][-1] == pytest.approx(0.01)
    for features in (None, replace(untold, policy="another")):
        stage = LearnedResidual(PROFILE, space, actor, BASE)
        stage.step(OBSERVATION, base(10_000_000, replace(CHUNK, features=features)))
        assert len(actor.asked) == 1, "it looks at no other policy"


def test_a_policy_that_tells_less_than_it_needs_is_named() -> None:
    untold = Features(policy=BASE, embedding=np.zeros(0), points=np.zeros((0, 3)))
    with pytest.raises(MismatchError, match="needs 5 numbers and 1 points of the policy, it tells 0 and 0"):
        play_once(replace(CHUNK, features=untold))


@pytest.mark.parametrize("features", [None, replace(FEATURES, policy="another")])
def test_toward_the_motion_of_another_policy_what_was_added_goes_back_to_nothing_smoothly(
    features: Features | None,
) -> None:
    """A policy that was switched to had the offset of the one before for up to 0.4 s, and lost it in one tick."""
    actor = Answers([1, 1, 1, 1])
    stage, foreign = LearnedResidual(PROFILE, SPACE, actor, BASE), replace(CHUNK, features=features)
    before, _ = play(stage, range(1, 100))
    asked = len(actor.asked)
    moved = [stage.step(OBSERVATION, base(10_000_000 * tick, foreign))[0] for tick in range(100, 150)]
    sizes = np.abs([before[-1], *moved]).max(axis=1)
    assert (np.diff(sizes) <= 1e-12).all() and sizes[-1] < 2e-3 * sizes[0]
    steepest = np.abs(np.diff(before, axis=0)).max()
    assert np.abs(np.diff([before[-1], *moved], axis=0)).max() <= 1.01 * steepest
    assert len(actor.asked) == asked
    again, _ = play(stage, range(150, 250))
    assert np.abs(np.diff([moved[-1], *again], axis=0)).max() <= 1.01 * steepest and np.allclose(again[-1], before[-1])


def play_once(chunk: ActionChunk) -> None:
    LearnedResidual(PROFILE, SPACE, Answers([0, 0, 0, 0]), BASE).step(OBSERVATION, base(10_000_000, chunk))


def test_another_number_of_tools_is_named() -> None:
    with pytest.raises(MismatchError, match="for 2 tools, robot panda has 1"):
        LearnedResidual(PROFILE, ResidualSpace(tools=2), Answers([0] * 8), BASE)


def test_a_space_out_of_its_range_is_named() -> None:
    with pytest.raises(ConfigError, match="tool_m"):
        ResidualSpace(tool_m=0.5)

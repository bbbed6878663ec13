"""Sampling: without a plan it is the textbook's; with one, frozen rows come back bit by bit, whatever is predicted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from tendon.core.errors import ConfigError
from tendon.core.types import Array
from tendon.policies.spec.prefix import Prefix
from tendon.policies.spec.sampling import Diffusion, Flow, Schedule

ROWS, WIDTH = 8, 3
BETAS = np.linspace(1e-3, 0.2, 20)
ALPHAS = tuple(np.cumprod(1 - BETAS)[::-1].tolist())
STEPS = tuple(range(19, -1, -1))
SCHEDULES: dict[str, Schedule] = {
    "flow from 1": Flow(steps=10, start=1.0, end=0.0),
    "flow to 1": Flow(steps=4, start=0.0, end=1.0),
    "ddim": Diffusion(timesteps=STEPS, alphas=ALPHAS, stochastic=False, prediction="epsilon", clip=None),
    "ddim clipped": Diffusion(timesteps=STEPS, alphas=ALPHAS, stochastic=False, prediction="epsilon", clip=1.0),
    "ddpm": Diffusion(timesteps=STEPS, alphas=ALPHAS, stochastic=True, prediction="sample", clip=None),
}
every_schedule = pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=list(SCHEDULES))


def toward(goal: Array, schedule: Schedule) -> object:
    """Returns a perfect prediction for data that is always `goal`."""

    def predict(chunk: Array, time: float) -> Array:
        if isinstance(schedule, Flow):
            return (goal - chunk) / (schedule.end - time)
        if schedule.prediction == "sample":
            return goal
        alpha = schedule.alphas[schedule.timesteps.index(int(time))]
        return (chunk - np.sqrt(alpha) * goal) / np.sqrt(1 - alpha)

    return predict


@every_schedule
def test_a_perfect_prediction_arrives(schedule: Schedule) -> None:
    rng = np.random.default_rng(1)
    goal = rng.uniform(-0.9, 0.9, (ROWS, WIDTH))
    found = schedule.sample(toward(goal, schedule), rng.standard_normal(goal.shape), None, rng)
    np.testing.assert_allclose(found, goal, atol=1e-9)


@every_schedule
@for_all(data=st.data())
def test_frozen_rows_come_back_bit_by_bit_whatever_is_predicted(schedule: Schedule, data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    count = data.draw(st.integers(1, ROWS))
    frozen = data.draw(st.integers(0, count))
    wild = data.draw(st.sampled_from([1.0, 1e6]))
    rows = rng.standard_normal((count, WIDTH)) * wild
    noise = rng.standard_normal((ROWS, WIDTH + 2))
    found = schedule.sample(
        lambda chunk, time: wild * rng.standard_normal(chunk.shape), noise, Prefix(rows=rows, frozen=frozen), rng
    )
    assert found.shape == noise.shape and np.isfinite(found).all()
    np.testing.assert_array_equal(found[:frozen, :WIDTH], rows[:frozen])


@every_schedule
def test_no_rows_to_continue_change_nothing(schedule: Schedule) -> None:
    goal = np.random.default_rng(2).uniform(-0.9, 0.9, (ROWS, WIDTH))
    noise = np.random.default_rng(3).standard_normal(goal.shape)
    nothing = Prefix(rows=np.empty((0, WIDTH)), frozen=0)
    plain, given = (
        schedule.sample(toward(goal, schedule), noise, each, np.random.default_rng(4)) for each in (None, nothing)
    )
    np.testing.assert_allclose(given, plain, atol=1e-9)


def test_euler_steps_are_those_of_the_textbook() -> None:
    rng = np.random.default_rng(5)
    noise, field = rng.standard_normal((ROWS, WIDTH)), rng.standard_normal((WIDTH, WIDTH))
    found = Flow(steps=10, start=1.0, end=0.0).sample(lambda x, t: x @ field * t, noise, None, rng)
    x = noise
    for k in range(10):
        x = x - 0.1 * (x @ field * (1.0 - 0.1 * k))
    np.testing.assert_allclose(found, x, rtol=1e-12)


@for_all(count=st.integers(0, 60), frozen=st.integers(0, 60), total=st.integers(1, 60))
def test_weights_fall_from_one_to_zero(count: int, frozen: int, total: int) -> None:
    count, frozen = min(count, total), min(frozen, count, total)
    weights = Prefix(rows=np.zeros((count, 1)), frozen=frozen).weights(total)
    assert (weights[:frozen] == 1.0).all() and (weights[count:] == 0.0).all()
    assert (weights >= 0).all() and (weights <= 1).all() and (np.diff(weights) <= 1e-12).all()
    assert count == frozen or weights[frozen] < 1.0


def test_rows_after_the_given_ones_and_padding_are_left_to_the_model() -> None:
    given = Prefix(rows=np.ones((3, 2)), frozen=1)
    rows = np.full((6, 4), 5.0)
    blended = given.blend(rows)
    assert (blended[0, :2] == 1.0).all() and (blended[1:3, :2] < 5.0).all()
    assert (blended[3:] == 5.0).all() and (blended[:, 2:] == 5.0).all() and (rows == 5.0).all()


def test_rows_in_the_past_are_left_to_the_model() -> None:
    rows = np.full((6, 4), 5.0)
    blended = Prefix(rows=np.ones((3, 2)), frozen=1, past=2).blend(rows)
    assert (blended[:2] == 5.0).all() and (blended[2, :2] == 1.0).all() and (blended[3:5, :2] < 5.0).all()
    np.testing.assert_array_equal(blended[2:], Prefix(rows=np.ones((3, 2)), frozen=1).blend(rows[2:]))


@pytest.mark.parametrize(("steps", "kept"), [(20, STEPS), (5, (16, 12, 8, 4, 0)), (3, (12, 6, 0)), (1, (0,))])
def test_fewer_steps_of_a_diffusion_are_ddim_as_diffusers_spaces_it(steps: int, kept: tuple[int, ...]) -> None:
    made = SCHEDULES["ddpm"].in_steps(steps)
    assert (made.timesteps, made.stochastic) == (kept, False)
    assert made.alphas == tuple(ALPHAS[STEPS.index(step)] for step in kept)


@pytest.mark.parametrize("steps", [0, -1, 21])
def test_steps_that_the_graph_does_not_know_are_refused(steps: int) -> None:
    with pytest.raises(ConfigError, match=f"denoising in {steps} steps: the policy has 20"):
        SCHEDULES["ddim"].in_steps(steps)
    with pytest.raises(ConfigError):
        SCHEDULES["flow to 1"].in_steps(min(steps, 0))

"""A fit of corners of two kinds, one seen better than the other: neither is believed more than it deserves."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pytest

from tendon.calibration.fitting import Fit, fit
from tendon.core.types import Array

WELL, BADLY = 60, 30
"""Corners of each kind."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Line:
    """Two numbers, of which the corners that are seen well tell the first, the others their sum."""

    seen: Array
    design: Array
    values: Array
    kinds: npt.NDArray[np.int64]

    @property
    def groups(self) -> npt.NDArray[np.int64]:
        return np.arange(len(self.seen)) // 10

    def linearise(self) -> tuple[Array, Array]:
        return self.seen - self.design @ self.values, self.design

    def prior(self) -> tuple[Array, Array]:
        return np.zeros(0), np.zeros((0, 2))

    def shared(self) -> None:
        """Nothing."""

    def moved(self, change: Array) -> Line:
        return replace(self, values=self.values + change)


def fitted(rng: np.random.Generator, noise: tuple[float, float], wrong: int = 0, together: bool = False) -> Fit[Line]:
    """Returns what comes of corners with that noise, px, the truth being 3 and -1."""
    kinds = np.repeat([0, 1], [WELL, BADLY])
    design = rng.normal(size=(WELL + BADLY, 2, 2))
    design[:WELL, :, 1] = 0.0
    seen = design @ [3.0, -1.0] + rng.normal(size=(len(kinds), 2)) * np.array(noise)[kinds, None]
    seen[rng.choice(len(kinds), wrong, replace=False)] += 40.0
    return fit(Line(seen=seen, design=design, values=np.zeros(2), kinds=0 * kinds if together else kinds))


def held(together: bool) -> float:
    """Returns the share of 300 fits whose region of 95 % holds the second number."""
    found = [fitted(np.random.default_rng(seed), (0.05, 0.3), together=together) for seed in range(300)]
    return float(np.mean([abs(each.state.values[1] + 1.0) < 1.96 * each.covariance[1, 1] ** 0.5 for each in found]))


def test_what_is_seen_badly_is_as_sure_as_its_own_noise_says() -> None:
    assert held(together=True) < 0.75  # as it was: by the noise of all, for most of which more is known
    assert 0.92 < held(together=False) < 0.98


def test_what_is_seen_badly_is_not_wrong() -> None:
    found = [fitted(np.random.default_rng(seed), (0.05, 0.4), wrong=4) for seed in range(20)]
    assert all((~each.kept).sum() < 8 for each in found)


@pytest.mark.parametrize("noise", [(0.2, 0.2), (0.02, 0.5)])
def test_the_noise_of_all_is_that_of_the_numbers_as_they_are(noise: tuple[float, float]) -> None:
    found = fitted(np.random.default_rng(1), noise)
    assert found.sigma_px == pytest.approx(np.sqrt(np.mean(found.residuals[found.kept] ** 2)), rel=0.1)
    np.testing.assert_array_equal(found.residuals, found.state.linearise()[0])


def test_a_kind_of_one_corner_has_nearly_the_noise_of_all() -> None:
    rng = np.random.default_rng(2)
    kinds = np.array([0] * 40 + [1])
    design = rng.normal(size=(41, 2, 2))
    seen = design @ [3.0, -1.0] + rng.normal(0, 0.1, (41, 2))
    seen[-1] = design[-1] @ [3.0, -1.0]  # by chance without any noise
    found = fit(Line(seen=seen, design=design, values=np.zeros(2), kinds=kinds))
    alone = fit(Line(seen=seen, design=design, values=np.zeros(2), kinds=0 * kinds))
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx(np.sqrt(np.diag(alone.covariance)), rel=0.2)

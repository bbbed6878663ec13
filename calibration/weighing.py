"""Corners weighed by the noise of their kind: a small board far from one camera is seen worse than a large, near one.

Counted alike, corners of the better kind set the noise of all: those of the other are left out as wrong, and what they
tell is held for surer than it is.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tendon.core.types import Array

ASSUMED_FREEDOM = 4.0
"""How many numbers of its own a kind needs before they say more of its noise than the noise of all kinds does."""
LEAST_RATIO = 0.01
"""Of a kind's noise to that of all."""


def spread(residuals: Array) -> float:
    """Returns the standard deviation [px] of a column or row, from medians: half of all may be wrong."""
    return float(1.4826 * np.median(np.abs(residuals)))


def weights_of_many(residuals: Array, kinds: npt.NDArray[np.int64]) -> Array:
    """Returns the noise of each kind, by that of all, from (k, 2) residuals of which up to half are wrong."""
    counts = np.asarray(2 * np.bincount(kinds), np.float64)
    levels = np.array([spread(residuals[kinds == kind]) for kind in range(len(counts))])
    return _by_that_of_all(counts * levels**2, counts)


def weights_of_fit(rows: Array, design: Array, inverse: Array, kinds: npt.NDArray[np.int64], now: Array) -> Array:
    """Returns the noise of each kind, by that of all, from a fit.

    What the unknowns take up of a kind's numbers is its leverage, the rest is its freedom (Foerstner 1979).

    Args:
        rows: (2k,) residuals of corners that count, whitened.
        design: (2k, m) their derivatives.
        inverse: (m, m) of the normal matrix, of unit noise.
        kinds: (k,) of each corner.
        now: the weight of each kind in those rows.
    """
    leverage = np.einsum("ij,jk,ik->i", design, inverse, design)
    by_row = np.repeat(kinds, 2)
    squares = np.asarray(np.bincount(by_row, rows**2, len(now)), np.float64) * now**2
    return _by_that_of_all(squares, np.asarray(np.bincount(by_row, 1.0 - leverage, len(now)), np.float64))


def _by_that_of_all(squares: Array, freedom: Array) -> Array:
    """Returns the noise of each kind by that of all; of a kind that has too few numbers to tell, nearly that."""
    freedom = np.maximum(freedom, 0.0)
    of_all = max(float(squares.sum()), 1e-12) / max(float(freedom.sum()), 1.0)
    variances = np.maximum(squares / np.maximum(freedom, 1.0) / of_all, LEAST_RATIO**2)
    return np.asarray(variances ** (0.5 * freedom / (freedom + ASSUMED_FREEDOM)))

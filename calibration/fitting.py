"""Robust nonlinear least squares over corners, on the manifold of poses, with a covariance that is to be believed.

Levenberg-Marquardt with a Cauchy loss finds where the bulk of the corners agrees, whatever the wrong ones say. Then
corners beyond `REJECT_SIGMA` are left out and the rest is fitted again, each kind weighed by its own noise. What all
corners of one view share, because the robot was not exactly where its joints said, is told from noise of pixels by
restricted maximum likelihood (Patterson and Thompson 1971), and weighs in the result and in its covariance (generalised
least squares).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from tendon.calibration.weighing import spread, weights_of_fit, weights_of_many
from tendon.core.errors import CalibrationError
from tendon.core.types import Array

REJECT_SIGMA = 4.0
"""Of a corner's distance: 3 in 10 000 good ones are further off (Rayleigh)."""
LEAST_SIGMA_PX = 0.01
"""No detector is better: a perfect fit of perfect numbers is not one without noise."""
STEPS = 80
ROUNDS = 8
SAME_WEIGHT = 0.02
"""By which the noise of a kind may still change from round to round."""
SHARED_RATIOS = np.concatenate([[0.0], np.logspace(-9, -2, 29)])
"""(standard deviation of a joint [rad] over that of a pixel [px]) squared, that are tried."""
LEAST_FREEDOM = 4.0
"""With fewer views than that a variance of a variance is anything."""
SLIGHTLY = 1.2
FINER = (1.33, 1.15, 1.07)
"""By what factors the best of them is tried again."""
S = TypeVar("S", bound="State")
Kept = npt.NDArray[np.bool_]
Bases = list[tuple[slice, Array, Array]]
"""For each view: its rows, (r, j) directions of unit length, (j,) how far a joint moves them [px/rad]."""


class State(Protocol):
    """What is fitted, with m parameters: a point of a manifold that small changes move."""

    @property
    def groups(self) -> npt.NDArray[np.int64]:
        """(k,) the view of each corner, 0, 1, ..., in order."""

    @property
    def kinds(self) -> npt.NDArray[np.int64]:
        """(k,) the kind of each corner, 0, 1, ...: those of a kind have the same noise, a view is of one kind."""

    def linearise(self) -> tuple[Array, Array]:
        """Returns (k, 2) seen - predicted [px], and (k, 2, m) the derivative of predicted by a change."""

    def prior(self) -> tuple[Array, Array]:
        """Returns (p,) what is known from elsewhere, known - value in standard deviations, and (p, m) as above."""

    def shared(self) -> Array | None:
        """Returns (k, 2, j) the derivative of predicted by what a view's corners share, such as its joints."""

    def moved(self: S, change: Array) -> S:
        """Returns the point after a (m,) change."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Fit(Generic[S]):
    """What came of it.

    Attributes:
        state: where the sum of squares is least.
        covariance: (m, m) of a change.
        kept: (k,) which corners count.
        residuals: (k, 2) seen - predicted, of all corners [px].
        sigma_px: standard deviation of a corner's column or row, over all kinds.
        shared_rad: standard deviation of what a view's corners share, a joint [rad]; 0 where it was not asked for.
    """

    state: S
    covariance: Array
    kept: Kept
    residuals: Array
    sigma_px: float
    shared_rad: float

    @property
    def rms_px(self) -> float:
        """Root mean square of columns and rows that count."""
        return float(np.sqrt(np.mean(self.residuals[self.kept] ** 2)))

    def view_rms_px(self) -> tuple[float, ...]:
        """Root mean square of each view."""
        square, groups = np.mean(self.residuals**2, axis=1), self.state.groups
        return tuple(
            float(np.sqrt(square[kept].mean())) if (kept := (groups == view) & self.kept).any() else float("nan")
            for view in range(int(groups.max()) + 1)
        )


def fit(start: S, tell: Callable[[str], None] | None = None, shared_rad: float | None = None) -> Fit[S]:
    """Returns the point that fits the corners best.

    Args:
        start: not too far from it.
        shared_rad: what a view's corners share, a standard deviation, where it is known from more views; `None` asks
            these ones.
        tell: gets a line about each round.

    Raises:
        CalibrationError: fewer corners are left than there are unknowns, or they say nothing about one.
    """
    kinds, kept = start.kinds, np.ones(len(start.groups), bool)
    for loss_px in (20.0, 4.0):
        start = _descend(start, kept, loss_px, loss_px)
    state, sigma, ratio = _Weighed(of=start, weights=np.ones(int(kinds.max()) + 1)), 1.0, 0.0
    for _ in range(2):
        state = replace(state, weights=weights_of_many(state.of.linearise()[0], kinds))
        sigma = spread(state.linearise()[0])
        state = _descend(state, kept, sigma, 2.5)
    for number in range(ROUNDS):
        own = _without_shared(state, state.linearise()[0], kept, ratio)
        sigma = max(spread(own[kept]), LEAST_SIGMA_PX)
        before, kept = kept, np.linalg.norm(own, axis=1) < REJECT_SIGMA * sigma
        _check_count(state, kept)
        ratio = _shared_ratio(state, kept, sigma) if shared_rad is None else (shared_rad / sigma) ** 2
        state = _descend(state, kept, sigma, None, ratio)
        if tell is not None:
            tell(f"{kept.sum()} of {len(kept)} corners, {sigma:.3f} px")
        weights = _weighed_anew(state, kept, sigma, ratio)
        settled = bool((before == kept).all()) and np.allclose(weights, state.weights, rtol=SAME_WEIGHT)
        if number == ROUNDS - 1 or (number and settled):
            break
        state = replace(state, weights=weights)
    residuals, jacobian = state.linearise()
    rows, design = _whitened(residuals, jacobian, kept, ratio, _bases(state, kept, ratio))
    unknowns = jacobian.shape[2]
    sigma = max(np.sqrt(float(rows @ rows) / max(1, len(rows) - unknowns)), LEAST_SIGMA_PX)
    of_views = design.T @ design / sigma**2
    return Fit(
        state=state.of,
        covariance=_covariance(state, of_views)
        if shared_rad is not None
        else _widened(state, of_views, float(sigma), kept, ratio),
        kept=kept,
        residuals=state.of.linearise()[0],
        sigma_px=float(sigma),
        shared_rad=float(np.sqrt(ratio) * sigma),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Weighed(Generic[S]):
    """A state whose corners are counted in the noise of their kind.

    Attributes:
        of: it.
        weights: noise of each kind, by that of all.
    """

    of: S
    weights: Array

    @property
    def groups(self) -> npt.NDArray[np.int64]:
        return self.of.groups

    @property
    def kinds(self) -> npt.NDArray[np.int64]:
        return self.of.kinds

    def linearise(self) -> tuple[Array, Array]:
        residuals, jacobian = self.of.linearise()
        weights = self.weights[self.kinds, None]
        return residuals / weights, jacobian / weights[..., None]

    def prior(self) -> tuple[Array, Array]:
        return self.of.prior()

    def shared(self) -> Array | None:
        shared = self.of.shared()
        return None if shared is None else shared / self.weights[self.kinds, None, None]

    def moved(self, change: Array) -> _Weighed[S]:
        return replace(self, of=self.of.moved(change))


def _weighed_anew(state: _Weighed[S], kept: Kept, sigma: float, ratio: float) -> Array:
    """Returns the noise of each kind, by that of all, as the corners that count have it."""
    rows, design = _whitened(*state.linearise(), kept, ratio, _bases(state, kept, ratio))
    _, by_change = state.prior()
    inverse = invert(design.T @ design + sigma**2 * (by_change.T @ by_change))
    return weights_of_fit(rows, design, inverse, state.kinds[kept], state.weights)


def invert(information: Array) -> Array:
    """Returns the inverse of a (m, m) information matrix; a direction without any gets a huge variance."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(information), 1e-24))
    values, vectors = np.linalg.eigh(scale[:, None] * information * scale)
    inverse = (vectors / np.maximum(values, 1e-14)) @ vectors.T
    return np.asarray(scale[:, None] * inverse * scale)


def _covariance(state: State, of_views: Array) -> Array:
    """Returns a (m, m) covariance from the (m, m) information of views, and from what is known from elsewhere."""
    _, by_change = state.prior()
    return invert(of_views + by_change.T @ by_change)


def _widened(state: State, of_views: Array, sigma: float, kept: Kept, ratio: float) -> Array:
    """Returns a (m, m) covariance that knows that the variance which a view's corners share was estimated too.

    For views it is that of Student's distribution with as many degrees of freedom as tell that variance, and holds what
    another one would make of the estimate (Kackar and Harville 1984, Kenward and Roger 1997). What is known from
    elsewhere is as sure as it was.
    """
    bases = _bases(state, kept, ratio)
    if not bases:
        return _covariance(state, of_views)
    told = sum(float(((ratio * singular**2 / (1.0 + ratio * singular**2)) ** 2).sum()) for _, _, singular in bases)
    freedom = max(told - len(of_views), LEAST_FREEDOM)
    residuals, jacobian = state.linearise()
    known, by_change = state.prior()
    steps = []
    for factor in (1.0 / SLIGHTLY, SLIGHTLY):
        rows, design = _whitened(residuals, jacobian, kept, ratio * factor, bases)
        normal = design.T @ design + sigma**2 * (by_change.T @ by_change)
        steps.append(invert(normal) @ (design.T @ rows + sigma**2 * (by_change.T @ known)))
    slope = (steps[1] - steps[0]) / (2.0 * np.log(SLIGHTLY))
    return _covariance(state, of_views * ((freedom - 2.0) / freedom)) + 4.0 / freedom * np.outer(slope, slope)


def _check_count(state: State, kept: Kept) -> None:
    unknowns = state.linearise()[1].shape[2]
    if 2 * kept.sum() <= unknowns:
        raise CalibrationError(
            f"{kept.sum()} corners agree, which is too few for {unknowns} unknowns: take more views, and look whether "
            "board, camera and robot of the views are the right ones"
        )


def _whitened(residuals: Array, jacobian: Array, kept: Kept, ratio: float, bases: Bases) -> tuple[Array, Array]:
    """Returns (2k,) residuals and (2k, m) derivatives of corners that count, with noise equal and independent."""
    rows, design = residuals[kept].reshape(-1), jacobian[kept].reshape(2 * int(kept.sum()), -1)
    for place, directions, singular in bases:
        less = 1.0 / np.sqrt(1.0 + ratio * singular**2) - 1.0
        for values in (rows, design):
            inside = directions.T @ values[place]
            values[place] += directions @ (less * inside.T).T
    return rows, design


def _without_shared(state: State, residuals: Array, kept: Kept, ratio: float) -> Array:
    """Returns (k, 2) residuals without what the corners of each view share, as its corners that count tell it.

    A view from where the robot is far from where it says is no view of wrong corners.
    """
    shared = state.shared() if ratio else None
    if shared is None:
        return residuals
    own, groups = residuals.copy(), state.groups
    for view in range(int(groups.max()) + 1):
        here = groups == view
        counted = here & kept
        columns, rows = shared[counted].reshape(-1, shared.shape[2]), residuals[counted].reshape(-1)
        normal = columns.T @ columns + np.eye(shared.shape[2]) / ratio
        own[here] -= shared[here] @ np.linalg.solve(normal, columns.T @ rows)
    return own


def _bases(state: State, kept: Kept, ratio: float) -> Bases:
    """Returns for each view where its rows are, and the directions in which its corners move together, and how far.

    There are none where nothing is shared.
    """
    shared = state.shared() if ratio else None
    if shared is None:
        return []
    groups, found, begin = state.groups[kept], Bases(), 0
    columns = shared[kept].reshape(2 * int(kept.sum()), -1)
    for count in np.bincount(groups):
        place = slice(begin, begin + 2 * int(count))
        begin = place.stop
        if count:
            directions, singular, _ = np.linalg.svd(columns[place], full_matrices=False)
            found.append((place, directions, singular))
    return found


def _shared_ratio(state: State, kept: Kept, sigma: float) -> float:
    """Returns the ratio of variances, of a joint to a pixel, for which the residuals are most likely."""
    bases = _bases(state, kept, 1.0)
    if not bases:
        return 0.0
    residuals, jacobian = state.linearise()
    known, by_change = state.prior()

    def cost_of(ratio: float) -> float:
        rows, design = _whitened(residuals, jacobian, kept, ratio, bases)
        normal = design.T @ design + sigma**2 * (by_change.T @ by_change)
        gradient = design.T @ rows + sigma**2 * (by_change.T @ known)
        scale = 1.0 / np.sqrt(np.maximum(np.diag(normal), 1e-24))
        scaled = scale[:, None] * normal * scale + 1e-12 * np.eye(len(scale))
        change = scale * np.linalg.solve(scaled, scale * gradient)
        left = rows - design @ change
        freedom = len(rows) - len(change)
        cost = freedom * np.log(float(left @ left) / freedom)
        cost += sum(float(np.log1p(ratio * singular**2).sum()) for _, _, singular in bases)
        return float(cost + np.linalg.slogdet(scaled)[1] - 2 * np.log(scale).sum())

    costs = {ratio: cost_of(ratio) for ratio in SHARED_RATIOS.tolist()}
    best = min(costs, key=lambda ratio: costs[ratio])
    for finer in FINER:
        for ratio in (best / finer, best * finer):
            costs.setdefault(ratio, cost_of(ratio))
        best = min(costs, key=lambda ratio: costs[ratio])
    return best


def _descend(state: S, kept: Kept, sigma: float, loss: float | None, ratio: float = 0.0) -> S:
    """Returns the point of least cost that steps from here lead to.

    Args:
        state: where it begins.
        kept: which corners count.
        sigma: of a corner [px].
        loss: of Cauchy's, in `sigma`; `None` takes squares.
        ratio: see `_shared_ratio`.
    """
    sigma = max(sigma, LEAST_SIGMA_PX)
    damping = 1e-3
    bases = _bases(state, kept, ratio)

    def cost_of(at: S) -> tuple[float, Array, Array]:
        """Returns the cost, its gradient and the normal matrix."""
        residuals, jacobian = at.linearise()
        known, by_change = at.prior()
        rows, design = _whitened(residuals, jacobian, kept, ratio, bases)
        rows, design = rows / sigma, design / sigma
        if loss is None:
            cost, weights = float(rows @ rows), None
        else:
            square = (rows.reshape(-1, 2) ** 2).sum(axis=1) / loss**2
            cost, weights = float(loss**2 * np.log1p(square).sum()), np.repeat(1.0 / (1.0 + square), 2)
        cost += float(known @ known)
        weighted = design if weights is None else weights[:, None] * design
        return cost, weighted.T @ rows + by_change.T @ known, weighted.T @ design + by_change.T @ by_change

    cost, gradient, normal = cost_of(state)
    for _ in range(STEPS):
        scale = 1.0 / np.sqrt(np.maximum(np.diag(normal), 1e-24))
        scaled = scale[:, None] * normal * scale
        change = scale * np.linalg.solve(scaled + (damping + 1e-12) * np.eye(len(scale)), scale * gradient)
        trial = state.moved(change)
        answer = cost_of(trial)
        if np.isfinite(answer[0]) and answer[0] <= cost:
            gain = cost - answer[0]
            state, (cost, gradient, normal) = trial, answer
            damping = max(damping / 5, 1e-9)
            if gain < 1e-9 * max(cost, 1e-9):
                break
        else:
            damping *= 8
            if damping > 1e8:
                break
    return state

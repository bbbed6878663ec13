"""Zeros that are known before views are taken: as a start and a prior, or kept as they are while their doubt counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tendon.calibration.fitting import Fit
from tendon.core.types import Array, freeze

if TYPE_CHECKING:
    from tendon.calibration.rig.state import RigState

SURE = 5.0
"""Standard deviations, by which views contradict a zero that is kept."""


@dataclass(frozen=True, kw_only=True, eq=False)
class KnownZeros:
    """Zeros of joints, from elsewhere than the views.

    Attributes:
        joints: whose.
        zeros: (k,) how much larger each is said to be than it is, rad or m.
        covariance: (k, k) of that.
        kept: those of them that the views do not change: what they are off by counts in the doubt of all else.
    """

    joints: tuple[str, ...]
    zeros: Array
    covariance: Array
    kept: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        count = len(self.joints)
        object.__setattr__(self, "zeros", freeze("zeros", self.zeros, (count,)))
        object.__setattr__(self, "covariance", freeze("covariance", self.covariance, (count, count)))

    def of(self, joints: Sequence[str]) -> tuple[Array, Array]:
        """Returns zeros and covariance of some of the joints, in their order."""
        rows = [self.joints.index(joint) for joint in joints]
        return self.zeros[rows], self.covariance[np.ix_(rows, rows)]

    def vector(self, names: Sequence[str]) -> Array:
        """Returns (n,) the zeros of all joints of a robot, 0 where none is known."""
        known = dict(zip(self.joints, self.zeros.tolist(), strict=True))
        return np.array([known.get(name, 0.0) for name in names])


NOTHING_KNOWN = KnownZeros(joints=(), zeros=np.zeros(0), covariance=np.zeros((0, 0)))


def keep_zeros(found: Fit[RigState], known: KnownZeros) -> tuple[Fit[RigState], dict[str, float], list[str]]:
    """Returns the fit for which the zeros that are kept are what they were, and what views say of them.

    That is how sure each would be if the views changed it, a standard deviation, and where they contradict one.

    All else moves with them by its sensitivity S to them, which the fit with free zeros tells: S = C_xk C_kk^-1. Its
    covariance is that for zeros that are exact, and S C S^T for what they may be off by (a consider covariance, Schmidt
    1966). The noise is that of the free fit: fitted again, what the zeros are off by would be taken for noise too.

    Args:
        found: with the zeros free, within what is known of them.
        known: which are kept.
    """
    state, names = found.state, found.state.rig.profile.joint_names
    zeros, doubt = known.of(known.kept)
    places = state.places()
    kept = [places["joint", joint].start for joint in known.kept]
    others = [k for k in range(state.size) if k not in kept]
    indices = [names.index(joint) for joint in known.kept]
    away = zeros - state.zeros[indices]
    contradicted = [
        f"views say that the zero of {joint} is {-step:+.5f} (rad or m) from the one that is kept, known within "
        f"{1.96 * spread:.5f}: put {joint} under `joints` of the session, or measure it again"
        for joint, step, spread in zip(known.kept, away, np.sqrt(np.diag(doubt)), strict=True)
        if abs(step) > SURE * spread
    ]
    sensitivity = found.covariance[np.ix_(others, kept)] @ np.linalg.inv(found.covariance[np.ix_(kept, kept)])
    change = np.zeros(state.size)
    change[others] = sensitivity @ away
    start = state.moved(change)
    fixed = start.zeros.copy()
    fixed[indices] = zeros
    moved = replace(start, zeros=fixed)
    of_views = found.covariance[np.ix_(others, others)] - sensitivity @ found.covariance[np.ix_(kept, others)]
    covariance = np.zeros_like(found.covariance)
    covariance[np.ix_(others, others)] = of_views + sensitivity @ doubt @ sensitivity.T
    covariance[np.ix_(others, kept)] = sensitivity @ doubt
    covariance[np.ix_(kept, others)] = doubt @ sensitivity.T
    covariance[np.ix_(kept, kept)] = doubt
    told = dict(zip(known.kept, np.sqrt(np.diag(found.covariance)[kept]).tolist(), strict=True))
    return replace(found, state=moved, covariance=covariance, residuals=moved.linearise()[0]), told, contradicted

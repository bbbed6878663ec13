"""Dataset statistics as one affine map per component, with the same edge cases as LeRobot's normaliser.

LeRobot 0.4.4, `processor/normalize_processor.py`; with the stored float32 statistics:

| mode | normalised | back |
|---|---|---|
| MEAN_STD | (value - mean) / (std + eps) | normalised * std + mean |
| MIN_MAX, QUANTILES, QUANTILE10 | 2 (value - low) / d - 1 | (normalised + 1) / 2 * d + low |

where d = high - low, or eps where that is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tendon.core.errors import ConfigError

BOUNDS = {"MIN_MAX": ("min", "max"), "QUANTILES": ("q01", "q99"), "QUANTILE10": ("q10", "q90")}
MEAN_STD = ("mean", "std")


@dataclass(frozen=True, kw_only=True)
class Affine:
    """Per component: normalised = (value - mean) / std, and back: value = normalised * std + mean."""

    mean: tuple[float, ...]
    std: tuple[float, ...]


def identity(size: int) -> Affine:
    """Returns the map that changes nothing."""
    return Affine(mean=(0.0,) * size, std=(1.0,) * size)


def to_affine(
    where: str,
    mode: str,
    statistics: Mapping[str, npt.NDArray[Any]],
    shape: tuple[int, ...],
    *,
    eps: float,
    inverse: bool,
) -> Affine:
    """Returns a feature's normalisation.

    Args:
        where: the policy and the feature, for errors.
        mode: LeRobot's normalisation mode.
        statistics: name (mean, std, min, ...) to tensor.
        shape: that each must have: (size,) for a vector, (3, 1, 1) for an image.
        eps: the normaliser's.
        inverse: for the way back. LeRobot adds eps to std only on the way in. A component that never varied (std 0)
            gets eps on the way back too, for a scale must be positive: its value is off by at most eps times the
            normalised one.

    Raises:
        ConfigError: a statistic is missing (LeRobot would then leave the feature as it is, without a word), of another
            shape, not finite, or negative where it cannot be; the mode is unknown.
    """
    if mode != "MEAN_STD" and mode not in BOUNDS:
        raise ConfigError(f"{where} has normalisation {mode!r}, known: IDENTITY, MEAN_STD, {', '.join(BOUNDS)}")
    names = BOUNDS.get(mode, MEAN_STD)
    missing = [name for name in names if name not in statistics]
    if missing:
        found = ", ".join(sorted(statistics)) or "none"
        raise ConfigError(
            f"{where} is normalised by {mode} but its statistics lack {', '.join(missing)} (it has: {found}): "
            "save the processors with the dataset's statistics"
        )
    first, second = (_checked(where, name, statistics[name], shape) for name in names)
    if mode == "MEAN_STD":
        if (second < 0.0).any():
            raise ConfigError(f"{where}: std is {second.tolist()}, must not be negative")
        scale = np.where(second == 0.0, eps, second) if inverse else second + eps
        return Affine(mean=tuple(first.tolist()), std=tuple(scale.tolist()))
    span = second - first
    if (span < 0.0).any():
        raise ConfigError(f"{where}: {names[0]} {first.tolist()} is above {names[1]} {second.tolist()}")
    half = np.where(span == 0.0, eps, span) / 2.0
    return Affine(mean=tuple((first + half).tolist()), std=tuple(half.tolist()))


def _checked(where: str, name: str, value: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    if value.shape != shape:
        raise ConfigError(f"{where}: {name} has shape {list(value.shape)}, expected {list(shape)}")
    numbers = value.astype(np.float64).ravel()
    if not np.isfinite(numbers).all():
        raise ConfigError(f"{where}: {name} is {numbers.tolist()}, must be finite")
    return numbers

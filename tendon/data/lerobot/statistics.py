"""Statistics of features, an episode at a time, and those of episodes together.

Mean and standard deviation are merged exactly (Chan et al. 1979), quantiles as LeRobot merges them: the mean of the
episodes' weighted by their frames.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
SAMPLED = 100
"""Frames of an episode of which the statistics of pictures are made, at least."""
SIDE = 150
"""Pixels that a picture is thinned to for them."""

Stats = dict[str, npt.NDArray[np.float64]]


def of_rows(rows: npt.NDArray[Any]) -> Stats:
    """Returns the statistics of (frames, n) numbers, each (n,), and count (1,)."""
    values = np.asarray(rows, dtype=np.float64).reshape(len(rows), -1)
    found = {"min": values.min(0), "max": values.max(0), "mean": values.mean(0), "std": values.std(0)}
    found |= {name: np.quantile(values, share, axis=0) for name, share in QUANTILES.items()}
    return found | {"count": np.array([len(rows)], dtype=np.float64)}


def of_pictures(pictures: Sequence[npt.NDArray[np.uint8]]) -> Stats:
    """Returns the statistics of (H, W, 3) pictures on values divided by 255, each (3, 1, 1), and count of frames."""
    values = np.concatenate([picture.reshape(-1, 3) for picture in pictures]) / 255.0
    found = {name: value.reshape(3, 1, 1) for name, value in of_rows(values).items() if name != "count"}
    return found | {"count": np.array([len(pictures)], dtype=np.float64)}


def thin(picture: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Returns every n-th pixel of a large picture."""
    step = max(1, max(picture.shape[:2]) // SIDE) if max(picture.shape[:2]) >= 2 * SIDE else 1
    return np.ascontiguousarray(picture[::step, ::step])


def merge(parts: Sequence[Mapping[str, npt.NDArray[Any]]]) -> Stats:
    """Returns the statistics of all frames of several parts, quantiles where each part has them."""
    counts = np.array([float(np.asarray(part["count"]).ravel()[0]) for part in parts])
    shares = counts / counts.sum()

    def mean(name: str) -> npt.NDArray[np.float64]:
        return np.asarray(sum(share * np.asarray(part[name]) for share, part in zip(shares, parts, strict=True)))

    centre = mean("mean")
    variance = sum(
        share * (np.asarray(part["std"]) ** 2 + (np.asarray(part["mean"]) - centre) ** 2)
        for share, part in zip(shares, parts, strict=True)
    )
    found = {
        "min": np.min([part["min"] for part in parts], axis=0),
        "max": np.max([part["max"] for part in parts], axis=0),
        "mean": centre,
        "std": np.sqrt(np.asarray(variance)),
        "count": np.array([counts.sum()]),
    }
    return found | {name: mean(name) for name in QUANTILES if all(name in part for part in parts)}

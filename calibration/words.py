"""Covariances in words: how far off something may be, and in which direction one knows least."""

from __future__ import annotations

import math

import numpy as np

from tendon.core.types import Array

CHI2_3_95 = 7.8147
"""95 % of a chi-squared variable with three degrees of freedom are below."""
GOOD_MM, GOOD_DEG = 1.0, 0.1
"""A camera that is surely within both is well calibrated."""


def within(covariance: Array) -> tuple[float, float]:
    """Returns radii [mm] and [deg] that hold the truth with 95 % at least, of a (6, 6) covariance of a place."""
    place, turn = (np.linalg.eigvalsh(covariance[block, block])[-1] for block in (slice(0, 3), slice(3, 6)))
    return 1000 * math.sqrt(CHI2_3_95 * max(place, 0.0)), math.degrees(math.sqrt(CHI2_3_95 * max(turn, 0.0)))


def weakest(covariance: Array) -> str:
    """Returns the direction, in the link's axes, in which a place is known least."""
    values, vectors = np.linalg.eigh(covariance[:3, :3])
    axis = vectors[:, -1] * np.sign(vectors[np.argmax(np.abs(vectors[:, -1])), -1])
    ratio = math.sqrt(values[-1] / max(values[0], 1e-30))
    direction = ", ".join(f"{value:+.2f}" for value in axis)
    return f"along ({direction}), {ratio:.1f} times less surely than across"


def describe_place(name: str, link: str, covariance: Array) -> str:
    """Returns a sentence about a camera or a board."""
    mm, deg = within(covariance)
    quality = "" if mm <= GOOD_MM and deg <= GOOD_DEG else f"; for {GOOD_MM:g} mm and {GOOD_DEG:g} deg take more views"
    return (
        f"{name} is known on {link} within {mm:.2f} mm and {deg:.3f} deg (95 %), least {weakest(covariance)}{quality}"
    )


def survival_6(value: float) -> float:
    """Returns the probability that a chi-squared variable with six degrees of freedom is larger."""
    half = value / 2
    return math.exp(-half) * (1 + half + half**2 / 2)

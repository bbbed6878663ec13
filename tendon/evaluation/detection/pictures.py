"""Pictures of a failure detector: where its thresholds lie, how well it ranks failures, how early it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tendon.core.types import Array
from tendon.policies.detector.detector import SCORES, Calibration

GOOD, FAILED, LINE = "#2a9d3f", "#c93a3a", "#22272e"
INK, FAINT, GRID = "#22272e", "#6b737c", "#e3e7eb"
SERIES = ("#1f77b4", "#e8711c", "#22272e")
MEANING = {
    "consistency": "consistency: change of plan over the usual",
    "novelty": "novelty: distance of the embedding over the usual",
}


def draw_calibration(
    calibration: Calibration, good: Mapping[str, Array], failed: Mapping[str, Array], alpha: float, path: Path
) -> None:
    """Writes the distributions of each episode's largest scores and the thresholds as PNG.

    Args:
        calibration: gives the thresholds.
        good: score name to its largest value in each successful episode that set the threshold.
        failed: likewise of failed episodes; they set nothing.
        alpha: promised rate of false alarms.
        path: of the picture.
    """
    figure = Figure(figsize=(11, 4.2), dpi=130, facecolor="white", layout="constrained")
    for axis, name in zip(figure.subplots(1, len(SCORES)), SCORES, strict=True):
        threshold = calibration.thresholds[name]
        most = max(threshold * 1.6, *(float(np.percentile(v[name], 98)) for v in (good, failed) if len(v[name])))
        bins = np.linspace(0, most, 36)
        for values, colour, label in ((good, GOOD, "success"), (failed, FAILED, "failure")):
            if len(values[name]):
                shown = np.minimum(values[name], most)
                weights = np.full(len(shown), 100 / len(shown))
                axis.hist(shown, bins, weights=weights, color=colour, alpha=0.55, label=f"{label} (n = {len(shown)})")
        axis.axvline(threshold, color=LINE, lw=1.6)
        top = axis.get_ylim()[1]
        axis.text(
            threshold, top * 1.02, f"alarm above {threshold:.2f}", ha="center", va="bottom", color=INK, fontsize=9
        )
        axis.set_ylim(0, top)
        _finish(axis, f"largest {MEANING[name]}", "episodes [%]")
        axis.legend(frameon=False, fontsize=9)
    figure.suptitle(
        f"Largest score of each calibration episode; thresholds for {100 * alpha:g} % false alarms in all", color=INK
    )
    _save(figure, path)


def draw_roc(curves: Mapping[str, Mapping[str, tuple[Array, Array, float]]], path: Path) -> None:
    """Writes ROC curves as PNG, one panel a data set.

    Args:
        curves: panel title to score name to (false-alarm rate, detected share, AUC).
        path: of the picture.
    """
    figure = Figure(figsize=(4.5 * len(curves), 5.2), dpi=130, facecolor="white", layout="constrained")
    for axis, (title, lines) in zip(np.atleast_1d(figure.subplots(1, len(curves))), curves.items(), strict=True):
        axis.plot([0, 1], [0, 1], color=FAINT, lw=0.8, ls=":")
        for colour, (name, (false_alarms, detected, area)) in zip(SERIES, lines.items(), strict=False):
            axis.step(false_alarms, detected, where="post", color=colour, lw=1.8, label=f"{name}: AUC {area:.2f}")
        axis.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
        axis.set_box_aspect(1)
        axis.set_title(title, color=INK, fontsize=10.5)
        _finish(axis, "alarms in successful episodes (share)", "alarms in failed episodes (share)")
        axis.legend(frameon=False, fontsize=9, loc="lower right")
    _save(figure, path)


def draw_lead_time(leads: Mapping[str, tuple[Array, int]], limit_s: float, path: Path) -> None:
    """Writes, for each perturbation, how long before the end of each failed episode the first alarm came, as PNG.

    Args:
        leads: name to ((detected,) lead times [s], failed episodes in all).
        limit_s: length of a failed episode: the earliest an alarm can be.
        path: of the picture.
    """
    names = list(leads)
    figure = Figure(figsize=(9.5, 1.3 + 0.42 * len(names)), dpi=130, facecolor="white", layout="constrained")
    axis = figure.subplots()
    rng = np.random.default_rng(0)
    for row, name in enumerate(names):
        seconds, total = leads[name]
        if len(seconds):
            axis.scatter(seconds, row + rng.uniform(-0.16, 0.16, len(seconds)), s=16, color=SERIES[0], alpha=0.6, lw=0)
            axis.plot([np.median(seconds)] * 2, [row - 0.32, row + 0.32], color=LINE, lw=2)
        axis.text(limit_s * 1.015, row, f"{len(seconds)} of {total}", va="center", fontsize=9, color=INK)
    axis.set_yticks(range(len(names)), names)
    axis.set(xlim=(0, limit_s), ylim=(len(names) - 0.5, -0.5))
    _finish(axis, "first alarm before the end of the failed episode [s]   (bar: median)", "")
    axis.set_title("detected", loc="right", fontsize=9, color=FAINT, x=1.09)
    _save(figure, path)


def _finish(axis: Axes, x: str, y: str) -> None:
    axis.set_xlabel(x, color=INK)
    axis.set_ylabel(y, color=INK)
    axis.grid(color=GRID, lw=0.7)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _save(figure: Figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)

"""The plots of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tendon.evaluation.statistics import Proportion

FIRST, SECOND, ALL, GRID = "#9aa5b1", "#1f77b4", "#22272e", "#e3e7eb"


def rates(groups: Sequence[str], sides: Mapping[str, Sequence[Proportion]]) -> Figure:
    """Returns bars of success with their 95 % Wilson intervals, by group, one beside the other for each side."""
    figure = Figure(figsize=(9.0, 3.2), facecolor="white", layout="constrained")
    axis = figure.subplots()
    colours = (FIRST, SECOND) if len(sides) > 1 else (SECOND,)
    width = 0.7 / len(sides)
    for place, ((name, found), colour) in enumerate(zip(sides.items(), colours, strict=True)):
        middles = [k + (place - (len(sides) - 1) / 2) * width for k in range(len(groups))]
        axis.bar(middles, [100 * each.rate for each in found], width=0.92 * width, color=colour, label=name)
        _whiskers(axis, middles, found)
    axis.set(ylabel="success [%]", ylim=(0, 104), xticks=range(len(groups)))
    axis.set_xticklabels(list(groups))
    if len(sides) > 1:
        axis.legend(frameon=False, ncols=2, loc="lower right", bbox_to_anchor=(1.0, 1.0))
    return _finished(figure, axis)


def by_strength(axes: Mapping[str, Mapping[float, Proportion]], nominal: Proportion) -> Figure:
    """Returns success along the strength of each axis, a plot for each; the band is that without any."""
    columns = min(4, len(axes))
    rows = -(-len(axes) // columns)
    figure = Figure(figsize=(2.6 * columns + 0.6, 2.1 * rows + 0.3), facecolor="white", layout="constrained")
    plots = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for plot, (name, found) in zip(plots, axes.items(), strict=False):
        strengths = [0.0, *found]
        plot.axhspan(100 * nominal.lower, 100 * nominal.upper, color=GRID)
        points = [nominal, *found.values()]
        plot.plot(strengths, [100 * each.rate for each in points], color=SECOND, marker="o", ms=3.5)
        _whiskers(plot, strengths, points)
        plot.set_title(name.replace("_", " "), fontsize=10)
        plot.set_ylim(0, 104)
        plot.spines[["top", "right"]].set_visible(False)
    for lowest in plots[max(0, len(axes) - columns) : len(axes)]:
        lowest.tick_params(labelbottom=True)
    for spare in plots[len(axes) :]:
        spare.set_visible(False)
    figure.supxlabel("strength", fontsize=9)
    figure.supylabel("success [%]", fontsize=9)
    return figure


def evidence(p_values: Sequence[float], alpha: float) -> Figure:
    """Returns how the p that holds at any time went, scene by scene."""
    figure = Figure(figsize=(9.0, 2.6), facecolor="white", layout="constrained")
    axis = figure.subplots()
    axis.semilogy(range(1, len(p_values) + 1), p_values, color=SECOND)
    axis.axhline(alpha, color=ALL, lw=0.8, ls="--")
    axis.text(1, alpha, f" shown below {alpha:g}", va="bottom", fontsize=9)
    axis.set(xlabel="scenes", ylabel="p at any time")
    return _finished(figure, axis, "both")


def progress(values: Sequence[float]) -> Figure:
    """Returns how far failed episodes got."""
    figure = Figure(figsize=(9.0, 2.2), facecolor="white", layout="constrained")
    axis = figure.subplots()
    axis.hist(values, bins=[k / 20 for k in range(21)], color=FIRST)
    axis.set(xlabel="share of the task done at the end of a failed episode", ylabel="episodes", xlim=(0, 1))
    return _finished(figure, axis)


def _whiskers(axis: Axes, places: Sequence[float], found: Sequence[Proportion]) -> None:
    bars = [[100 * (each.rate - each.lower) for each in found], [100 * (each.upper - each.rate) for each in found]]
    axis.errorbar(places, [100 * each.rate for each in found], bars, fmt="none", color=ALL, capsize=3, lw=1)


def _finished(figure: Figure, axis: Axes, along: str = "y") -> Figure:
    axis.grid(axis=along, color=GRID)  # type: ignore[arg-type]
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    return figure

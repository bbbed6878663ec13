"""Pictures of the results that one would rather look at than read, from rows alone.

The same rows give the same bytes with the same matplotlib; a PNG keeps what it was drawn from, so that a test can say
that it is old without drawing it anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.rows import Number, Row, RowError, to_line
from tendon.evaluation.statistics import Proportion

BLUE, GREY, ORANGE, GREEN = "#1f77b4", "#9aa5b1", "#d97706", "#2a9d3f"
DRAWN_FROM = "Drawn-From"


def _number(row: Row, name: str) -> float:
    value = row.values.get(name)
    if not isinstance(value, Number):
        raise RowError(f"{row.claim} {dict(row.case)}: {name} is {value!r}, the picture needs a number")
    return float(value.value)


def _rate(row: Row, name: str) -> Proportion:
    value = row.values.get(name)
    if not isinstance(value, Proportion):
        raise RowError(f"{row.claim} {dict(row.case)}: {name} is {value!r}, the picture needs a rate")
    return value


def _delay_ms(row: Row) -> float:
    return float(row.case["delay"].split()[0])


def _style(axis: Axes, along: Literal["x", "y", "both"]) -> None:
    axis.grid(axis=along, color="#e3e7eb")
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)


def success(rows: Mapping[str, list[Row]], figure: Figure) -> None:
    """Draws success by family, bars with Wilson intervals; a group for each set of scenes."""
    axis = figure.subplots()
    found = rows["success/families"]
    names, sets = [row.case["family"] for row in found], [row.case["scenes"] for row in found]
    places = [k + list(dict.fromkeys(sets)).index(scenes) for k, scenes in enumerate(sets)]
    for scenes in dict.fromkeys(sets):
        own = [place for place, each in zip(places, sets, strict=True) if each == scenes]
        axis.text(sum(own) / len(own), 104, f"scenes {scenes}", ha="center", fontsize=9)
    for place, name, row in zip(places, names, found, strict=True):
        rate = _rate(row, "success")
        bars = [[100 * (rate.rate - rate.lower)], [100 * (rate.upper - rate.rate)]]
        axis.bar(place, 100 * rate.rate, width=0.8, color=BLUE if name == "all" else GREY)
        axis.errorbar(place, 100 * rate.rate, bars, fmt="none", color="black", capsize=4)
        axis.text(place, 3, f"{rate.successes}/{rate.total}", ha="center", color="white", fontsize=6)
    axis.set(ylabel="success [%], 95 % Wilson", ylim=(0, 110), xticks=places)
    axis.set_xticklabels(names, fontsize=8)
    _style(axis, "y")


def peers(rows: Mapping[str, list[Row]], figure: Figure) -> None:
    """Draws latency from observation to actions, ours beside peers: median as a bar, p99 as its whisker."""
    axis = figure.subplots()
    ordered = list(reversed(rows["peers/end-to-end"]))
    for place, row in enumerate(ordered):
        p50, p99 = _number(row, "p50"), _number(row, "p99")
        who = row.case["who"]
        axis.barh(place, p50, height=0.65, color=BLUE if who == "ours" else GREEN if "tendon" in who else GREY)
        axis.errorbar(p50, place, xerr=[[0.0], [p99 - p50]], fmt="none", color="black", capsize=3)
        axis.text(p99 + 4, place, f"{p50:.0f} / {p99:.0f}", va="center", fontsize=9)
    axis.set(xlabel="observation to actions [ms], p50 (bar) and p99 (whisker)", yticks=range(len(ordered)))
    axis.set_yticklabels([f"{row.case['who']}, {row.case['inference by']}" for row in ordered])
    axis.set_xlim(0, 1.15 * max(_number(row, "p99") for row in ordered))
    _style(axis, "x")


def chunk_timing(rows: Mapping[str, list[Row]], figure: Figure) -> None:
    """Draws success and time to success against inference delay, a line for each way to place chunks."""
    left, right = figure.subplots(1, 2)
    lines: dict[str, list[Row]] = {}
    for row in rows["chunk-timing/ways"]:
        lines.setdefault(row.case["timing"], []).append(row)
    colours = {"trained_prefix": BLUE, "inpainting": GREEN, "overlap": ORANGE, "overwrite": "#c1121f"}
    for name, group in lines.items():
        colour = colours.get(name, GREY)
        rates = [(_delay_ms(row), 100 * _rate(row, "success").rate) for row in group]
        left.plot(*zip(*rates, strict=True), "o-", color=colour, label=name)
        # Where no scene was done there is no time to it.
        times = [(_delay_ms(row), _number(row, "median time")) for row in group if "median time" in row.values]
        right.plot(*zip(*times, strict=True), "o-", color=colour)
    left.set(xlabel="inference delay [ms]", ylabel="success [%]", ylim=(0, 103))
    right.set(xlabel="inference delay [ms]", ylabel="median time to success [s]", ylim=(0, None))
    left.legend(frameon=False, fontsize=9, loc="lower left")
    for axis in (left, right):
        _style(axis, "both")


def soak(rows: Mapping[str, list[Row]], figure: Figure) -> None:
    """Draws what must not drift over hours: memory of each node, and latencies."""
    left, right = figure.subplots(1, 2)
    parts = rows["soak/hours"]
    minutes = [float(row.case["after"].split()[0]) for row in parts]
    for name in (name for name in parts[0].values if name.endswith(" memory")):
        left.plot(
            minutes, [_number(row, name) for row in parts], "o-", markersize=3, label=name.removesuffix(" memory")
        )
    for name, colour in (("observation to command", BLUE), ("tick late", ORANGE)):
        for which, line in (("p50", "o-"), ("p99", "o--")):
            seen = [(at, _number(row, f"{name} {which}")) for at, row in zip(minutes, parts, strict=True)]
            right.plot(*zip(*seen, strict=True), line, markersize=3, color=colour, label=f"{name} {which}")
    left.set(xlabel="minutes in motion", ylabel="memory [MiB]", ylim=(0, None))
    right.set(xlabel="minutes in motion", ylabel="[ms]", ylim=(0, None))
    for axis in (left, right):
        axis.legend(frameon=False, fontsize=7)
        _style(axis, "both")


PICTURES: dict[str, Callable[[Mapping[str, list[Row]], Figure], None]] = {
    "success": success,
    "peers": peers,
    "chunk-timing": chunk_timing,
    "soak": soak,
}
TABLES = {
    "success": ("success/families",),
    "peers": ("peers/end-to-end",),
    "chunk-timing": ("chunk-timing/ways",),
    "soak": ("soak/hours",),
}


def source_of(name: str, rows: Mapping[str, list[Row]]) -> str:
    """Returns a digest of the rows that a picture is drawn from.

    Raises:
        RowError: no such picture.
    """
    if name not in PICTURES:
        raise RowError(f"no picture {name}; known: {', '.join(PICTURES)}")
    lines = [to_line(row) for claim in TABLES[name] for row in rows[claim]]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def draw(name: str, rows: Mapping[str, list[Row]], path: Path) -> None:
    """Writes a picture as PNG.

    Raises:
        RowError: no such picture, or a row lacks what it draws.
    """
    source = source_of(name, rows)
    figure = Figure(figsize=(8.6, 3.6), dpi=120, facecolor="white", layout="constrained")
    PICTURES[name](rows, figure)
    path.parent.mkdir(parents=True, exist_ok=True)
    # matplotlib's own name and version are left out: they would change the bytes and nothing in the picture.
    figure.savefig(path, metadata={"Software": None, DRAWN_FROM: source})

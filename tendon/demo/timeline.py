"""The timeline of a recorded run as one picture: what was asked, commanded and measured, and all latencies."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tendon.core.modes import Mode
from tendon.core.types import Array
from tendon.demo.measurements import (
    acceleration_share,
    observation_to_chunk_ms,
    observation_to_command_ms,
    takeover_ns,
)
from tendon.demo.recording import Motion, Outcome, Recording, Times
from tendon.pictures.palette import joint_colour

INK, FAINT, GRID = "#22272e", "#8a929c", "#e3e7eb"
OUTCOME_COLOURS = {Outcome.DONE: "#cdebd3", Outcome.SWITCHED: "#fde3b5", Outcome.NOT_DONE: "#f6c6c6"}
OUTCOME_WORDS = {Outcome.DONE: "done", Outcome.SWITCHED: "switched in motion", Outcome.NOT_DONE: "NOT DONE"}
MODE_COLOURS = {
    Mode.STANDBY: "#d9dde2",
    Mode.ARMED: "#b9dcf2",
    Mode.RUNNING: "#7cc58a",
    Mode.STOPPING: "#f2b134",
    Mode.LATCHED: "#d9534f",
}
ZOOM_S = (0.8, 1.2)
WIDTH_IN, LEFT, RIGHT = 15.0, 0.075, 0.915
LETTER = 0.085 / WIDTH_IN
"""Width of an average letter at font size 9, as a share of the picture's."""


def draw_timeline(recording: Recording, path: Path, title: str) -> None:
    """Writes the picture as PNG."""
    figure = Figure(figsize=(WIDTH_IN, 13), dpi=110, facecolor="white")
    longest = max((len(name) for name in joint_labels(recording.joint_names[:-1])), default=0)
    sides = {"left": LEFT, "right": min(RIGHT, 0.99 - longest * LETTER)}
    grid = figure.add_gridspec(
        5, 1, height_ratios=(0.75, 2.7, 1.0, 1.1, 1.3), top=0.93, bottom=0.33, hspace=0.17, **sides
    )
    axes = [figure.add_subplot(grid[0])]
    axes += [figure.add_subplot(grid[row], sharex=axes[0]) for row in range(1, 5)]
    figure.text(LEFT, 0.965, title, fontsize=15, fontweight="bold", color=INK, ha="left", va="center")
    strip, arm, gripper, acceleration, latency = axes
    _strip(strip, recording)
    _arm(arm, recording)
    _gripper(gripper, recording)
    _acceleration(acceleration, recording)
    _latency(latency, recording)
    for axis in axes:
        _switches(axis, recording)
        axis.set_xlim(0, (recording.end_ns - recording.begin_ns) * 1e-9)
        axis.tick_params(labelbottom=axis is latency)
    latency.set_xlabel("time since arming [s]", color=INK)
    _zoom(figure.add_subplot(figure.add_gridspec(1, 1, top=0.235, bottom=0.05, **sides)[0]), recording)
    figure.savefig(path)


def _seconds(recording: Recording, times_ns: Times) -> Array:
    return np.asarray((times_ns - recording.begin_ns) * 1e-9)


def _dress(axis: Axes, label: str) -> None:
    axis.set_ylabel(label, color=INK, fontsize=10)
    axis.grid(True, color=GRID, linewidth=0.7)
    axis.set_axisbelow(True)
    axis.tick_params(colors=INK, labelsize=9, length=3)
    axis.locator_params(axis="y", nbins=6)  # more would need more digits
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axis.spines[side].set_color(FAINT)


def _switches(axis: Axes, recording: Recording) -> None:
    for attempt in recording.attempts:
        at_s = (attempt.begin_ns - recording.begin_ns) * 1e-9
        axis.axvline(at_s, color=INK, linewidth=1.1, linestyle=(0, (5, 3)), alpha=0.75, zorder=1.5)


def _strip(axis: Axes, recording: Recording) -> None:
    """What was asked, and the mode below it."""
    whole_s = (recording.end_ns - recording.begin_ns) * 1e-9
    for attempt in recording.attempts:
        begin_s, end_s = ((t - recording.begin_ns) * 1e-9 for t in (attempt.begin_ns, attempt.end_ns))
        if end_s <= begin_s:
            continue  # never given
        axis.broken_barh([(begin_s, end_s - begin_s)], (1.1, 1.5), color=OUTCOME_COLOURS[attempt.outcome])
        words = f"“{attempt.instruction}”"
        inside = _fits(words, (end_s - begin_s) / whole_s)
        text = f"{words}\n{OUTCOME_WORDS[attempt.outcome]}, {end_s - begin_s:.1f} s"
        # A short bar's words go above it, toward the side where there is room.
        leftward = not inside and begin_s > 0.5 * whole_s
        axis.text(
            end_s if leftward else begin_s + 0.004 * whole_s,
            1.85 if inside else 2.75,
            text if inside else text.replace("\n", "  "),
            va="center" if inside else "bottom",
            ha="right" if leftward else "left",
            fontsize=9,
            color=INK,
        )
    since = [*recording.modes, (recording.end_ns, Mode.STANDBY)]
    for (begin_ns, mode), (end_ns, _) in pairwise(since):
        begin_s, end_s = (max(0.0, (t - recording.begin_ns) * 1e-9) for t in (begin_ns, end_ns))
        if end_s <= begin_s:
            continue
        axis.broken_barh([(begin_s, end_s - begin_s)], (0.1, 0.8), color=MODE_COLOURS[mode])
        if _fits(mode.value, (end_s - begin_s) / whole_s):
            axis.text((begin_s + end_s) / 2, 0.5, mode.value, ha="center", va="center", fontsize=9, color=INK)
        elif end_ns == recording.end_ns:
            axis.text(1.006 * whole_s, 0.5, mode.value, va="center", fontsize=9, color=INK)
    axis.set_ylim(0, 2.7)
    axis.set_yticks([0.5, 1.85], ["mode", "instruction"], fontsize=9, color=INK)
    axis.tick_params(length=0, labelbottom=False)
    for side in axis.spines.values():
        side.set_visible(False)


def _fits(words: str, share: float) -> bool:
    """Returns whether words fit into a bar that takes a share of the axis."""
    return len(words) * LETTER < share * (RIGHT - LEFT)


def _pair(axis: Axes, recording: Recording, column: int, colour: str, scale: float = 1.0) -> None:
    """One joint: commanded as a line, measured as dashes over it."""
    for motion, style in ((recording.commanded, "-"), (recording.measured, (0, (2, 2)))):
        seconds, values = _with_gaps(recording, motion, column)
        commanded = motion is recording.commanded
        axis.plot(
            seconds,
            scale * values,
            color=colour if commanded else INK,
            linewidth=2.0 if commanded else 0.9,
            linestyle=style,
            alpha=1.0 if commanded else 0.8,
        )


def _with_gaps(recording: Recording, motion: Motion, column: int) -> tuple[Array, Array]:
    """Returns times and values, with a NaN where nothing came for a while, so that no line is drawn across."""
    seconds, values = _seconds(recording, motion.due_ns), np.array(motion.position[:, column])
    gaps = np.nonzero(np.diff(seconds) > 0.1)[0] + 1
    return np.insert(seconds, gaps, seconds[gaps - 1] if len(gaps) else []), np.insert(values, gaps, np.nan)


def _arm(axis: Axes, recording: Recording) -> None:
    _dress(axis, "arm joints [rad]")
    ends = {}
    labels = joint_labels(recording.joint_names[:-1])
    for column in range(len(labels)):
        _pair(axis, recording, column, joint_colour(column))
        if len(recording.measured.position):
            ends[column] = float(recording.measured.position[-1, column])
    low, high = axis.get_ylim()
    places = _spread_out(ends, 0.058 * (high - low), high)
    for column, place in places.items():
        beside = axis.get_yaxis_transform()
        axis.annotate(
            labels[column], (1.006, place), xycoords=beside, color=joint_colour(column), fontsize=9, va="center"
        )
    taken = _seconds(recording, takeover_ns(recording))
    axis.plot(taken, np.full(len(taken), 0.015), "|", color=FAINT, markersize=6, transform=axis.get_xaxis_transform())
    axis.set_title(
        "lines: commanded      dashes: measured      ticks at the bottom: a new action chunk takes over",
        fontsize=9,
        color=FAINT,
        loc="right",
        pad=4,
    )


def joint_labels(names: Sequence[str]) -> tuple[str, ...]:
    """Returns joint names without the words that all of them begin or end with: `joint1`, `left_wrist_roll`."""
    words = [name.split("_") for name in names]
    shortest = min(map(len, words), default=0)
    begin, end = 0, 0
    while begin < shortest - 1 and len({row[begin] for row in words}) == 1:
        begin += 1
    while end < shortest - 1 - begin and len({row[-1 - end] for row in words}) == 1:
        end += 1
    return tuple("_".join(row[begin : len(row) - end]) for row in words)


def _spread_out(wanted: dict[int, float], gap: float, highest: float) -> dict[int, float]:
    """Returns places for labels, at least `gap` apart, none above `highest`, in the order of what they label."""
    places: dict[int, float] = {}
    last = -np.inf
    for column, value in sorted(wanted.items(), key=lambda item: item[1]):
        last = places[column] = max(value, last + gap)
    for column in reversed(places):
        places[column] = min(places[column], highest)
        highest = places[column] - gap
    return places


def _gripper(axis: Axes, recording: Recording) -> None:
    _dress(axis, "finger [mm]")
    _pair(axis, recording, len(recording.joint_names) - 1, "#3d8f86", scale=1e3)
    axis.set_ylim(-2, 43)


def _acceleration(axis: Axes, recording: Recording) -> None:
    _dress(axis, "acceleration\n[% of limit]")
    share = acceleration_share(recording)
    if share.size:
        seconds = _seconds(recording, recording.commanded.due_ns[1:])
        axis.fill_between(seconds, 100 * share[:, :-1].max(axis=1), color="#7a8fd1", linewidth=0, alpha=0.8)
    axis.axhline(100, color="#c93a3a", linewidth=1)
    axis.set_ylim(0, 112)
    axis.text(1.006, 100, "limit", transform=axis.get_yaxis_transform(), color="#c93a3a", fontsize=9, va="center")


def _latency(axis: Axes, recording: Recording) -> None:
    _dress(axis, "after exposure\n[ms, simulated]")
    chunk, command = observation_to_chunk_ms(recording), observation_to_command_ms(recording)
    seconds = _seconds(recording, recording.chunks.sent_ns)
    highest = 10.0
    for values, colour, name in ((command, "#e8711c", "command"), (chunk, "#1f77b4", "chunk")):
        if not len(values):
            continue
        p50, p99 = np.percentile(values, [50, 99])
        axis.plot(seconds[: len(values)], values, "o", markersize=3, color=colour, alpha=0.75, markeredgewidth=0)
        highest = max(highest, 1.35 * float(p99))
        axis.text(
            1.006,
            0.9 if name == "command" else 0.45,
            f"{name}\np50 {p50:.1f}\np99 {p99:.1f}",
            transform=axis.transAxes,
            color=colour,
            fontsize=9,
            va="top",
        )
    axis.set_ylim(0, highest)


def _zoom(axis: Axes, recording: Recording) -> None:
    """The joints around the switch in motion, as change since its moment, with every chunk boundary."""
    _dress(axis, "change since the\nswitch [rad]")
    pairs = pairwise(recording.attempts)
    found = next((pair for pair in pairs if pair[0].outcome is Outcome.SWITCHED), None)
    if found is None or not len(recording.commanded.due_ns):
        axis.text(0.5, 0.5, "there was no switch in motion", transform=axis.transAxes, ha="center", color=FAINT)
        axis.set_axis_off()
        return
    before, after = found
    at_s = (after.begin_ns - recording.begin_ns) * 1e-9
    commanded, measured = recording.commanded, recording.measured
    for column in range(len(recording.joint_names) - 1):
        origin = float(np.interp(after.begin_ns, commanded.due_ns, commanded.position[:, column]))
        for motion, shade, width, style in (
            (commanded, joint_colour(column), 2.2, "-"),
            (measured, INK, 0.9, (0, (2, 2))),
        ):
            seconds = _seconds(recording, motion.due_ns)
            inside = (seconds > at_s - ZOOM_S[0]) & (seconds < at_s + ZOOM_S[1])
            axis.plot(seconds[inside], motion.position[inside, column] - origin, color=shade, lw=width, linestyle=style)
    for taken in _seconds(recording, takeover_ns(recording)):
        axis.axvline(taken, color=FAINT, linewidth=0.7, alpha=0.6, zorder=0.5)
    axis.axvline(at_s, color=INK, linewidth=1.4, linestyle=(0, (5, 3)))
    fresh = takeover_ns(recording)[recording.chunks.stamp_ns >= after.begin_ns]
    if len(fresh):
        axis.axvspan(at_s, float((fresh[0] - recording.begin_ns) * 1e-9), color="#fde3b5", alpha=0.9, zorder=0.4)
    axis.set_xlim(at_s - ZOOM_S[0], at_s + ZOOM_S[1])
    axis.set_xlabel("time since arming [s]", color=INK)
    axis.text(
        0.0,
        1.17,
        f"The switch in motion: “{before.instruction}” → “{after.instruction}”",
        transform=axis.transAxes,
        fontsize=11,
        fontweight="bold",
        color=INK,
    )
    axis.set_title(
        "lines: commanded      dashes: measured      grey: chunk boundaries      "
        "orange: until the first command that knows the new instruction",
        fontsize=9,
        color=FAINT,
        loc="left",
        pad=4,
    )

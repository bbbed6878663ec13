"""An episode as one picture: what the cameras saw, what was commanded and measured, and when frames came."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from tendon.data.convert.from_mcap import Options, frames, shape_for
from tendon.data.lerobot.reader import LeRobotDataset
from tendon.data.lerobot.writer import Frame
from tendon.data.reading.observations import require_begin
from tendon.data.reading.recording import McapRecording
from tendon.robots.profile import load_profile

COLOURS = ("#1f77b4", "#e8711c", "#2a9d3f", "#c93a3a", "#7d55c7", "#8a5a44", "#d452a8", "#17b3c4", "#a8a800", "#26307a")
STRIP = 8
"""Pictures of each camera."""
WIDTH_IN = 14.0
SOFTWARE = "tendon data plot"
"""What such a picture says it was made by."""

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Episode:
    """What is drawn.

    Attributes:
        title: above it.
        joints: names of the columns.
        fps: nominal.
        stamps_ns: (frames,).
        state, action: (frames, n).
        strips: camera to a few (time [s], picture).
        tasks: (time [s], words), where they change.
    """

    title: str
    joints: tuple[str, ...]
    fps: int
    stamps_ns: npt.NDArray[np.int64]
    state: Numbers
    action: Numbers
    strips: dict[str, list[tuple[float, npt.NDArray[np.uint8]]]]
    tasks: list[tuple[float, str]]


def of_dataset(dataset: LeRobotDataset, number: int) -> Episode:
    """Returns an episode of a dataset.

    Raises:
        InvalidDataError: it cannot be read.
    """
    title = f"{dataset.root} · episode {number}"
    return _episode(title, dataset.shape.joints, dataset.shape.fps, dataset.frames(number))


def of_recording(recording: McapRecording) -> Episode:
    """Returns the episode of a recording.

    Raises:
        InvalidDataError: it cannot be read, or holds no command.
    """
    profile = load_profile(require_begin(recording).robot)
    shape = shape_for(recording, profile, Options())
    outcome = "" if recording.end is None else f" · {recording.end.outcome.value}"
    found = frames(recording, profile, shape, proposed=False)
    return _episode(f"{recording.path}{outcome}", profile.joint_names, shape.fps, found)


def _episode(title: str, joints: tuple[str, ...], fps: int, given: Iterable[Frame]) -> Episode:
    stamps, states, actions = list[int](), list[Any](), list[Any]()
    strips: dict[str, list[tuple[float, npt.NDArray[np.uint8]]]] = {}
    tasks: list[tuple[float, str]] = []
    every = 1
    for k, frame in enumerate(given):
        stamps.append(frame.stamp_ns)
        states.append(np.asarray(frame.state))
        actions.append(np.asarray(frame.action))
        at_s = (frame.stamp_ns - stamps[0]) * 1e-9
        if not tasks or tasks[-1][1] != frame.task:
            tasks.append((at_s, frame.task))
        if k % every == 0:
            for name, pixels in frame.images.items():
                strips.setdefault(name, []).append((at_s, pixels))
            if k // every + 1 == 2 * STRIP:  # as many pictures, twice as far apart
                strips, every = {name: pictures[::2] for name, pictures in strips.items()}, 2 * every
    width = (len(stamps), len(joints))
    return Episode(
        title=title,
        joints=joints,
        fps=fps,
        stamps_ns=np.array(stamps, dtype=np.int64),
        state=np.array(states, dtype=np.float64).reshape(width),
        action=np.array(actions, dtype=np.float64).reshape(width),
        strips={name: _evenly(pictures) for name, pictures in strips.items()},
        tasks=tasks,
    )


def _evenly(pictures: list[tuple[float, npt.NDArray[np.uint8]]]) -> list[tuple[float, npt.NDArray[np.uint8]]]:
    picked = np.linspace(0, len(pictures) - 1, min(STRIP, len(pictures))).astype(int)
    return [pictures[k] for k in picked]


def draw(episode: Episode, path: Path) -> None:
    """Writes the picture as PNG."""
    rows = len(episode.strips)
    figure = Figure(figsize=(WIDTH_IN, 1.9 * rows + 7.0), facecolor="white", layout="constrained")
    figure.suptitle(episode.title, x=0.01, ha="left", fontsize=13, fontweight="bold")
    parts: Any = figure.subfigures(2, 1, height_ratios=(max(1.9 * rows, 0.1), 7.0))
    for strip, (name, pictures) in zip(_rows(parts[0], rows), episode.strips.items(), strict=True):
        _draw_strip(strip, name, pictures)
    axes = parts[1].subplots(3, 1, sharex=True, height_ratios=(3, 2, 1))
    times_s = (episode.stamps_ns - episode.stamps_ns[:1]) * 1e-9
    for k, joint in enumerate(episode.joints):
        colour = COLOURS[k % len(COLOURS)]
        axes[0].plot(times_s, episode.state[:, k], color=colour, linewidth=1.4, label=joint)
        axes[0].plot(times_s, episode.action[:, k], color=colour, linewidth=0.8, linestyle="--")
        axes[1].plot(times_s, episode.action[:, k] - episode.state[:, k], color=colour, linewidth=1.0)
    axes[0].set_ylabel("measured, and\ncommanded (dashed)\n[rad or m]")
    axes[0].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8, frameon=False)
    axes[1].set_ylabel("action\n- state\n[rad or m]")
    if len(times_s) > 1:
        axes[2].plot(times_s[1:], np.diff(times_s) * 1e3, ".", color="#22272e", markersize=3)
    axes[2].axhline(1e3 / episode.fps, color="#8a929c", linewidth=0.8, linestyle=":")
    axes[2].set_ylabel("between\nframes [ms]")
    axes[2].set_ylim(0.0, 1.15 * axes[2].get_ylim()[1])
    figure.align_ylabels(list(axes))
    axes[2].set_xlabel("time [s]")
    for at_s, words in episode.tasks:
        axes[0].axvline(at_s, color="#8a929c", linewidth=0.8)
        axes[0].text(at_s, 1.01, f" {words}", transform=axes[0].get_xaxis_transform(), fontsize=9, color="#57606a")
    for axis in axes:
        axis.grid(color="#e3e7eb", linewidth=0.6)
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=100, format="png", metadata={"Software": SOFTWARE})


def _rows(part: Any, count: int) -> Sequence[Any]:
    return [part] if count == 1 else list(part.subfigures(count, 1)) if count else []


def _draw_strip(part: Any, name: str, pictures: Sequence[tuple[float, npt.NDArray[np.uint8]]]) -> None:
    axes = np.atleast_1d(part.subplots(1, STRIP))
    for axis, (at_s, pixels) in zip(axes, pictures, strict=False):
        axis.imshow(pixels)
        axis.set_title(f"{at_s:.1f} s", fontsize=8, color="#57606a")
    for axis in axes:
        axis.set_axis_off()
    axes[0].text(-0.08, 0.5, name, transform=axes[0].transAxes, rotation=90, va="center", ha="right", fontsize=9)

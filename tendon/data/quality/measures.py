"""What can be measured of an episode of a dataset, and of episodes beside one another.

Action divergence is after Belkhale et al. (2023), "Data Quality in Imitation Learning": how far what was done in a
state is from what was done in the nearest states of other episodes. Transition diversity is theirs, too: how
differently the state goes on from near states.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from tendon.data.lerobot.layout import ACTION, STAMP, STATE
from tendon.data.lerobot.reader import LeRobotDataset
from tendon.data.lerobot.statistics import thin

DARK = 12.0
"""Mean grey value below which a picture shows nothing."""
IDLE = 0.01
"""Speed of the fastest joint [rad/s or m/s] below which nothing moves."""
SAME = 16
"""Grey values that no pixel of two pictures differs by when they are the same, one of them encoded again."""
GAP_PERIODS = 1.5
NEIGHBOURS = 5
MOST_COMPARED = 20_000
"""Frames of a dataset that are compared with one another; more are thinned evenly."""
PICTURES = 3
FEWEST = 8
"""Episodes of an instruction that can be judged by one another; where there are fewer, all such are taken together."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class EpisodeQuality:
    """One episode.

    Attributes:
        number: of it.
        task: in words; the first.
        outcome: what was said of it.
        frames, seconds: how long it is.
        gaps: places where frames are missing.
        sync: how far a true stamp is from its nominal time at most, `frame_index / fps` [ms]: who reads nominal times,
            as LeRobot does, is wrong by so much.
        repeated: share of pictures that are those before, up to what a codec does, in its worst camera.
        frozen: longest run of such pictures [s], while the robot moves.
        dark: share of dark pictures in its worst camera.
        jerk: root mean square of the commands' third derivative [rad/s^3], over all joints.
        idle: share of frames in which nothing moves.
        path: sum of all joints' ways [rad].
        divergence: of its actions from those in near states of other episodes, in standard deviations; NaN for one
            that has none beside it.
        diversity: of how the state goes on from near states, likewise.
        disagreement: with a policy, see `Agreement`; NaN without one.
        otherwise: share of other instructions under which that policy agrees more; NaN without one.
        start: (n,) first state.
        shown: a few pictures of its first camera.
    """

    number: int
    task: str
    outcome: str
    frames: int
    seconds: float
    gaps: int
    sync: float
    repeated: float
    frozen: float
    dark: float
    jerk: float
    idle: float
    path: float
    start: Array
    divergence: float = float("nan")
    diversity: float = float("nan")
    disagreement: float = float("nan")
    otherwise: float = float("nan")
    shown: list[npt.NDArray[np.uint8]] = field(default_factory=list)


def measure(dataset: LeRobotDataset, number: int) -> tuple[EpisodeQuality, dict[str, Array]]:
    """Returns what an episode is by itself, and its rows, for `compare`.

    Raises:
        InvalidDataError: it cannot be read.
    """
    row, rows, fps = dataset.episodes[number], dataset.rows(number), dataset.shape.fps
    state, action = (np.asarray(rows[name], dtype=np.float64) for name in (STATE, ACTION))
    length = len(state)
    stamps_s = np.asarray(rows.get(STAMP, np.arange(length) * 1e9 / fps), dtype=np.float64) * 1e-9
    speed = np.abs(np.diff(state, axis=0)).max(axis=1, initial=0.0) * fps
    third = np.diff(action, n=3, axis=0) * fps**3
    looks = [_look(dataset, number, camera.name, speed) for camera in dataset.shape.cameras]
    found = EpisodeQuality(
        number=number,
        task=str(row["tasks"][0]) if row["tasks"] else "",
        outcome=str(row.get("outcome") or ""),
        frames=length,
        seconds=float(stamps_s[-1] - stamps_s[0]) if length else 0.0,
        gaps=int((np.diff(stamps_s) > GAP_PERIODS / fps).sum()),
        sync=1e3 * float(np.abs(stamps_s - stamps_s[:1] - np.arange(length) / fps).max(initial=0.0)),
        repeated=max((each[0] for each in looks), default=0.0),
        frozen=max((each[1] for each in looks), default=0.0),
        dark=max((each[2] for each in looks), default=0.0),
        jerk=float(np.sqrt((third**2).mean())) if len(third) else 0.0,
        idle=float((speed < IDLE).mean()) if len(speed) else 1.0,
        path=float(np.abs(np.diff(state, axis=0)).sum()),
        start=state[0],
        shown=looks[0][3] if looks else [],
    )
    return found, {"state": state, "change": action - state, "next": np.diff(state, axis=0, append=state[-1:])}


def _look(
    dataset: LeRobotDataset, number: int, camera: str, speed: Array
) -> tuple[float, float, float, list[npt.NDArray[np.uint8]]]:
    """Returns shares of repeated pictures, the longest frozen run [s], share of dark ones, and some to be shown."""
    length = int(dataset.episodes[number]["length"])
    wanted = set(np.linspace(0, length - 1, PICTURES).astype(int).tolist())
    before: Any = None
    repeated = dark = run = longest = 0
    shown = []
    for k, pixels in enumerate(dataset.pictures(number, camera)):
        small = thin(pixels)
        same = before is not None and int(np.abs(small.astype(np.int16) - before).max()) < SAME
        repeated += same
        run = run + 1 if same and k <= len(speed) and speed[min(k, len(speed)) - 1] >= IDLE else 0
        longest = max(longest, run)
        dark += small.mean() < DARK
        before = small
        if k in wanted:
            shown.append(pixels)
    count = max(length, 1)
    return repeated / count, longest / dataset.shape.fps, dark / count, shown


def peers(tasks: Sequence[str]) -> list[list[int]]:
    """Returns which episodes are judged beside one another: those of a task, and together those of rare tasks.

    People seldom say the same words twice: without the latter, most episodes would have nobody beside them.
    """
    counts = Counter(tasks)
    found: dict[str, list[int]] = {}
    for k, task in enumerate(tasks):
        found.setdefault(task if counts[task] >= FEWEST else "", []).append(k)
    return list(found.values())


def compare(rows: Sequence[dict[str, Array]], tasks: Sequence[str]) -> list[tuple[float, float]]:
    """Returns (divergence, diversity) of each episode beside its `peers`.

    Both are root mean squares in standard deviations of the whole dataset; NaN where an episode has no peer.
    """
    total = sum(len(each["state"]) for each in rows)
    step = max(1, -(-total // MOST_COMPARED))
    thinned = [{name: values[::step] for name, values in each.items()} for each in rows]
    scale = {
        name: np.maximum(np.concatenate([each[name] for each in thinned]).std(axis=0), 1e-4)
        for name in ("state", "change", "next")
    }
    found = [(float("nan"), float("nan"))] * len(rows)
    for members in peers(tasks):
        for k in members:
            others = [thinned[i] for i in members if i != k]
            if others:
                found[k] = _beside(thinned[k], others, scale)
    return found


def _beside(one: dict[str, Array], others: Sequence[dict[str, Array]], scale: dict[str, Array]) -> tuple[float, float]:
    pool = {name: np.concatenate([each[name] for each in others]) / scale[name] for name in scale}
    near = min(NEIGHBOURS, len(pool["state"]))
    _, index = cKDTree(pool["state"]).query(one["state"] / scale["state"], k=near)
    index = np.asarray(index).reshape(len(one["state"]), near)
    divergence = one["change"] / scale["change"] - pool["change"][index].mean(axis=1)
    diversity = pool["next"][index] - (one["next"] / scale["next"])[:, None]
    return float(np.sqrt((divergence**2).mean())), float(np.sqrt((diversity**2).mean()))

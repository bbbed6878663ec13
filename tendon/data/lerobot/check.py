"""Finds what is wrong with a dataset before somebody trains on it for a night."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tendon.core.errors import InvalidDataError
from tendon.data.lerobot.layout import ACTION, STAMP, STATE
from tendon.data.lerobot.reader import LeRobotDataset

TOLERANCE_S = 1e-4
"""What LeRobot allows a time to be off."""


def problems(
    dataset: LeRobotDataset, pictures: bool = True, told: Callable[[int], None] = lambda count: None
) -> Iterator[str]:
    """Yields what is wrong, a line each.

    Args:
        dataset: to be looked at.
        pictures: decode every video, too.
        told: gets how many episodes have been looked at.
    """
    info, first = dataset.info, 0
    for number, row in enumerate(dataset.episodes):
        where = f"episode {number}"
        length = int(row["length"])
        if (row["dataset_from_index"], row["dataset_to_index"]) != (first, first + length):
            yield (
                f"{where}: meta/episodes says frames {row['dataset_from_index']} to {row['dataset_to_index']}, must be "
                f"{first} to {first + length}"
            )
        try:
            yield from (f"{where}: {each}" for each in _rows(dataset, number, length, first))
            if pictures:
                yield from (f"{where}: {each}" for each in _pictures(dataset, number, length))
        except InvalidDataError as error:
            yield f"{where}: {error}"
        first += length
        told(number + 1)
    if first != info["total_frames"]:
        yield f"info.json says {info['total_frames']} frames, the episodes have {first}"


def _rows(dataset: LeRobotDataset, number: int, length: int, first: int) -> Iterator[str]:
    rows = dataset.rows(number)
    named = {name for name, each in dataset.info["features"].items() if each["dtype"] not in ("video", "image")}
    if lone := sorted(named ^ set(rows)):
        yield f"info.json and the data differ in {', '.join(lone)}"
    expected: dict[str, npt.NDArray[Any]] = {
        "frame_index": np.arange(length),
        "index": np.arange(first, first + length),
        "episode_index": np.full(length, number),
    }
    for name, values in expected.items():
        if name not in rows or not np.array_equal(rows[name], values):
            yield f"{name} does not count up as it must"
    off = np.abs(rows["timestamp"] - np.arange(length) / dataset.shape.fps)
    if off.max(initial=0.0) > TOLERANCE_S:
        yield f"timestamp is off frame_index / fps by {off.max():.4f} s, at most {TOLERANCE_S} s is read"
    for name in (STATE, ACTION):
        if name not in rows:
            yield f"{name} is missing"
        elif not np.isfinite(rows[name]).all():
            yield f"{name} has values that are not finite"
    if unknown := sorted(set(rows["task_index"].tolist()) - set(dataset.tasks)):
        yield f"task_index {unknown} is not in meta/tasks.parquet"
    if STAMP in rows and (np.diff(rows[STAMP]) <= 0).any():
        yield "stamp_ns does not increase"


def _pictures(dataset: LeRobotDataset, number: int, length: int) -> Iterator[str]:
    for camera in dataset.shape.cameras:
        wanted, count = (camera.height, camera.width, 3), 0
        for count, pixels in enumerate(dataset.pictures(number, camera.name), start=1):  # noqa: B007, read below
            if pixels.shape != wanted:
                yield f"camera {camera.name} has frames of {pixels.shape}, must be {wanted}"
                break
        else:
            if count != length:
                yield f"camera {camera.name} has {count} frames, must be {length}"

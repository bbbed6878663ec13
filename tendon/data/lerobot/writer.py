"""Appends episodes to a LeRobotDataset v3.0 that is whole on the disk after each, and after a kill at any moment.

An episode has files of its own. Each is written under another name and renamed when it is on the disk; `info.json`,
which says how many episodes there are, is the last. What a kill has left over is removed by who appends next.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import shutil
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image as Picture

from tendon.core.errors import ConfigError, InvalidDataError, MismatchError
from tendon.core.files import lock_folder, naming, rename_durably, replace_file
from tendon.core.types import Image, Observation
from tendon.data.lerobot import statistics
from tendon.data.lerobot.layout import (
    ACTION,
    CHUNK,
    DATA,
    EPISODES,
    INFO,
    PROPOSED,
    STAMP,
    STATE,
    STATS,
    TASKS,
    VELOCITY,
    VERSION,
    VIDEO,
    Shape,
    place,
    read_json,
    require_outside,
    shape_of,
)
from tendon.data.lerobot.video import CODECS, Pixels, VideoWriter

WORK = ".unfinished"
"""Folder of an episode that is being written, below the dataset's."""
GROUP = 64
"""Frames of a row group where pictures are in the parquet file."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Frame:
    """One frame of an episode.

    Attributes:
        stamp_ns: its true stamp.
        state, velocity, action: (n,) in the order of the joints, rad or m (rad/s, m/s).
        proposed: (n,) what was proposed; `None` where the dataset has none.
        images: camera to (height, width, 3) RGB.
        task: in words.
    """

    stamp_ns: int
    state: npt.NDArray[Any]
    velocity: npt.NDArray[Any]
    action: npt.NDArray[Any]
    images: Mapping[str, Pixels]
    task: str
    proposed: npt.NDArray[Any] | None = None

    def observation(self) -> Observation:
        """Returns what a policy sees of it."""
        return Observation(
            stamp_ns=self.stamp_ns,
            joint_position=self.state,
            joint_velocity=self.velocity,
            images={name: Image(stamp_ns=self.stamp_ns, pixels=pixels) for name, pixels in self.images.items()},
            instruction=self.task,
        )


@dataclass(eq=False)
class _Rows:
    numbers: dict[str, list[npt.NDArray[Any]]] = field(default_factory=dict)
    tasks: list[str] = field(default_factory=list)


class DatasetWriter:
    """Appends to a dataset, or makes it. It is the only one that does until it is closed.

    Args:
        root: folder of it.
        shape: of a new one, and what an old one must have.
        features: of a new one, as `info.json` has them; by default those of our own recordings.

    Raises:
        MismatchError: the dataset there has another robot, other joints, cameras, rate or codec.
        ConfigError: there is something else at `root`.
        BlockingIOError: it is being written already.
    """

    def __init__(self, root: Path, shape: Shape, features: Mapping[str, Any] | None = None) -> None:
        self.root, self.shape = root, shape
        self._features = dict(shape.features() if features is None else features)
        require_codec(shape.codec)
        self._stats: list[dict[str, statistics.Stats]] = []
        self.sources: list[str] = []
        self._unlock = weakref.finalize(self, os.close, lock_folder(root))
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> DatasetWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets others write the dataset."""
        self._unlock()

    def _open(self) -> None:
        root, shape = self.root, self.shape
        if (root / INFO).is_file():
            self.info: dict[str, Any] = read_json(root / INFO)
            found = shape_of(self.info, root)
            if found != shape:
                differing = [n for n in vars(shape) if getattr(found, n) != getattr(shape, n)]
                said = "; ".join(f"{n} is {getattr(found, n)}, not {getattr(shape, n)}" for n in differing)
                raise MismatchError(f"dataset {root} is of another kind: {said}: take another folder")
            self._load()
        else:
            require_outside(root)
            if root.exists() and any(root.iterdir()) and not (root / WORK).is_dir():
                raise ConfigError(f"{root} holds something, and no dataset: take another folder")
            self.info = _new_info(shape, self._features)
            self._tasks: list[str] = []
        self.remove_left_over()

    @property
    def episodes(self) -> int:
        """How many it has."""
        return int(self.info["total_episodes"])

    def _load(self) -> None:
        self._tasks = [""] * int(self.info["total_tasks"])
        for row in pq.read_table(self.root / TASKS).to_pylist():
            if row["task_index"] < len(self._tasks):
                self._tasks[row["task_index"]] = row["task"] if "task" in row else row["__index_level_0__"]
        for number in range(self.episodes):
            (row,) = pq.read_table(self.root / EPISODES.format(**place(number))).to_pylist()
            self.sources.append(row.get("source") or "")
            self._stats.append(nested_stats(row))

    def remove_left_over(self) -> None:
        """Removes what is there of an episode that did not become part of the dataset, and folders without a file."""
        shutil.rmtree(self.root / WORK, ignore_errors=True)
        begun = (self.root / INFO).is_file()
        number = int(read_json(self.root / INFO)["total_episodes"]) if begun else 0  # Ctrl-C may come right behind it
        files = [self.root / form.format(**place(number)) for form in (DATA, EPISODES)]
        files += [self.root / VIDEO.format(video_key=camera.key, **place(number)) for camera in self.shape.cameras]
        files += [] if begun else [self.root / TASKS, self.root / STATS]
        for file in files:
            file.unlink(missing_ok=True)
            for folder in itertools.takewhile(lambda each: each != self.root, file.parents):
                with contextlib.suppress(OSError):  # it holds something, or is not there
                    folder.rmdir()

    def begin(self) -> EpisodeAppender:
        """Begins an episode; one at a time."""
        return EpisodeAppender(self)

    def task_index(self, task: str) -> int:
        """Returns the number of a task, a new one where it is new."""
        if task not in self._tasks:
            self._tasks.append(task)
        return self._tasks.index(task)

    def commit(self, work: Path, row: dict[str, Any], stats: dict[str, statistics.Stats]) -> None:
        """Makes a written episode part of the dataset. Called by its appender."""
        number = self.episodes
        for camera in self.shape.cameras if self.shape.codec != "png" else ():
            target = self.root / VIDEO.format(video_key=camera.key, **place(number))
            target.parent.mkdir(parents=True, exist_ok=True)
            rename_durably(work / f"{camera.key}.mp4", target)
        data = self.root / DATA.format(**place(number))
        data.parent.mkdir(parents=True, exist_ok=True)
        rename_durably(work / "data.parquet", data)
        self._write_tasks()
        everything = [*self._stats, stats]
        merged = {name: statistics.merge([each[name] for each in everything]) for name in stats}
        text = json.dumps({name: _lists(value) for name, value in merged.items()}, indent=4)
        replace_file(self.root / STATS, text.encode())
        flat = {f"stats/{name}/{key}": value.tolist() for name, each in stats.items() for key, value in each.items()}
        buffer = io.BytesIO()
        pq.write_table(pa.Table.from_pylist([{**row, **flat}]), buffer, compression="snappy")
        replace_file(self.root / EPISODES.format(**place(number)), buffer.getvalue())
        info = self.info | {
            "total_episodes": number + 1,
            "total_frames": int(self.info["total_frames"]) + int(row["length"]),
            "total_tasks": len(self._tasks),
            "splits": {"train": f"0:{number + 1}"},
        }
        replace_file(self.root / INFO, json.dumps(info, indent=4).encode())
        self.info, self._stats, self.sources = info, everything, [*self.sources, str(row["source"])]
        shutil.rmtree(work, ignore_errors=True)

    def _write_tasks(self) -> None:
        table = pa.table({"task_index": pa.array(range(len(self._tasks)), pa.int64()), "task": self._tasks})
        column = {"name": None, "field_name": None, "pandas_type": "unicode", "numpy_type": "object", "metadata": None}
        pandas = {
            "index_columns": ["task"],
            "column_indexes": [column],
            "columns": [
                {
                    **column,
                    "name": "task_index",
                    "field_name": "task_index",
                    "pandas_type": "int64",
                    "numpy_type": "int64",
                },
                {**column, "name": "task", "field_name": "task"},
            ],
            "pandas_version": "2.0.0",
        }
        buffer = io.BytesIO()
        pq.write_table(table.replace_schema_metadata({"pandas": json.dumps(pandas)}), buffer, compression="snappy")
        replace_file(self.root / TASKS, buffer.getvalue())


class EpisodeAppender:
    """Takes the frames of an episode; pictures go to the disk at once. `finish` makes it part of the dataset.

    Args:
        dataset: that it is appended to.
    """

    def __init__(self, dataset: DatasetWriter) -> None:
        self._dataset, self._shape = dataset, dataset.shape
        self._work = dataset.root / WORK
        self._work.mkdir(parents=True, exist_ok=True)
        self._rows = _Rows()
        self._videos: dict[str, VideoWriter] = {}
        self._samples: dict[str, list[Pixels]] = {camera.key: [] for camera in self._shape.cameras}
        self._stride = 1
        self._pictures: dict[str, list[bytes]] = {camera.key: [] for camera in self._shape.cameras}

    def add(self, frame: Frame) -> None:
        """Takes the next frame.

        Raises:
            InvalidDataError: it does not fit the dataset, or its stamp is not later than that of the one before.
        """
        stamps, count = self._rows.numbers.setdefault(STAMP, []), len(self._rows.tasks)
        require_fit(frame, self._shape, int(stamps[-1]) if stamps else None)
        for name, value in _numbers(frame, self._shape).items():
            self._rows.numbers.setdefault(name, []).append(np.asarray(value, dtype=np.float32))
        for camera in self._shape.cameras:
            pixels = frame.images[camera.name]
            self._write(camera.key, pixels, camera.width, camera.height)
            if count % self._stride == 0:
                self._samples[camera.key].append(statistics.thin(pixels))
        stamps.append(np.asarray(frame.stamp_ns, dtype=np.int64))
        self._rows.tasks.append(frame.task)
        if count + 1 >= 2 * statistics.SAMPLED * self._stride:  # as many samples, twice as far apart
            self._stride *= 2
            self._samples = {key: pictures[::2] for key, pictures in self._samples.items()}

    def _write(self, key: str, pixels: Pixels, width: int, height: int) -> None:
        if self._shape.codec == "png":
            buffer = io.BytesIO()
            Picture.fromarray(pixels).save(buffer, format="PNG", compress_level=1)
            self._pictures[key].append(buffer.getvalue())
            return
        if key not in self._videos:
            path = self._work / f"{key}.mp4"
            self._videos[key] = VideoWriter(path, self._shape.fps, width, height, self._shape.codec)
        self._videos[key].write(pixels)

    def finish(self, source: str = "", outcome: str = "") -> int:
        """Makes the episode part of the dataset; returns its number.

        Args:
            source: what it was made of, such as the name of a recording.
            outcome: what became of it.

        Raises:
            InvalidDataError: it has no frame.
        """
        dataset, length = self._dataset, len(self._rows.tasks)
        if not length:
            raise InvalidDataError(f"{source or 'the episode'} has no frame")
        for video in self._videos.values():
            video.close()
        first = int(dataset.info["total_frames"])
        number = dataset.episodes
        columns = {name: np.stack(values) for name, values in self._rows.numbers.items()}
        columns |= {
            "timestamp": (np.arange(length) / self._shape.fps).astype(np.float32),
            "frame_index": np.arange(length),
            "episode_index": np.full(length, number),
            "index": np.arange(first, first + length),
            "task_index": np.array([dataset.task_index(task) for task in self._rows.tasks]),
        }
        self._write_data(columns)
        row: dict[str, Any] = {
            "episode_index": number,
            "tasks": list(dict.fromkeys(self._rows.tasks)),
            "length": length,
            **{f"data/{name}": value for name, value in place(number).items()},
            "dataset_from_index": first,
            "dataset_to_index": first + length,
            **{f"meta/episodes/{name}": value for name, value in place(number).items()},
            "source": source,
            "outcome": outcome,
        }
        for camera in self._shape.cameras if self._shape.codec != "png" else ():
            row |= {f"videos/{camera.key}/{name}": value for name, value in place(number).items()}
            row |= {f"videos/{camera.key}/from_timestamp": 0.0}
            row |= {f"videos/{camera.key}/to_timestamp": length / self._shape.fps}
        stats = {name: statistics.of_rows(values) for name, values in columns.items()}
        stats |= {key: statistics.of_pictures(pictures) for key, pictures in self._samples.items()}
        dataset.commit(self._work, row, stats)
        return number

    def _write_data(self, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        arrays: dict[str, Any] = {}
        for name, values in columns.items():
            if values.ndim == 2:
                flat = pa.array(np.ascontiguousarray(values).ravel())
                arrays[name] = pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
            else:
                arrays[name] = pa.array(values)
        kind = pa.struct({"bytes": pa.binary(), "path": pa.string()})
        for key, pictures in self._pictures.items() if self._shape.codec == "png" else ():
            arrays[key] = pa.array([{"bytes": data, "path": None} for data in pictures], kind)
        group = GROUP if self._shape.codec == "png" else None
        path = self._work / "data.parquet"
        with naming(path):
            pq.write_table(pa.table(arrays), path, compression="snappy", row_group_size=group)

    def abandon(self) -> None:
        """Drops the episode; the dataset stays as it was."""
        for video in self._videos.values():
            with contextlib.suppress(OSError):
                video.close()
        self._dataset.remove_left_over()


def require_codec(codec: str) -> None:
    """Checks that pictures can be written so.

    Raises:
        ConfigError: they cannot.
    """
    if codec not in (*CODECS, "png"):
        raise ConfigError(f"codec is {codec}, must be one of {', '.join((*CODECS, 'png'))}")


def require_fit(frame: Frame, shape: Shape, before_ns: int | None) -> None:
    """Checks that a frame fits a dataset.

    Args:
        frame: of an episode.
        shape: of the dataset.
        before_ns: stamp of the frame before it; `None` for the first.

    Raises:
        InvalidDataError: it has other joints or cameras, or its stamp is not later than that of the one before.
    """
    wanted = (len(shape.joints),)
    for name, value in _numbers(frame, shape).items():
        if np.shape(value) != wanted:
            raise InvalidDataError(f"{name} has shape {np.shape(value)}, must be {wanted}")
    if before_ns is not None and frame.stamp_ns <= before_ns:
        raise InvalidDataError(f"frame at {frame.stamp_ns} ns comes after one at {before_ns} ns")
    for camera in shape.cameras:
        pixels = frame.images.get(camera.name)
        if pixels is None or pixels.shape != (camera.height, camera.width, 3):
            found = "no frame" if pixels is None else f"a frame of shape {pixels.shape}"
            raise InvalidDataError(f"camera {camera.name} has {found}, must be {camera.width}x{camera.height}")


def _numbers(frame: Frame, shape: Shape) -> dict[str, npt.NDArray[Any]]:
    found = {STATE: frame.state, VELOCITY: frame.velocity, ACTION: frame.action}
    if shape.proposed:
        found[PROPOSED] = frame.action if frame.proposed is None else frame.proposed
    return found


def _new_info(shape: Shape, features: dict[str, Any]) -> dict[str, Any]:
    return {
        "codebase_version": VERSION,
        "robot_type": shape.robot,
        "total_episodes": 0,
        "total_frames": 0,
        "total_tasks": 0,
        "chunks_size": CHUNK,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "fps": shape.fps,
        "splits": {"train": "0:0"},
        "data_path": DATA,
        "video_path": None if shape.codec == "png" else VIDEO,
        "features": features,
    }


def nested_stats(row: Mapping[str, Any]) -> dict[str, statistics.Stats]:
    """Returns the statistics of each feature that a row of `meta/episodes` has."""
    found: dict[str, statistics.Stats] = {}
    for name, value in row.items():
        if name.startswith("stats/") and value is not None:
            feature, _, key = name.removeprefix("stats/").rpartition("/")
            found.setdefault(feature, {})[key] = np.array(value, dtype=np.float64)
    return found


def _lists(stats: statistics.Stats) -> dict[str, Any]:
    return {name: value.astype(int).tolist() if name == "count" else value.tolist() for name, value in stats.items()}

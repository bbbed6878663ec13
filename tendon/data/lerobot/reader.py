"""Reads a LeRobotDataset v3.0, ours or another's: any packing of episodes into files."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image as Picture

from tendon.core.errors import InvalidDataError
from tendon.core.stamps import SECOND_NS
from tendon.data.lerobot.layout import (
    ACTION,
    EPISODES,
    INFO,
    PROPOSED,
    STAMP,
    STATE,
    TASKS,
    VELOCITY,
    read_json,
    shape_of,
)
from tendon.data.lerobot.video import Pixels, read_video
from tendon.data.lerobot.writer import Frame

BROKEN = (pa.ArrowException, OSError, KeyError)


class LeRobotDataset:
    """One dataset.

    Args:
        root: its folder.

    Raises:
        InvalidDataError: it is none, of another version, or not whole.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.info: dict[str, Any] = read_json(root / INFO)
        self.shape = shape_of(self.info, root)
        try:
            tasks = pq.read_table(root / TASKS).to_pylist()
            files = sorted((root / Path(EPISODES).parts[0] / "episodes").glob("chunk-*/file-*.parquet"))
            rows = [row for file in files for row in pq.read_table(file).to_pylist()]
        except BROKEN as error:
            raise InvalidDataError(f"dataset {root} cannot be read: {error}") from error
        self.tasks: dict[int, str] = {row["task_index"]: _task(row) for row in tasks}
        total = int(self.info["total_episodes"])
        self.episodes = sorted(rows, key=lambda row: row["episode_index"])[:total]
        if [row["episode_index"] for row in self.episodes] != list(range(total)):
            raise InvalidDataError(
                f"dataset {root}: meta/episodes has {len(rows)} episodes, info.json {total}, and their numbers must be "
                "0, 1, 2, ... without a gap"
            )

    def __len__(self) -> int:
        return len(self.episodes)

    @property
    def untold(self) -> list[int]:
        """Numbers of the episodes without an instruction."""
        rows = enumerate(self.episodes)
        return [number for number, row in rows if "tasks" in row and not any(each.strip() for each in row["tasks"])]

    def rows(self, episode: int) -> dict[str, npt.NDArray[Any]]:
        """Returns the numbers of an episode by feature, (frames,) or (frames, n).

        Raises:
            InvalidDataError: its file is missing or has other frames.
        """
        row = self.episodes[episode]
        table = self.table(row, exclude=[camera.key for camera in self.shape.cameras])
        found = {}
        for name in table.column_names:
            column = table.column(name).combine_chunks()
            if pa.types.is_list(column.type) or pa.types.is_fixed_size_list(column.type):
                found[name] = np.array(column.to_pylist())
            else:
                found[name] = column.to_numpy(zero_copy_only=False)
        return found

    def table(self, row: Mapping[str, Any], exclude: list[str]) -> pa.Table:
        """Returns the frames of an episode, whose row is given, but for some columns.

        Raises:
            InvalidDataError: its file is missing or has other frames.
        """
        path = self.root / self.info["data_path"].format(
            chunk_index=row["data/chunk_index"], file_index=row["data/file_index"]
        )
        try:
            schema = pq.read_schema(path)
            names = [name for name in schema.names if name not in exclude]
            filters = [("episode_index", "=", row["episode_index"])]
            table = pq.read_table(path, columns=names, filters=filters)
        except BROKEN as error:
            raise InvalidDataError(f"{path} cannot be read: {error}") from error
        if len(table) != row["length"]:
            raise InvalidDataError(
                f"{path} has {len(table)} frames of episode {row['episode_index']}, meta/episodes says {row['length']}"
            )
        return table

    def pictures(self, episode: int, camera: str) -> Iterator[Pixels]:
        """Yields the frames of a camera in an episode.

        Raises:
            InvalidDataError: they cannot be decoded.
        """
        row, (found,) = self.episodes[episode], [each for each in self.shape.cameras if each.name == camera]
        if self.shape.codec == "png":
            yield from self._stored(row, found.key)
            return
        key = found.key
        path = self.root / self.info["video_path"].format(
            video_key=key,
            chunk_index=row[f"videos/{key}/chunk_index"],
            file_index=row[f"videos/{key}/file_index"],
        )
        yield from read_video(path, row[f"videos/{key}/from_timestamp"], row[f"videos/{key}/to_timestamp"])

    def _stored(self, row: Mapping[str, Any], key: str) -> Iterator[Pixels]:
        path = self.root / self.info["data_path"].format(
            chunk_index=row["data/chunk_index"], file_index=row["data/file_index"]
        )
        for batch in pq.ParquetFile(path).iter_batches(batch_size=32, columns=[key, "episode_index"]):
            for picture, number in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
                if number == row["episode_index"]:
                    yield np.array(Picture.open(io.BytesIO(picture["bytes"])).convert("RGB"))

    def frames(self, episode: int) -> Iterator[Frame]:
        """Yields the frames of an episode.

        Raises:
            InvalidDataError: something of it is missing or cannot be read.
        """
        rows = self.rows(episode)
        if ACTION not in rows or STATE not in rows:
            raise InvalidDataError(f"dataset {self.root} has no {ACTION} or no {STATE}")
        streams = {camera.name: self.pictures(episode, camera.name) for camera in self.shape.cameras}
        stamps = stamps_of(rows)
        for k in range(len(rows[ACTION])):
            images = {}
            for name, stream in streams.items():
                pixels = next(stream, None)
                if pixels is None:
                    raise InvalidDataError(f"camera {name} of episode {episode} has {k} frames, must be more")
                images[name] = pixels
            state = rows[STATE][k]
            yield Frame(
                stamp_ns=int(stamps[k]),
                state=state,
                velocity=rows[VELOCITY][k] if VELOCITY in rows else np.zeros_like(state),
                action=rows[ACTION][k],
                proposed=rows[PROPOSED][k] if PROPOSED in rows else None,
                images=images,
                task=self.tasks.get(int(rows["task_index"][k]), ""),
            )


def stamps_of(rows: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.int64]:
    """Returns (frames,) the true stamps of an episode's numbers; the nominal ones where a dataset has no others."""
    if STAMP in rows:
        return rows[STAMP].astype(np.int64)
    return np.round(rows["timestamp"].astype(np.float64) * SECOND_NS).astype(np.int64)


def _task(row: Mapping[str, Any]) -> str:
    return str(row.get("task", row.get("__index_level_0__", "")))

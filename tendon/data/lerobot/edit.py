"""Episodes of datasets copied to a new dataset: merged, split, some left out. Videos are copied, not encoded again."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import cast

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tendon.core.errors import ConfigError, InvalidDataError, MismatchError
from tendon.core.files import naming
from tendon.data.lerobot import statistics
from tendon.data.lerobot.layout import INFO, place
from tendon.data.lerobot.reader import LeRobotDataset
from tendon.data.lerobot.video import writing
from tendon.data.lerobot.writer import WORK, DatasetWriter, nested_stats

COUNTED = ("index", "episode_index", "task_index")


def copy_episodes(picked: Iterable[tuple[LeRobotDataset, int]], out: Path) -> int:
    """Copies episodes to a new dataset, in their order; returns how many. It is there when it is whole, or not at all.

    Raises:
        MismatchError: they are of different robots, joints, cameras or rates.
        ConfigError: there is something at `out`, or nothing is left to copy.
        InvalidDataError: an episode cannot be read.
    """
    require_new(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    writer: DatasetWriter | None = None
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as made:
        part = Path(made) / out.name
        with contextlib.ExitStack() as open_:
            for dataset, number in picked:
                writer = writer or open_.enter_context(DatasetWriter(part, dataset.shape))
                append_episode(dataset, number, writer)
        if writer is None:
            raise ConfigError("no episode is left: there would be no dataset")
        if out.exists():
            out.rmdir()
        part.rename(out)
    return writer.episodes


def require_new(*places: Path) -> None:
    """Checks that a new dataset can be made at each of several places, before the work.

    Raises:
        ConfigError: there is one already, or two places are the same.
    """
    for each in places:
        if (each / INFO).exists():
            raise ConfigError(f"{each} holds a dataset: take another folder")
        if each.exists() and not (each.is_dir() and not any(each.iterdir())):
            raise ConfigError(f"{each} is no empty folder: take another one")
    if len({each.resolve() for each in places}) < len(places):
        raise ConfigError(f"{places[0]} is named for {len(places)} datasets: take a folder for each")


def require_once(places: Sequence[Path]) -> None:
    """Checks that no dataset is named twice: its episodes would count twice.

    Raises:
        ConfigError: one is.
    """
    seen: set[Path] = set()
    for each in places:
        if each.resolve() in seen:
            raise ConfigError(f"{each} is named twice: its episodes would count twice")
        seen.add(each.resolve())


def append_episode(dataset: LeRobotDataset, number: int, writer: DatasetWriter) -> int:
    """Copies an episode to the end of a dataset; returns its number there.

    Raises:
        MismatchError: they are of different robots, joints, cameras or rates.
        InvalidDataError: the episode cannot be read.
    """
    if dataset.shape != writer.shape:
        differing = [n for n in vars(writer.shape) if getattr(dataset.shape, n) != getattr(writer.shape, n)]
        said = "; ".join(f"{n} {getattr(dataset.shape, n)} and {getattr(writer.shape, n)}" for n in differing)
        raise MismatchError(f"{dataset.root} and the datasets before it differ: {said}")
    row, work = dict(dataset.episodes[number]), writer.root / WORK
    work.mkdir(parents=True, exist_ok=True)
    table = dataset.table(row, exclude=[])
    length, new = int(row["length"]), writer.episodes
    first = int(writer.info["total_frames"])
    tasks = [dataset.tasks[int(k)] for k in table.column("task_index").to_pylist()]
    columns = {
        "index": np.arange(first, first + length),
        "episode_index": np.full(length, new),
        "task_index": np.array([writer.task_index(task) for task in tasks]),
    }
    for name, values in columns.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    with naming(work / "data.parquet"):
        pq.write_table(table.replace_schema_metadata(None), work / "data.parquet", compression="snappy")
    stats = {name: each for name, each in nested_stats(row).items() if name not in COUNTED}
    stats |= {name: statistics.of_rows(values) for name, values in columns.items()}
    row = {name: value for name, value in row.items() if not name.startswith("stats/")}
    row |= {"episode_index": new, "dataset_from_index": first, "dataset_to_index": first + length}
    row |= {f"{group}/{name}": value for group in ("data", "meta/episodes") for name, value in place(new).items()}
    row |= {"source": row.get("source") or f"{dataset.root.name}/{number}", "outcome": row.get("outcome") or ""}
    for camera in dataset.shape.cameras if dataset.shape.codec != "png" else ():
        key, old = camera.key, dataset.episodes[number]
        source = dataset.root / dataset.info["video_path"].format(
            video_key=key, chunk_index=old[f"videos/{key}/chunk_index"], file_index=old[f"videos/{key}/file_index"]
        )
        span = old[f"videos/{key}/from_timestamp"], old[f"videos/{key}/to_timestamp"]
        copied = copy_video(source, *span, work / f"{key}.mp4", dataset.shape.fps)
        if copied < length:
            raise InvalidDataError(f"{source} has {copied} frames of episode {number}, must be {length}")
        row |= {f"videos/{key}/{name}": value for name, value in place(new).items()}
        row |= {f"videos/{key}/from_timestamp": 0.0, f"videos/{key}/to_timestamp": length / dataset.shape.fps}
    writer.commit(work, row, stats)
    return new


def copy_video(source: Path, begin_s: float, end_s: float, target: Path, fps: int) -> int:
    """Copies the packets of a part of a video, which begins with a key frame; returns how many.

    Raises:
        InvalidDataError: it cannot be read.
        OSError: the copy cannot be written.
    """
    count, copy = 0, None
    with writing(target), av.open(str(target), "w", format="mp4") as made:
        for packet in _packets(source, begin_s, end_s, fps):
            copy = copy or made.add_stream_from_template(cast(av.VideoStream, packet.stream))
            packet.stream = copy
            made.mux(packet)
            count += 1
    return count


def _packets(source: Path, begin_s: float, end_s: float, fps: int) -> Iterator[av.Packet]:
    """Yields the packets of a part of a video, with times from its begin on.

    Raises:
        InvalidDataError: it cannot be read.
    """
    half_s = 0.5 / fps
    try:
        with av.open(str(source)) as given:
            stream = given.streams.video[0]
            base = stream.time_base or Fraction(1, fps)
            if begin_s > 0.0:
                given.seek(int(begin_s / float(base)), stream=stream, backward=True)
            begin = round(begin_s / float(base))
            for packet in given.demux(stream):
                if packet.pts is None or packet.dts is None or float(packet.pts * base) < begin_s - half_s:
                    continue
                if float(packet.pts * base) >= end_s - half_s:
                    if packet.is_keyframe:
                        return
                    continue
                packet.pts, packet.dts = packet.pts - begin, packet.dts - begin
                yield packet
    except (av.FFmpegError, IndexError) as error:
        raise InvalidDataError(f"{source} is no video that can be copied: {error}") from error


def parse_episodes(text: str, count: int) -> list[int]:
    """Returns the numbers that a text such as "0,3,7:10" names.

    Raises:
        ConfigError: it names none, or one that there is not.
    """
    found: list[int] = []
    try:
        for part in text.split(","):
            first, sign, last = part.partition(":")
            found += range(int(first), int(last)) if sign else [int(first)]
    except ValueError as error:
        raise ConfigError(f"--episodes is {text!r}, must be numbers such as 0,3,7:10") from error
    if wrong := [number for number in found if not 0 <= number < count]:
        raise ConfigError(f"there is no episode {wrong[0]}: the dataset has 0 to {count - 1}")
    return list(dict.fromkeys(found))

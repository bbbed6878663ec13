"""Episodes of datasets copied to a new dataset: merged, split, some left out. Videos are copied, not encoded again."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tendon.core.errors import ConfigError, InvalidDataError, MismatchError
from tendon.core.files import naming
from tendon.core.staging import beside
from tendon.data.lerobot import statistics
from tendon.data.lerobot.layout import INFO, Camera, Shape, place, require_outside
from tendon.data.lerobot.reader import LeRobotDataset
from tendon.data.lerobot.video import VideoWriter, writing
from tendon.data.lerobot.writer import WORK, DatasetWriter, nested_stats

COUNTED = ("index", "episode_index", "task_index")


def copy_episodes(picked: Iterable[tuple[LeRobotDataset, int]], out: Path) -> int:
    """Copies episodes to a new dataset, in their order; returns how many. It is there when it is whole, or not at all.

    Raises:
        MismatchError: they are of different robots, joints, cameras or rates.
        ConfigError: there is something at `out`, or nothing is left to copy.
        BlockingIOError: another run makes it.
        InvalidDataError: an episode cannot be read.
    """
    require_new(out)
    writer: DatasetWriter | None = None
    with beside(out) as made:
        part = made / out.name
        with contextlib.ExitStack() as open_:
            for dataset, number in picked:
                writer = writer or open_.enter_context(DatasetWriter(part, dataset.shape, dataset.info["features"]))
                append_episode(dataset, number, writer)
        if writer is None:
            raise ConfigError("no episode is left: there would be no dataset")
        part.replace(out.resolve())
    return writer.episodes


def require_new(*places: Path) -> None:
    """Checks that a new dataset can be made at each of several places, before the work.

    Raises:
        ConfigError: there is one already, one would lie within another, or two places are the same.
    """
    for each in places:
        if (each / INFO).exists():
            raise ConfigError(f"{each} holds a dataset: take another folder")
        require_outside(each)
        if each.exists() and not (each.is_dir() and not any(each.iterdir())):
            raise ConfigError(f"{each} is no empty folder: take another one")
    found = [each.resolve() for each in places]
    if len(set(found)) < len(found):
        raise ConfigError(f"{places[0]} is named for {len(places)} datasets: take a folder for each")
    for one, other in itertools.permutations(found, 2):
        if one in other.parents:
            raise ConfigError(f"{other} lies within {one}, and each is to be a dataset: take a folder beside it")


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
        MismatchError: they are of different robots, joints, cameras, rates or features.
        InvalidDataError: the episode cannot be read.
    """
    require_alike(dataset, writer.shape, writer.info["features"])
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
        if copied is None:
            copied = _encode_again(dataset, number, camera, work / f"{key}.mp4")
        if copied < length:
            raise InvalidDataError(f"{source} has {copied} frames of episode {number}, must be {length}")
        row |= {f"videos/{key}/{name}": value for name, value in place(new).items()}
        row |= {f"videos/{key}/from_timestamp": 0.0, f"videos/{key}/to_timestamp": length / dataset.shape.fps}
    writer.commit(work, row, stats)
    return new


def require_alike(dataset: LeRobotDataset, shape: Shape, features: Mapping[str, Any]) -> None:
    """Checks that a dataset's episodes can follow those of another one.

    Args:
        dataset: whose.
        shape: of the other one.
        features: of the other one, as its `info.json` says.

    Raises:
        MismatchError: they are of different robots, joints, cameras, rates or features.
    """
    differing = [n for n in vars(shape) if getattr(dataset.shape, n) != getattr(shape, n)]
    said = [f"{n} {getattr(dataset.shape, n)} and {getattr(shape, n)}" for n in differing]
    if lone := sorted(set(dataset.info["features"]) ^ set(features)):
        said.append(f"only one has {', '.join(lone)}")
    if said:
        raise MismatchError(f"{dataset.root} and the datasets before it differ: {'; '.join(said)}")


def copy_video(source: Path, begin_s: float, end_s: float, target: Path, fps: int) -> int | None:
    """Copies the packets of a part of a video; returns how many, `None` where it does not begin with a key frame.

    Raises:
        InvalidDataError: it cannot be read.
        OSError: the copy cannot be written.
    """
    count, copy = 0, None
    packets = _packets(source, begin_s, end_s, fps)
    first = next(packets, None)
    if first is None or not first.is_keyframe:
        return 0 if first is None else None
    with writing(target), av.open(str(target), "w", format="mp4") as made:
        for packet in itertools.chain((first,), packets):
            copy = copy or made.add_stream_from_template(cast(av.VideoStream, packet.stream))
            packet.stream = copy
            made.mux(packet)
            count += 1
    return count


def _encode_again(dataset: LeRobotDataset, number: int, camera: Camera, target: Path) -> int:
    """Encodes the frames of a camera in an episode; returns how many: without its key frame a copy shows nothing."""
    video, count = VideoWriter(target, dataset.shape.fps, camera.width, camera.height, dataset.shape.codec), 0
    for pixels in dataset.pictures(number, camera.name):
        video.write(pixels)
        count += 1
    video.close()
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
    for part in text.split(","):
        first, sign, last = part.partition(":")
        try:
            named = range(int(first), int(last) if sign else int(first) + 1)
        except ValueError as error:
            raise ConfigError(f"--episodes is {text!r}, must be numbers such as 0,3,7:10") from error
        if not named:
            raise ConfigError(f"--episodes {part} names none: what is behind the colon must be above what is before it")
        if named[0] < 0 or named[-1] >= count:
            wrong = count if 0 <= named[0] < count else named[0]
            raise ConfigError(f"there is no episode {wrong}: the dataset has 0 to {count - 1}")
        found += named
    return list(dict.fromkeys(found))

"""A dataset as LeRobotDataset v2.1 with `meta/modality.json`, which the trainer of GR00T reads."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tendon.core.errors import ConfigError
from tendon.core.files import replace_file
from tendon.data.lerobot.layout import ACTION, CHUNK, INFO, STATE, STATS, read_json
from tendon.data.lerobot.reader import LeRobotDataset
from tendon.data.lerobot.video import VideoWriter
from tendon.robots.profile import RobotProfile, load_profile

DATA = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
VIDEO = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"
TASK_KEY = "annotation.human.task_description"


def write_v21(dataset: LeRobotDataset, out: Path) -> int:
    """Writes a dataset anew; returns its episodes. `info.json` is the last file: without it there is no dataset.

    Raises:
        ConfigError: there is a dataset at `out` already.
        InvalidDataError: the source cannot be read.
    """
    if (out / INFO).exists():
        raise ConfigError(f"{out} holds a dataset: take another folder")
    codec = "h264" if dataset.shape.codec == "png" else dataset.shape.codec
    episodes, stats = [], []
    for number, row in enumerate(dataset.episodes):
        names = {"episode_chunk": number // CHUNK, "episode_index": number}
        _write_data(dataset, number, out / DATA.format(**names))
        for camera in dataset.shape.cameras:
            path = out / VIDEO.format(video_key=camera.key, **names)
            writer = VideoWriter(path, dataset.shape.fps, camera.width, camera.height, codec)
            for pixels in dataset.pictures(number, camera.name):
                writer.write(pixels)
            writer.close()
        episodes.append({"episode_index": number, "tasks": row["tasks"], "length": row["length"]})
        stats.append({"episode_index": number, "stats": _stats(row)})
    tasks = [{"task_index": index, "task": task} for index, task in sorted(dataset.tasks.items())]
    for name, lines in (("episodes", episodes), ("episodes_stats", stats), ("tasks", tasks)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        replace_file(out / "meta" / f"{name}.jsonl", text.encode())
    replace_file(out / STATS, json.dumps(read_json(dataset.root / STATS)).encode())
    modality = _modality(load_profile(dataset.shape.robot), dataset)
    replace_file(out / "meta/modality.json", json.dumps(modality, indent=4).encode())
    replace_file(out / INFO, json.dumps(_info(dataset, codec), indent=4).encode())
    return len(dataset)


def _write_data(dataset: LeRobotDataset, number: int, path: Path) -> None:
    rows = dataset.rows(number)
    arrays: dict[str, Any] = {}
    for name, values in rows.items():
        flat = pa.array(np.ascontiguousarray(values).ravel())
        arrays[name] = flat if values.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
    arrays[TASK_KEY] = pa.array(rows["task_index"])
    buffer = io.BytesIO()
    pq.write_table(pa.table(arrays), buffer, compression="snappy")
    replace_file(path, buffer.getvalue())


def _stats(row: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, dict[str, Any]] = {}
    for name, value in row.items():
        if name.startswith("stats/"):
            feature, _, key = name.removeprefix("stats/").rpartition("/")
            found.setdefault(feature, {})[key] = value
    return found


def _modality(profile: RobotProfile, dataset: LeRobotDataset) -> dict[str, Any]:
    """Returns which columns are which part of the robot: runs of joints of one group."""
    groups = {joint: name for name, members in profile.groups.items() for joint in members}
    parts: dict[str, dict[str, int]] = {}
    for column, joint in enumerate(dataset.shape.joints):
        name = groups.get(joint, joint)
        last = parts.get(name)
        if last is not None and last["end"] == column:
            last["end"] = column + 1
        else:
            parts[name if last is None else f"{name}_{column}"] = {"start": column, "end": column + 1}
    columns = {name: {**part, "original_key": STATE} for name, part in parts.items()}
    return {
        "state": columns,
        "action": {name: {**part, "original_key": ACTION} for name, part in parts.items()},
        "video": {camera.name: {"original_key": camera.key} for camera in dataset.shape.cameras},
        "annotation": {"human.task_description": {"original_key": "task_index"}},
    }


def _info(dataset: LeRobotDataset, codec: str) -> dict[str, Any]:
    features = json.loads(json.dumps(dataset.info["features"]))
    for camera in dataset.shape.cameras:
        feature = features[camera.key]
        feature["dtype"] = "video"
        feature.setdefault("info", {"video.fps": dataset.shape.fps, "video.codec": codec, "has_audio": False})
    features[TASK_KEY] = {"dtype": "int64", "shape": [1], "names": None}
    total = len(dataset)
    return {
        "codebase_version": "v2.1",
        "robot_type": dataset.shape.robot,
        "total_episodes": total,
        "total_frames": dataset.info["total_frames"],
        "total_tasks": len(dataset.tasks),
        "total_videos": total * len(dataset.shape.cameras),
        "total_chunks": -(-total // CHUNK),
        "chunks_size": CHUNK,
        "fps": dataset.shape.fps,
        "splits": {"train": f"0:{total}"},
        "data_path": DATA,
        "video_path": VIDEO,
        "features": features,
    }

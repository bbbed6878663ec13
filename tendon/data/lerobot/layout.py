"""Where things are in a LeRobotDataset v3.0, and what `meta/info.json` says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tendon.core.errors import ConfigError, InvalidDataError, MismatchError

VERSION = "v3.0"
CHUNK = 1000
"""Files of a folder."""
DATA = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
EPISODES = "meta/episodes/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
INFO, STATS, TASKS = "meta/info.json", "meta/stats.json", "meta/tasks.parquet"
STATE, ACTION, PROPOSED, VELOCITY, STAMP = "observation.state", "action", "proposed", "velocity", "stamp_ns"
IMAGES = "observation.images."
DEFAULT_FEATURES: dict[str, dict[str, Any]] = {
    "timestamp": {"dtype": "float32", "shape": [1], "names": None},
    "frame_index": {"dtype": "int64", "shape": [1], "names": None},
    "episode_index": {"dtype": "int64", "shape": [1], "names": None},
    "index": {"dtype": "int64", "shape": [1], "names": None},
    "task_index": {"dtype": "int64", "shape": [1], "names": None},
}


@dataclass(frozen=True, kw_only=True)
class Camera:
    """One camera of a dataset.

    Attributes:
        name: without the prefix `observation.images.`.
        width, height: of its frames [px].
    """

    name: str
    width: int
    height: int

    @property
    def key(self) -> str:
        """The feature's name."""
        return IMAGES + self.name


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What a dataset is made of; all of its episodes have the same.

    Attributes:
        robot: type of the robot.
        fps: frames a second.
        joints: names of the state's and the action's columns.
        cameras: of it.
        codec: of its videos, `h264` or `av1`; `png` puts pictures into the parquet files, without loss.
        proposed: it has what was proposed beside what was executed.
    """

    robot: str
    fps: int
    joints: tuple[str, ...]
    cameras: tuple[Camera, ...]
    codec: str = "h264"
    proposed: bool = False

    def features(self) -> dict[str, dict[str, Any]]:
        """Returns `features` of `meta/info.json`."""
        row = {"dtype": "float32", "shape": [len(self.joints)], "names": list(self.joints)}
        found: dict[str, dict[str, Any]] = {STATE: dict(row), VELOCITY: dict(row), ACTION: dict(row)}
        if self.proposed:
            found[PROPOSED] = dict(row)
        found[STAMP] = {"dtype": "int64", "shape": [1], "names": None}
        for camera in self.cameras:
            shape = [camera.height, camera.width, 3]
            found[camera.key] = {"dtype": "image", "shape": shape, "names": ["height", "width", "channels"]}
            if self.codec != "png":
                found[camera.key] |= {"dtype": "video", "info": self._video_info(camera)}
        return found | {name: dict(each) for name, each in DEFAULT_FEATURES.items()}

    def _video_info(self, camera: Camera) -> dict[str, Any]:
        return {
            "video.height": camera.height,
            "video.width": camera.width,
            "video.codec": self.codec,
            "video.pix_fmt": "yuv420p",
            "video.is_depth_map": False,
            "video.fps": self.fps,
            "video.channels": 3,
            "has_audio": False,
        }


def shape_of(info: Mapping[str, Any], where: Path) -> Shape:
    """Returns the shape that an `info.json` says.

    Raises:
        InvalidDataError: it lacks something, or is of another version.
    """
    if not isinstance(info, dict):
        raise InvalidDataError(f"{where / INFO} must be a JSON object: it is no LeRobot dataset")
    version = info.get("codebase_version")
    if version != VERSION:
        raise MismatchError(
            f"{where} is a dataset of version {version}, must be {VERSION}: LeRobot converts older ones "
            "(lerobot.datasets.v30.convert_dataset_v21_to_v30)"
        )
    try:
        features, cameras, codec = info["features"], [], "h264"
        for name, feature in features.items():
            if feature["dtype"] in ("video", "image"):
                if not name.startswith(IMAGES):
                    raise ValueError(f"{name}, a camera must be called {IMAGES}NAME")
                height, width, _ = feature["shape"]
                cameras.append(Camera(name=name.removeprefix(IMAGES), width=width, height=height))
                codec = "png" if feature["dtype"] == "image" else feature.get("info", {}).get("video.codec", "h264")
        names = features[STATE]["names"]
        joints = tuple(names if isinstance(names, list) else next(iter(names.values())))
        if (fps := int(info["fps"])) != info["fps"] or fps < 1:
            raise ValueError(f"fps {info['fps']}, must be a whole number above 0")
        for total in ("total_episodes", "total_frames", "total_tasks"):
            int(info[total])
        return Shape(
            robot=info.get("robot_type") or "",
            fps=fps,
            joints=joints,
            cameras=tuple(cameras),
            codec=codec,
            proposed=PROPOSED in features,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidDataError(f"{where / INFO} lacks or misstates {error}: it is no dataset of a robot") from error


def read_json(path: Path) -> Any:
    """Returns what a JSON file holds.

    Raises:
        InvalidDataError: it is missing or no JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InvalidDataError(f"{path} is missing: it is no LeRobot dataset, or none that is whole") from error
    except ValueError as error:
        raise InvalidDataError(f"{path} is no JSON: {error}") from error


def place(number: int) -> dict[str, int]:
    """Returns chunk and file of the number of a file."""
    return {"chunk_index": number // CHUNK, "file_index": number % CHUNK}


def require_outside(root: Path) -> None:
    """Checks that a folder is no dataset, and in none.

    Raises:
        ConfigError: it is.
    """
    place = root.resolve()
    if around := next((each for each in (place, *place.parents) if (each / INFO).is_file()), None):
        raise ConfigError(f"{root} lies within the dataset {around}: take a folder beside it")

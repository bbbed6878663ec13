"""Observations of a LeRobot data set (v3.0), as a graph reads them: parity is measured over real views too."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from tendon.core.distribution import pip_install
from tendon.core.errors import ConfigError, IntegrityError, MismatchError, MissingDependencyError
from tendon.core.json_object import read_json_object
from tendon.policies.export.lerobot.source import STATE, LeRobotSource
from tendon.policies.parity.graph import Case
from tendon.policies.spec.manifest import CameraInput

VERSION = "v3.0"
INFO_FILE = "meta/info.json"
COUNT = 4

Pixels = npt.NDArray[np.uint8]
Frame = Mapping[str, Any]
"""A row of the data set's tables."""


def recorded_cases(
    source: LeRobotSource, views: Mapping[str, CameraInput], folder: Path, history: int = 1, count: int = COUNT
) -> tuple[Case, ...]:
    """Returns observations spread evenly over a data set.

    Args:
        source: the policy, whose statistics normalise the state.
        views: its cameras by LeRobot's key.
        folder: of the data set.
        history: how many observations the policy sees at once, a frame apart. At an episode's start the first stands
            in for those before it, as in LeRobot.
        count: how many.

    Raises:
        ConfigError: no data set of this version is there, or it lacks an input of the policy.
        IntegrityError: a file of it is broken or missing.
        MismatchError: its images or states are of another size than the policy's.
        MissingDependencyError: pyarrow or av is not installed.
    """
    data = _DataSet(folder)
    renamed = {policy: recorded for recorded, policy in _rename_map(source).items()}
    affine = source.normalisation(STATE)
    cases = []
    for at in np.linspace(0, data.length - 1, min(count, data.length)).round().astype(int):
        frames = data.frames(int(at), history)
        states = np.zeros((history, source.state_size))
        if source.sees_state:
            named = renamed.get(STATE, STATE)
            states = np.stack([np.asarray(data.value(frame, named), np.float64) for frame in frames])
        if states.shape != (history, source.state_size):
            raise MismatchError(
                f"{folder}: {STATE} has {states.shape[1:]} numbers, the policy sees {source.state_size}"
            )
        case: dict[str, npt.NDArray[Any]] = {
            f"image_{view.name}": np.stack([data.image(frame, renamed.get(key, key)) for frame in frames])
            for key, view in views.items()
        }
        for view in views.values():
            _, height, width, _ = case[f"image_{view.name}"].shape
            if (height, width) != (view.height, view.width):
                raise MismatchError(
                    f"{folder}: images of camera {view.name} are {width}x{height} px, "
                    f"the policy sees {view.width}x{view.height}"
                )
        case["state"] = ((states - np.array(affine.mean)) / np.array(affine.std)).astype(np.float32)
        cases.append(case)
    return tuple(cases)


def recorded_rate(folder: Path) -> float:
    """Returns the frames a second of a data set; errors as `recorded_cases`."""
    return float(_info(folder)["fps"])


class _DataSet:
    """Tables of a data set, and its pictures one by one."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._info = folder, _info(folder)
        self._parquet = _module("pyarrow.parquet", "make setup-lerobot")
        episodes = [self._table(path).to_pylist() for path in sorted(folder.glob("meta/episodes/*/*.parquet"))]
        self._episodes = {row["episode_index"]: row for rows in episodes for row in rows}
        self._paths = sorted(folder.glob("data/chunk-*/file-*.parquet"))
        self._ends = np.cumsum([self._read(self._parquet.read_metadata, path).num_rows for path in self._paths])
        self._loaded: tuple[int, Any] = (-1, None)
        if self.length == 0:
            raise ConfigError(f"{folder} holds no frames")

    @property
    def length(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def frames(self, at: int, history: int) -> Sequence[Frame]:
        """Returns a frame and those before it in its episode, oldest first."""
        first = at - int(self._row(at)["frame_index"])
        return [self._row(max(at - k, first)) for k in range(history - 1, -1, -1)]

    def _row(self, at: int) -> Frame:
        file = int(np.searchsorted(self._ends, at, side="right"))
        if self._loaded[0] != file:  # one file at a time: pictures may be in it
            self._loaded = (file, self._table(self._paths[file]))
        start = int(self._ends[file - 1]) if file else 0
        row: Frame = self._loaded[1].slice(at - start, 1).to_pylist()[0]
        return row

    def value(self, frame: Frame, key: str) -> Any:
        """Returns a feature of a frame."""
        if key not in frame:
            raise ConfigError(f"{self._folder} has no feature {key}, it has: {', '.join(self._info['features'])}")
        return frame[key]

    def image(self, frame: Frame, key: str) -> Pixels:
        """Returns a picture, (H, W, 3) RGB."""
        kind = self._info["features"].get(key, {}).get("dtype")
        if kind == "video":
            return self._video_frame(frame, key)
        content = self.value(frame, key)
        encoded = content.get("bytes") if isinstance(content, Mapping) else None
        decoded = None if encoded is None else cv2.imdecode(np.frombuffer(encoded, np.uint8), cv2.IMREAD_COLOR)
        if decoded is None:
            raise IntegrityError(f"{self._folder}: a picture of {key} cannot be decoded")
        return np.ascontiguousarray(decoded[..., ::-1].astype(np.uint8))

    def _video_frame(self, frame: Frame, key: str) -> Pixels:
        av = _module("av", f"the simulator's extra brings it: {pip_install('sim')}")
        episode = self._episodes.get(frame["episode_index"])
        if episode is None:
            raise IntegrityError(f"{self._folder}: meta/episodes lacks episode {frame['episode_index']}")
        place = {name: episode[f"videos/{key}/{name}"] for name in ("chunk_index", "file_index", "from_timestamp")}
        path = self._folder / self._info["video_path"].format(video_key=key, **place)
        wanted_s, half_s = place["from_timestamp"] + frame["timestamp"], 0.5 / float(self._info["fps"])
        try:
            with av.open(str(path)) as video:
                stream = video.streams.video[0]
                video.seek(int(wanted_s / stream.time_base), stream=stream)
                for picture in video.decode(stream):
                    if picture.time > wanted_s - half_s:
                        return np.asarray(picture.to_ndarray(format="rgb24"), np.uint8)
        except (av.FFmpegError, OSError) as error:
            raise IntegrityError(f"{path} cannot be decoded: {error}") from error
        raise IntegrityError(f"{path} ends before {wanted_s:.3f} s")

    def _table(self, path: Path) -> Any:
        return self._read(self._parquet.read_table, path)

    def _read(self, reader: Callable[[Path], Any], path: Path) -> Any:
        try:
            return reader(path)
        except (OSError, ValueError) as error:
            raise IntegrityError(f"{path} cannot be read: {error}") from error


def _info(folder: Path) -> dict[str, Any]:
    path = folder / INFO_FILE
    try:
        info = read_json_object(path)
    except OSError as error:
        raise ConfigError(f"no LeRobot data set at {folder}: {INFO_FILE} is missing") from error
    if (found := info.get("codebase_version")) != VERSION:
        raise ConfigError(f"{path}: the data set has version {found!r}, this reads {VERSION}: convert it with LeRobot")
    if not isinstance(info.get("features"), dict) or not isinstance(info.get("fps"), int | float):
        raise ConfigError(f"{path} lacks features or fps")
    return info


def _rename_map(source: LeRobotSource) -> Mapping[str, str]:
    for step in source.preprocessor:
        if step.name == "rename_observations_processor":
            return dict(step.config.get("rename_map", {}))
    return {}


def _module(name: str, fix: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingDependencyError(f"reading a LeRobot data set needs {name} ({error}): {fix}") from error

"""Small datasets for tests: smooth pictures that a codec keeps, and joints that move."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tendon.data.lerobot.layout import Camera, Shape
from tendon.data.lerobot.writer import DatasetWriter, Frame
from tendon.robots.profile import load_profile

PROFILE = load_profile("panda")
CAMERAS = tuple(Camera(name=each.name, width=each.width, height=each.height) for each in PROFILE.cameras)
FPS = round(min(camera.rate_hz for camera in PROFILE.cameras))


def shape(**changed: Any) -> Shape:
    """The shape of the dataset, or of another one."""
    values = {"robot": "panda", "fps": FPS, "joints": PROFILE.joint_names, "cameras": CAMERAS, **changed}
    return Shape(**values)


def picture(camera: Camera, number: int) -> np.ndarray:
    """A gradient that moves."""
    y, x = np.mgrid[: camera.height, : camera.width]
    return np.stack([(x + 3 * number) % 256, (y + 5 * number) % 256, np.full_like(x, 40 * (number % 5))], -1).astype(
        np.uint8
    )


def frames(episode: int, count: int) -> Iterator[Frame]:
    """The frames of an episode."""
    home = PROFILE.vector("home")
    for k in range(count):
        yield Frame(
            stamp_ns=(episode + 1) * 10**12 + k * 10**9 // FPS,
            state=home + 0.01 * k,
            velocity=np.full_like(home, 0.1 * episode),
            action=home + 0.01 * (k + 1),
            images={camera.name: picture(camera, k + episode) for camera in CAMERAS},
            task=f"task {episode % 2}",
        )


def append(root: Path, episode: int, count: int, codec: str = "h264") -> None:
    """Appends an episode."""
    appender = DatasetWriter(root, shape(codec=codec)).begin()
    for frame in frames(episode, count):
        appender.add(frame)
    appender.finish(f"episode-{episode}.mcap", "success")


def make_dataset(root: Path, episodes: int, frames: int, codec: str = "h264") -> Path:
    """Makes a dataset."""
    for episode in range(episodes):
        append(root, episode, frames, codec)
    return root

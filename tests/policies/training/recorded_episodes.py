"""Episodes that were never on a disk: a Panda whose joints go at a steady speed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tendon.data.episodes import spans_of
from tendon.data.lerobot.writer import Frame
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.training.recorded import RecordedSource, Recording
from tendon.robots.profile import load_profile
from tendon.sim.viewpoints import labelled_viewpoints

PROFILE = load_profile("panda")
BUNDLE = load_bundle(Path(__file__).resolve().parents[3] / "bundles" / "tabletop")
FPS = 20
SPEED = np.array([0.1, 0.05, -0.1, 0.05, 0.0, 0.1, 0.1, -0.005])
"""Of the joints [rad/s, m/s]."""
TASK = "put the blue cube in the bin"


def joints_at(seconds: float) -> np.ndarray:
    """Where they are told to be."""
    return np.asarray(PROFILE.vector("home") + SPEED * seconds)


def moving(count: int, begin_s: float = 0.0, task: str = TASK) -> list[Frame]:
    """Frames of one motion; the pictures tell the number of their frame."""
    sizes = {camera.name: (camera.height, camera.width, 3) for camera in PROFILE.cameras}
    return [
        Frame(
            stamp_ns=round((begin_s + k / FPS) * 1e9),
            state=joints_at(k / FPS).astype(np.float32),
            velocity=SPEED.astype(np.float32),
            action=joints_at((k + 1) / FPS).astype(np.float32),
            images={name: np.full(size, k % 256, np.uint8) for name, size in sizes.items()},
            task=task,
        )
        for k in range(count)
    ]


@dataclass
class Memory:
    """Episodes in memory, which count how many are read at a time."""

    episodes: list[list[Frame]]
    name: str = "mine"
    joints: tuple[str, ...] = PROFILE.joint_names
    cameras: dict[str, tuple[int, int]] = field(
        default_factory=lambda: {camera.name: (camera.height, camera.width) for camera in PROFILE.cameras}
    )
    fps: float = float(FPS)
    has_velocity: bool = True
    reading: int = 0
    most: int = 0

    @property
    def count(self) -> int:
        return sum(map(len, self.episodes))

    def __len__(self) -> int:
        return len(self.episodes)

    def frames(self, episode: int) -> Iterator[Frame]:
        self.reading += 1
        self.most = max(self.most, self.reading)
        yield from self.episodes[episode]
        self.reading -= 1

    def motion(self, episode: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        frames = self.episodes[episode]
        n = len(self.joints)
        parts = ([f.stamp_ns for f in frames], [f.state for f in frames], [f.action for f in frames])
        return np.array(parts[0], dtype=np.int64), *(np.reshape(part, (-1, n)).astype(float) for part in parts[1:])

    def spans(self, episode: int) -> list[tuple[int, int]]:
        frames = self.episodes[episode]
        return spans_of(np.array([f.stamp_ns for f in frames], np.int64), [f.task for f in frames])


def recording(episodes: Memory) -> Recording:
    """They, as a part of what is learned from."""
    return Recording(episodes=episodes, profile=PROFILE, viewpoints=labelled_viewpoints(PROFILE))


def source(episodes: Memory, labels: int = 3) -> RecordedSource:
    """They, in the numbers of the shipped policy."""
    return RecordedSource(recording(episodes), BUNDLE.manifest, labels)

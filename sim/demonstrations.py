"""Demonstrations on disk: frames with labels, in shards of `SHARD_SEEDS` scenes.

A frame holds an image of each camera, the proprioceptive state and labels: instructions, each with a whole action
chunk, some of them continuing a prefix of another plan (training-time real-time chunking, Black et al. 2025). A shard
appears when it is complete, so a cut run is resumed by running it again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tendon.core.errors import ConfigError
from tendon.core.types import Array

SHARD_SEEDS = 40
ABOUT_FILE, SEEDS_FILE = "about.json", "seeds.npy"
ROWS, STEP_S = 16, 0.1
"""Of a chunk."""
LARGEST_PREFIX = 5
WITHOUT_PREFIX = 0.3
"""Share of labels without one."""

Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Label:
    """One instruction and what the expert would do.

    Attributes:
        instruction: in words.
        actions: (ROWS, C) numbers of the action space.
        prefix_rows: how many leading rows are a given prefix.
        points: (2, 3) what the instruction is about [m, base frame].
        flags: (2,) target is held, task is done.
    """

    instruction: str
    actions: Array
    prefix_rows: int
    points: Array
    flags: Array


class Collector(Protocol):
    """Runs episodes in one world."""

    about: dict[str, Any]
    """What `tendon.policies.training.spaces.ABOUT` lists."""

    def episode(self, seed: int) -> Iterator[tuple[Arrays, list[Label]]]:
        """Runs one episode in the scene of a seed and yields its kept frames: `image_NAME` and `state`, and labels.

        A frame may have `mask_NAME`: which pixels show background only, as `numpy.packbits` packs the rows.
        """

    def close(self) -> None:
        """Closes the world."""


def draw_prefix_rows(rng: np.random.Generator) -> int:
    """Returns how long a prefix a label has."""
    return 0 if rng.random() < WITHOUT_PREFIX else int(rng.integers(1, LARGEST_PREFIX + 1))


def collected(folder: Path, seeds: Sequence[int]) -> int | None:
    """Returns how many frames the shard of these scenes has; `None` where there is none yet.

    Raises:
        ConfigError: the one that begins with the first is of other scenes.
    """
    path = _shard(folder, seeds)
    if not path.is_dir():
        return None
    known = path / SEEDS_FILE
    if known.is_file() and np.load(known).tolist() != list(seeds):
        raise ConfigError(
            f"{path} has {len(np.load(known))} scenes and not the {len(seeds)} from {seeds[0]} on that are asked for: "
            "delete it, or name another folder"
        )
    return len(np.load(path / "state.npy", mmap_mode="r"))


def _shard(folder: Path, seeds: Sequence[int]) -> Path:
    return folder / f"seeds-{seeds[0]:06d}"


def collect_shard(collector: Collector, folder: Path, seeds: Sequence[int]) -> int:
    """Collects one shard, named by its first seed; returns its number of frames. One that is there is left alone.

    Raises:
        ConfigError: see `collected`.
    """
    known, path = collected(folder, seeds), _shard(folder, seeds)
    if known is not None:
        return known
    folder.mkdir(parents=True, exist_ok=True)
    frames, labels = [], []
    for seed in seeds:
        for frame, label in collector.episode(seed):
            frames.append(frame)
            labels.append(label)
    arrays: Arrays = {key: np.stack([frame[key] for frame in frames]) for key in frames[0]}
    arrays["state"] = arrays["state"].astype(np.float32)
    arrays["actions"] = np.stack([[one.actions for one in row] for row in labels]).astype(np.float32)
    arrays["prefix_rows"] = np.array([[one.prefix_rows for one in row] for row in labels], dtype=np.int64)
    arrays["points"] = np.stack([[one.points for one in row] for row in labels]).astype(np.float32)
    arrays["flags"] = np.stack([[one.flags for one in row] for row in labels]).astype(np.float32)
    arrays["instruction"] = np.array([[one.instruction for one in row] for row in labels])
    (folder / ABOUT_FILE).write_text(json.dumps(collector.about, indent=1))
    unfinished = folder / f".{path.name}"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    for key, array in arrays.items():
        np.save(unfinished / f"{key}.npy", array)
    np.save(unfinished / SEEDS_FILE, np.array(seeds))
    unfinished.rename(path)
    return len(frames)

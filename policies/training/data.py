"""Reads demonstration shards into batches: memory-mapped images, shuffled over everything."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tendon.core.errors import ConfigError
from tendon.policies.spec.tokens import PAD, UNKNOWN, Tokenizer, words
from tendon.policies.training.spaces import ABOUT

TOKENS = 16
ABOUT_FILE = "about.json"
TABLE_CENTRE, TABLE_REACH_M = (0.5, 0.0, 0.0), 0.6
KEYS = ("state", "actions", "prefix_rows", "points", "flags")


class Demonstrations:
    """All frames of some folders of shards, but those in which a named item was knocked off the table.

    Args:
        folders: each holds shards written by `tendon data demos`.
        vocabulary: when given, of an earlier run; else made from the instructions found.

    Raises:
        ConfigError: there is no shard, or it does not say what is in it.
    """

    def __init__(self, folders: list[Path], vocabulary: list[str] | None = None) -> None:
        self.shards = sorted(path for folder in folders for path in folder.glob("seeds-*"))
        if not self.shards:
            raise ConfigError(f"no demonstrations in {', '.join(map(str, folders))}; `tendon data demos` makes them")
        self.about = json.loads((folders[0] / ABOUT_FILE).read_text())
        if missing := [key for key in ABOUT if key not in self.about]:
            raise ConfigError(
                f"{folders[0] / ABOUT_FILE} does not say {', '.join(missing)}: another version of Tendon made these "
                "demonstrations; make them again"
            )
        self.cameras = tuple(self.about["cameras"])
        parts = {key: [np.load(shard / f"{key}.npy") for shard in self.shards] for key in KEYS}
        self.images = {
            name: [np.load(shard / f"image_{name}.npy", mmap_mode="r") for shard in self.shards]
            for name in self.cameras
        }
        lengths = [len(part) for part in parts["state"]]
        self.shard_of = np.repeat(np.arange(len(lengths)), lengths)
        self.row_of = np.concatenate([np.arange(length) for length in lengths])
        self.arrays = {key: np.concatenate(values) for key, values in parts.items()}
        knocked_off = np.abs(self.arrays["points"] - TABLE_CENTRE).max(axis=(1, 2, 3)) > TABLE_REACH_M
        instruction = np.concatenate([np.load(shard / "instruction.npy") for shard in self.shards])
        unique, index = np.unique(instruction, return_inverse=True)
        found = sorted({word for text in unique for word in words(str(text))})
        self.vocabulary = vocabulary or [PAD, UNKNOWN, *found]
        tokenizer = Tokenizer(self.vocabulary, TOKENS)
        encoded = np.stack([tokenizer.encode(str(text)) for text in unique])
        self.arrays["tokens"] = encoded[index.reshape(instruction.shape)]
        self.shard_of, self.row_of = self.shard_of[~knocked_off], self.row_of[~knocked_off]
        self.arrays = {key: array[~knocked_off] for key, array in self.arrays.items()}

    def __len__(self) -> int:
        return len(self.shard_of)

    def statistics(self) -> dict[str, list[float]]:
        """Returns mean and std of the state, and std of each action row and component, for normalisation."""
        state, actions = self.arrays["state"], self.arrays["actions"].reshape(-1, *self.arrays["actions"].shape[2:])
        return {
            "state_mean": state.mean(0).tolist(),
            "state_std": np.maximum(state.std(0), 1e-3).tolist(),
            "action_mean": actions.mean(0).tolist(),
            "action_std": np.maximum(actions.std(0), 4e-3).tolist(),
        }

    def batch(self, rows: np.ndarray) -> dict[str, Tensor]:
        """Returns the frames at `rows`: images (B, H, W, 3) uint8 as `image_*`, then (B, ...) of every label."""
        out = {key: torch.from_numpy(array[rows]) for key, array in self.arrays.items()}
        for name, parts in self.images.items():
            picked = np.stack([parts[s][r] for s, r in zip(self.shard_of[rows], self.row_of[rows], strict=True)])
            out[f"image_{name}"] = torch.from_numpy(picked)
        return out

    def batches(self, size: int, rng: np.random.Generator) -> Iterator[dict[str, Tensor]]:
        """Yields shuffled batches without end, read ahead by one thread."""
        ahead: queue.Queue[dict[str, Tensor]] = queue.Queue(maxsize=4)

        def read() -> None:
            while True:
                order = rng.permutation(len(self))
                for start in range(0, len(order) - size + 1, size):
                    ahead.put(self.batch(np.sort(order[start : start + size])))

        threading.Thread(target=read, daemon=True, name="demonstrations").start()
        while True:
            yield ahead.get()

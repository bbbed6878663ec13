"""Demonstration shards as a source of training: memory-mapped images, shuffled over everything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from tendon.core.errors import ConfigError
from tendon.core.json_object import read_json_object
from tendon.policies.spec.tokens import Tokenizer, words
from tendon.policies.training.spaces import ABOUT

MAKE_AGAIN = "make the demonstrations again"
TOKENS = 16
ABOUT_FILE = "about.json"
TABLE_CENTRE, TABLE_REACH_M = (0.5, 0.0, 0.0), 0.6
KEYS = ("state", "actions", "prefix_rows", "points", "flags")

Arrays = dict[str, npt.NDArray[Any]]
"""Of B frames with L labels: `image_NAME` (B, H, W, 3) uint8, `state` (B, S), `actions` (B, L, T, C), `prefix_rows`
(B, L), `tokens` (B, L, TOKENS), `points` (B, L, 2, 3) and `flags` (B, L, 2), which are NaN where nobody knows them, and
`placed` (B, L, 2, 3): which numbers of the points are good for more than to say where to look."""
Draw = Callable[[int], Arrays]
"""Returns so many frames at random."""


class Demonstrations:
    """All frames of a folder of shards, but those in which a named item was knocked off the table.

    Args:
        folder: holds shards written by `tendon data demos`.

    Raises:
        ConfigError: there is no shard, or it does not say what is in it.
    """

    def __init__(self, folder: Path) -> None:
        shards = sorted(folder.glob("seeds-*"))
        if not shards:
            raise ConfigError(f"no demonstrations in {folder}; `tendon data demos` makes them")
        self.about = read_about(folder)
        parts = {key: [_array(shard / f"{key}.npy") for shard in shards] for key in KEYS}
        self._images = {
            name: [_array(shard / f"image_{name}.npy", "r") for shard in shards] for name in self.about["cameras"]
        }
        masks = {name: [shard / f"mask_{name}.npy" for shard in shards] for name in self._images}
        self.masked = all(file.is_file() for files in masks.values() for file in files)
        """Whether its frames have `mask_NAME` (B, H, W): which pixels show background only."""
        self._masks = {name: [_array(f, "r") for f in files] for name, files in masks.items() if self.masked}
        lengths = [len(part) for part in parts["state"]]
        self._shard_of = np.repeat(np.arange(len(lengths)), lengths)
        self._row_of = np.concatenate([np.arange(length) for length in lengths])
        self.arrays = {key: np.concatenate(values) for key, values in parts.items()}
        self._instruction = np.concatenate([_array(shard / "instruction.npy") for shard in shards])
        kept = np.abs(self.arrays["points"] - TABLE_CENTRE).max(axis=(1, 2, 3)) <= TABLE_REACH_M
        self._shard_of, self._row_of, self._instruction = (
            array[kept] for array in (self._shard_of, self._row_of, self._instruction)
        )
        self.arrays = {key: array[kept] for key, array in self.arrays.items()}

    def __len__(self) -> int:
        return len(self._shard_of)

    @property
    def cameras(self) -> dict[str, tuple[int, int]]:
        """Returns the height and width of each camera's pictures."""
        return {name: tuple(parts[0].shape[1:3]) for name, parts in self._images.items()}

    @property
    def labels(self) -> int:
        """Returns how many labels a frame has."""
        return int(self.arrays["actions"].shape[1])

    def words(self) -> set[str]:
        """Returns the words of its instructions."""
        return {word for text in np.unique(self._instruction) for word in words(str(text))}

    def encode(self, vocabulary: Sequence[str]) -> None:
        """Turns its instructions into numbers.

        Raises:
            InstructionError: a word is not in the vocabulary.
        """
        unique, index = np.unique(self._instruction, return_inverse=True)
        tokenizer = Tokenizer(vocabulary, TOKENS)
        encoded = np.stack([tokenizer.encode(str(text)) for text in unique])
        self.arrays["tokens"] = encoded[index.reshape(self._instruction.shape)]

    def drawing(self, rng: np.random.Generator) -> Draw:
        """Returns what draws frames: each once, in random order, before any comes again."""
        waiting = np.zeros(0, dtype=np.intp)

        def draw(count: int) -> Arrays:
            nonlocal waiting
            while len(waiting) < count:
                waiting = np.concatenate([waiting, rng.permutation(len(self))])
            rows, waiting = np.sort(waiting[:count]), waiting[count:]
            return self.frames(rows)

        return draw

    def frames(self, rows: npt.NDArray[np.intp]) -> Arrays:
        """Returns the frames at `rows`."""
        found: Arrays = {key: array[rows] for key, array in self.arrays.items()}
        found["placed"] = np.ones(found["points"].shape, dtype=bool)
        places = list(zip(self._shard_of[rows], self._row_of[rows], strict=True))
        for name, parts in self._images.items():
            found[f"image_{name}"] = np.stack([parts[shard][row] for shard, row in places])
        for name, parts in self._masks.items():
            packed = np.stack([parts[shard][row] for shard, row in places])
            found[f"mask_{name}"] = np.unpackbits(packed, axis=-1, count=self.cameras[name][1]).astype(bool)
        return found


def read_about(folder: Path) -> dict[str, Any]:
    """Returns what a folder of shards says of them.

    Raises:
        ConfigError: it says nothing, or not all.
    """
    file = folder / ABOUT_FILE
    if not file.is_file():
        raise ConfigError(f"no demonstrations in {folder}; `tendon data demos` makes them")
    about = read_json_object(file, MAKE_AGAIN)
    if missing := [key for key in ABOUT if key not in about]:
        raise ConfigError(
            f"{file} does not say {', '.join(missing)}: another version of Tendon made these demonstrations; make them "
            "again"
        )
    return about


def statistics(sources: Sequence[Demonstrations]) -> dict[str, list[Any]]:
    """Returns mean and std of the state, and mean and std of each action row and component, for normalisation."""
    state = np.concatenate([source.arrays["state"] for source in sources])
    rows = [source.arrays["actions"].reshape(-1, *source.arrays["actions"].shape[2:]) for source in sources]
    actions = np.concatenate(rows)
    return {
        "state_mean": state.mean(0).tolist(),
        "state_std": np.maximum(state.std(0), 1e-3).tolist(),
        "action_mean": actions.mean(0).tolist(),
        "action_std": np.maximum(actions.std(0), 4e-3).tolist(),
    }


def _array(file: Path, mmap_mode: Literal["r"] | None = None) -> npt.NDArray[Any]:
    """Returns the array of a file.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        return cast("npt.NDArray[Any]", np.load(file, mmap_mode=mmap_mode))
    except (OSError, ValueError, EOFError) as error:
        raise ConfigError(f"{file} cannot be read ({error}): {MAKE_AGAIN}") from error

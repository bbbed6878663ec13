"""What a policy is trained on: shards of demonstrations and recorded episodes, mixed by weights."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from tendon.core.checks import check_number
from tendon.core.errors import ConfigError, MismatchError
from tendon.policies.spec.tokens import PAD, UNKNOWN
from tendon.policies.training.data import TOKENS, Arrays, Demonstrations, Draw, statistics
from tendon.policies.training.manifest import run_manifest
from tendon.policies.training.model import Shape
from tendon.policies.training.recorded import RecordedSource, Recording
from tendon.policies.training.spaces import ABOUT, count_tools

LABELS = 3
"""Of a recorded frame, where no demonstrations are beside it that say how many theirs have."""
AHEAD = 4
"""Batches that are read ahead."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """Something to learn from.

    Attributes:
        source: folder of shards, or recorded episodes.
        weight: a frame of it is drawn so many times as often as one of weight 1.
    """

    source: Path | Recording
    weight: float = 1.0

    def __post_init__(self) -> None:
        check_number(f"weight of {self.name}", self.weight, above=0)

    @property
    def name(self) -> str:
        """Of the source, as messages have it."""
        return str(self.source) if isinstance(self.source, Path) else self.source.episodes.name


class Source(Protocol):
    """Frames with labels."""

    def __len__(self) -> int:
        """How many."""

    def drawing(self, rng: np.random.Generator) -> Draw:
        """Returns what draws them."""


class Mixture:
    """Frames of all parts in batches.

    Args:
        parts: at least one.
        known: what the `run.json` of an earlier run says, whose vocabulary, statistics and spaces are kept; empty for a
            new one, which demonstrations describe.

    Attributes:
        masked: whether every frame says by `mask_NAME` which pixels show background only.
        about: what state and actions are and who sees them, see `spaces.ABOUT`.
        shape: of the network.
        vocabulary, statistics: of the run.
        frames: how many each part has.

    Raises:
        ConfigError: there is nothing to learn from, or nothing says what the policy sees and answers.
        MismatchError: a part does not fit the policy.
        InstructionError: an instruction has a word that the policy does not know.
    """

    def __init__(self, parts: Sequence[Part], known: Mapping[str, Any]) -> None:
        shards = {k: Demonstrations(part.source) for k, part in enumerate(parts) if isinstance(part.source, Path)}
        first = next(iter(shards.values()), None)
        if not parts:
            raise ConfigError("there is nothing to learn from: name demonstrations, a dataset or recordings")
        if first is None and not known:
            raise ConfigError(
                "recordings do not say what the policy is to see and to answer: go on from a bundle or a run (--from), "
                "or give demonstrations beside them"
            )
        words = sorted(set().union(*(source.words() for source in shards.values())))
        self.vocabulary: list[str] = known.get("vocabulary") or [PAD, UNKNOWN, *words]
        self.statistics = known.get("statistics") or statistics(list(shards.values()))
        for source in shards.values():
            source.encode(self.vocabulary)
        recordings = {k: part.source for k, part in enumerate(parts) if isinstance(part.source, Recording)}
        if first is not None:
            self.about, self.shape = first.about, _shape(first, len(self.vocabulary))
            for k, part in enumerate(parts):
                seen = recordings[k].viewpoints if k in recordings else {}
                about = {"cameras": {name: seen.get(name) for name in self.about["cameras"]}}
                _check_alike(part.name, shards[k].about if k in shards else about, self.about)
        else:
            viewpoints = next(iter(recordings.values())).viewpoints
            shape = Shape(**known["shape"])
            if missing := [name for name in shape.cameras if name not in viewpoints]:
                raise ConfigError(f"the robot has no camera {', '.join(missing)}, which the policy sees")
            seen = {name: viewpoints[name] for name in shape.cameras}
            self.about, self.shape = {**{key: known[key] for key in ABOUT}, "cameras": seen}, shape
        record = {**self.about, "vocabulary": self.vocabulary, "statistics": self.statistics}
        labels = LABELS if first is None else first.labels
        self.masked = len(shards) == len(parts) and all(source.masked for source in shards.values())
        self._sources: list[Source] = []
        for k in range(len(parts)):
            if k in shards:
                self._sources.append(shards[k])
            else:
                manifest = run_manifest(self.shape, record, recordings[k].profile, "policy")
                self._sources.append(RecordedSource(recordings[k], manifest, labels))
        self.frames = [len(source) for source in self._sources]
        share = np.array([part.weight * len(source) for part, source in zip(parts, self._sources, strict=True)])
        self._share = share / share.sum()

    def __len__(self) -> int:
        return sum(map(len, self._sources))

    def batches(self, size: int, rng: np.random.Generator) -> Iterator[dict[str, Tensor]]:
        """Yields shuffled batches without end, read ahead by one thread.

        Raises:
            TendonError: something cannot be read.
        """
        ahead: queue.Queue[Arrays | Exception] = queue.Queue(maxsize=AHEAD)

        def read() -> None:
            try:
                generators = rng.spawn(len(self._sources))
                draws = [each.drawing(own) for each, own in zip(self._sources, generators, strict=True)]
                while True:
                    counts = rng.multinomial(size, self._share)
                    found = [draw(int(count)) for draw, count in zip(draws, counts, strict=True) if count]
                    keys = set.intersection(*(set(each) for each in found))  # not every part has masks
                    ahead.put({key: np.concatenate([each[key] for each in found]) for key in keys})
            except Exception as error:  # whoever trains has to hear of it
                ahead.put(error)

        threading.Thread(target=read, daemon=True, name="training data").start()
        while True:
            batch = ahead.get()
            if isinstance(batch, Exception):
                raise batch
            yield {key: torch.from_numpy(array) for key, array in batch.items()}


def _check_alike(name: str, about: Mapping[str, Any], like: Mapping[str, Any]) -> None:
    """Raises MismatchError where a part differs from the first: one network sees through cameras at one place."""
    for key in ABOUT:
        if key in about and about[key] != like[key]:
            raise MismatchError(
                f"{name} has other {key} than the first demonstrations ({about[key]}, not {like[key]}): "
                "collect demonstrations with the robot that the others are of (--robot)"
            )


def _shape(source: Demonstrations, vocabulary: int) -> Shape:
    actions = source.arrays["actions"]
    return Shape(
        cameras=source.cameras,
        tools=count_tools(source.about["state"]),
        state=source.arrays["state"].shape[1],
        rows=actions.shape[2],
        components=actions.shape[3],
        tokens=TOKENS,
        vocabulary=vocabulary,
    )

"""What `end_to_end.py` shares among those it measures."""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from networks.random_policies import CAMERAS, SIZE
from peers.remote import picture

FRAMES = 8
WARM_UP_S = 3.0
THREADS = 2


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a run gave; times in ms.

    Attributes:
        whole: from observation to action available, of each chunk.
        network: of each inference, the network alone.
        ticks: from each action of the loop to the next.
        period_ms: what a tick should be.
    """

    whole: list[float]
    network: list[float]
    ticks: list[float]
    period_ms: float


def frames() -> list[dict[str, np.ndarray[Any, Any]]]:
    """Returns images by the robot's camera name, a few different ones."""
    return [
        {camera: picture(SIZE, SIZE, 10 * k + j) for j, camera in enumerate(CAMERAS.values())} for k in range(FRAMES)
    ]


@contextlib.contextmanager
def running(work: Callable[..., None], *arguments: Any) -> Iterator[Connection]:
    """Runs something in a process of its own and gives the connection it talks through."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(theirs, *arguments), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        process.terminate()
        process.join(10.0)

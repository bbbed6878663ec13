"""What a residual's networks see of an observation: a fixed linear map, found before training."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from tendon.core.errors import ConfigError
from tendon.core.files import replace_file

Rows = npt.NDArray[np.float32]
LEAST_STD = 1e-3
"""Of a number that hardly changes: it is left small rather than made noise."""
LARGEST = 5.0
"""Standard deviations at which what a network sees is cut off."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Projection:
    """Standardises numbers, and replaces the last E, a base policy's embedding, by their principal components.

    Attributes:
        matrix: (O, Z).
        shift: (Z,); what is seen of an observation x is `x @ matrix + shift`.
    """

    matrix: Rows
    shift: Rows

    def __call__(self, observations: npt.ArrayLike) -> Rows:
        """Returns (..., Z) what is seen of (..., O) observations."""
        seen = np.asarray(observations, np.float32) @ self.matrix + self.shift
        return np.clip(seen, -LARGEST, LARGEST, dtype=np.float32)

    def save(self, path: Path) -> None:
        """Writes it."""
        replace_file(path, save({"matrix": self.matrix, "shift": self.shift}))


def load_projection(path: Path) -> Projection:
    """Returns what was written.

    Raises:
        ConfigError: it is damaged.
    """
    try:
        found = load_file(path)
        matrix, shift = found["matrix"], found["shift"]
    except (SafetensorError, OSError, KeyError) as error:
        raise ConfigError(f"{path} is damaged ({error!r}): copy it again, or name another folder") from error
    finite = np.isfinite(matrix).all() and np.isfinite(shift).all()
    if matrix.ndim != 2 or shift.shape != matrix.shape[1:] or not finite:
        raise ConfigError(
            f"{path} is damaged (matrix {matrix.shape}, shift {shift.shape}): copy it again, or name another folder"
        )
    return Projection(matrix=matrix, shift=shift)


def find_projection(observations: Rows, embedding: int, components: int) -> Projection:
    """Returns the projection of (N, O) observations whose last `embedding` numbers are an embedding.

    Args:
        observations: of the base policy alone, and with some exploration.
        embedding: E.
        components: at most so many principal components are kept, each with a variance of 1.
    """
    wide = observations.astype(np.float64)
    mean, std = wide.mean(axis=0), np.maximum(wide.std(axis=0), LEAST_STD)
    plain = wide.shape[1] - embedding
    blocks = [np.diag(1.0 / std)[:, :plain]]
    if embedding:
        away = wide[:, plain:] - mean[plain:]
        values, vectors = np.linalg.eigh(away.T @ away / len(away))
        best = np.argsort(values)[::-1][: min(components, embedding)]
        block = np.zeros((wide.shape[1], len(best)))
        block[plain:] = vectors[:, best] / np.sqrt(np.maximum(values[best], LEAST_STD**2))
        blocks.append(block)
    matrix = np.concatenate(blocks, axis=1)
    return Projection(matrix=matrix.astype(np.float32), shift=(-mean @ matrix).astype(np.float32))

"""Weights as a function of their names, so that a fixture holds a list of names and not the numbers.

The fixture's file of weights is made from what LeRobot saved: its names, shapes and types. Numbers depend on the name
and the shape alone: each version of LeRobot answers with them what is in `answers.safetensors`.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

NAMES_FILE = "weights.json"
WEIGHTS_FILE = "model.safetensors"


def number_of(name: str, shape: tuple[int, ...], kind: str) -> np.ndarray:
    """Returns the weight of a name: norms near 1, variances positive, matrices that keep the size of what they take."""
    if kind == "I64":
        return np.zeros(shape, np.int64)
    if kind != "F32":
        raise ValueError(f"weight {name} is saved as {kind}, expected F32 or I64")
    drawn = np.random.default_rng(zlib.crc32(name.encode())).standard_normal(shape)
    if name.endswith("running_var"):
        drawn = 0.5 + np.abs(drawn)
    elif len(shape) == 1:
        drawn = 0.1 * drawn + name.endswith(".weight")
    elif len(shape) > 1:
        drawn /= np.sqrt(np.prod(shape[1:]))
    return drawn.astype(np.float32)


def write_weights(folder: Path) -> None:
    """Writes `model.safetensors` of a folder from its list of names."""
    names = json.loads((folder / NAMES_FILE).read_text())
    weights = {name: number_of(name, tuple(shape), kind) for name, (kind, shape) in names.items()}
    save_file(weights, folder / WEIGHTS_FILE)

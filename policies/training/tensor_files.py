"""Files of tensors: read with an error that names the one that is wrong, written in one go."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from tendon.core.errors import ConfigError
from tendon.core.files import replace_file
from tendon.policies.training.run_files import TRAIN_AGAIN


def read_tensors(file: Path) -> dict[str, Tensor]:
    """Returns the tensors of a file, by name.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        return load(file.read_bytes())
    except (OSError, SafetensorError) as error:
        raise ConfigError(f"{file} cannot be read ({error}): {TRAIN_AGAIN}") from error


def write_tensors(file: Path, tensors: Mapping[str, Tensor]) -> None:
    """Writes tensors in one go.

    Raises:
        OSError: the file cannot be written; what was there stays.
    """
    replace_file(file, save({name: tensor.contiguous().cpu() for name, tensor in tensors.items()}))


def all_finite(tensors: Mapping[str, Tensor]) -> bool:
    """Returns whether all of them are numbers."""
    return all(bool(torch.isfinite(tensor).all()) for tensor in tensors.values())

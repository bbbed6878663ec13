"""How large the mesh of a file is."""

from __future__ import annotations

import functools
from pathlib import Path

import coal
import numpy as np

from tendon.core.errors import ConfigError
from tendon.core.types import Array


@functools.cache
def mesh_bounds(file: Path) -> tuple[Array, Array]:
    """Returns the smallest and the largest corner (3,) of a mesh, in its own unit.

    Raises:
        ConfigError: it is no mesh that can be read.
    """
    try:
        model = coal.MeshLoader().load(str(file), np.ones(3))
        corners = np.array(model.vertices())
    except (RuntimeError, ValueError) as error:
        raise ConfigError(f"mesh {file} cannot be read: {error}") from error
    if not len(corners) or not np.isfinite(corners).all():
        raise ConfigError(f"mesh {file} has no corners, or some that are not finite: export it again")
    return corners.min(axis=0), corners.max(axis=0)

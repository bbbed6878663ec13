"""Parts of things that are meshes: where their file is, and how large what it holds is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tendon.core.errors import ConfigError
from tendon.robots.packages import resolve
from tendon.sim.bodies import Part
from tendon.sim.mesh_bounds import mesh_bounds
from tendon.sim.robot_urdf import DRAWN_BY_ALL


def measured(part: Part, near: Path) -> Part:
    """Returns a part; of a mesh, with the path of its file and how large it is.

    Args:
        part: as the file of a suite or a thing has it.
        near: that file.

    Raises:
        ConfigError: there is no such mesh, or it cannot be read.
    """
    if part.kind != "mesh":
        return part
    file = resolve(part.file, near)
    if file.suffix.lower() not in DRAWN_BY_ALL:
        raise ConfigError(f"{near} names {part.file}: simulators read {' and '.join(DRAWN_BY_ALL)}")
    low, high = (part.unit * corner for corner in mesh_bounds(file))
    half, middle = ((high - low) / 2).tolist(), ((high + low) / 2).tolist()
    return replace(part, file=str(file), half=tuple(half), middle=tuple(middle))

"""What the things of a scene are made of: boxes and cylinders only, which every simulator draws fast."""

from __future__ import annotations

import functools
import math
from pathlib import Path

import cv2
import numpy as np

from tendon.core.types import Array
from tendon.sim.bodies import Body, Part, Slide, Surface, Vector
from tendon.sim.scratch import scratch_folder
from tendon.sim.tabletop.items import DRAWER_TRAVEL, HANDLE_STANDOFF, Item
from tendon.sim.tabletop.scene import Look

WALL_HALF_THICKNESS = 0.004
"""Of bowls and bins [m]."""


def container_ring(item: Item) -> tuple[int, float]:
    """Returns how many walls a bowl or bin has, and how far their middles are from its centre [m]."""
    return (8, item.size / 2 - 0.006) if item.kind == "bowl" else (4, item.size / 2 - 0.005)


def _box(half: Vector, centre: Vector = (0.0, 0.0, 0.0), yaw: float = 0.0) -> Part:
    return Part(kind="box", half=half, centre=centre, yaw=yaw)


def _ring(radius: float, height: float, sides: int) -> list[Part]:
    length = radius * math.tan(math.pi / sides)
    angles = [2 * math.pi * k / sides for k in range(sides)]
    half = (WALL_HALF_THICKNESS, length + 0.003, height / 2)
    return [_box(half, (radius * math.cos(a), radius * math.sin(a), height / 2), a) for a in angles]


def body_of(item: Item) -> Body:
    """Returns the body of an item at its place."""
    if item.kind == "drawer":
        return _drawer(item)
    half = item.size / 2
    if item.kind in ("bowl", "bin"):
        sides, radius = container_ring(item)
        reach = half * 0.66 if item.kind == "bowl" else half - 0.012
        base = _box((reach, reach, 0.003), (0.0, 0.0, 0.003))
        x, y, _ = item.position
        return Body(parts=(base, *_ring(radius, item.height, sides)), rgb=item.rgb, position=(x, y, 0.0))
    round_ = item.kind in ("cylinder", "plate")
    return Body(
        parts=(Part(kind="cylinder" if round_ else "box", half=(half, half, item.height / 2)),),
        rgb=item.rgb,
        position=item.position,
        yaw=item.yaw,
        mass=item.mass,
        solid=item.kind != "zone",
        surface=Surface(
            friction=item.friction,
            spinning=0.005,
            rolling=0.002 if item.kind == "cylinder" else 0.0,
            damping=(0.05, 0.3),
        ),
    )


def _drawer(item: Item) -> Body:
    """Returns a cabinet whose drawer slides along -x; its handle is a post that a gripper can straddle."""
    width, height, depth = item.size, item.height, 0.16
    return Body(
        parts=(
            _box((depth / 2, width / 2, 0.005), (depth / 2, 0.0, height - 0.005)),
            _box((depth / 2, 0.005, height / 2), (depth / 2, width / 2 - 0.005, height / 2)),
            _box((depth / 2, 0.005, height / 2), (depth / 2, -width / 2 + 0.005, height / 2)),
        ),
        rgb=item.rgb,
        position=item.position,
        slide=Slide(
            parts=(
                _box((0.005, width / 2 - 0.012, height / 2 - 0.01), (-0.005, 0.0, height / 2 - 0.002)),
                _box((depth / 2 - 0.01, width / 2 - 0.016, 0.003), (depth / 2 - 0.01, 0.0, 0.012)),
                _box((HANDLE_STANDOFF / 2, 0.007, 0.007), (-HANDLE_STANDOFF / 2, 0.0, 0.02)),
                _box((0.008, 0.008, 0.036), (-HANDLE_STANDOFF, 0.0, 0.048)),
            ),
            rgb=(0.6 * item.rgb[0], 0.6 * item.rgb[1], 0.6 * item.rgb[2]),
            axis=(-1.0, 0.0, 0.0),
            travel=DRAWER_TRAVEL,
            opening=item.opening,
            mass=0.3,
            centre_of_mass=(0.0, 0.0, 0.04),
            resistance=1.5,
            friction=1.0,
        ),
    )


def table(look: Look) -> Body:
    """Returns the table, its top at z = 0."""
    return Body(
        parts=(_box((0.5, 0.7, 0.02)),),
        rgb=look.table_rgb,
        position=(0.55, 0.0, -0.02),
        surface=Surface(friction=0.7),
        texture=tiles_file(look.tiled) if look.tiled else texture_files()[look.texture - 1] if look.texture else None,
    )


@functools.cache
def tiles_file(contrast: float) -> str:
    """Returns the path of a table texture of tiles with dots, drawn once a process.

    Args:
        contrast: of white and black, 0 to 1.
    """
    rows, columns = np.mgrid[0:128, 0:128]
    tiles = ((rows // 21) + (columns // 21)) % 2
    dots = np.hypot(rows % 21 - 10, columns % 21 - 10) < 5
    path = scratch_folder() / "tiles.png"
    _write(path, 1.0 - contrast * 0.9 * (tiles ^ dots))
    return str(path)


@functools.cache
def texture_files() -> tuple[str, ...]:
    """Returns paths of the table textures, drawn once a process: noise, wood, checks, stripes, cloth."""
    rng = np.random.default_rng(0)
    folder = scratch_folder()
    rows, columns = np.mgrid[0:128, 0:128]
    coarse = cv2.resize(rng.uniform(0, 1, (12, 12)).astype(np.float32), (128, 128), interpolation=cv2.INTER_CUBIC)
    patterns = [
        0.85 + 0.15 * rng.uniform(-1, 1, (128, 128)),
        0.8 + 0.2 * np.sin(rows / 3.0 + 5 * coarse),
        0.8 + 0.2 * (((rows // 16) + (columns // 16)) % 2),
        0.85 + 0.15 * ((columns // 12) % 2),
        0.7 + 0.3 * coarse,
    ]
    paths = []
    for number, pattern in enumerate(patterns):
        path = folder / f"table{number}.png"
        _write(path, pattern)
        paths.append(str(path))
    return tuple(paths)


def _write(path: Path, pattern: Array) -> None:
    cv2.imwrite(str(path), np.repeat((np.clip(pattern, 0, 1) * 255).astype(np.uint8)[..., None], 3, axis=2))

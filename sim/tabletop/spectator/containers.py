"""How bowls and bins are drawn for people: one closed mesh with the measures of the boxes that physics uses."""

from __future__ import annotations

import math

import numpy as np

from tendon.core.types import Array
from tendon.sim.pybullet.client import pybullet
from tendon.sim.tabletop.bodies import WALL_HALF_THICKNESS, container_ring
from tendon.sim.tabletop.items import Item

FLOOR_M = 0.006
"""Height of the floor's upper side, as in `bodies.body_of`."""


def draw_container(client: int, item: Item) -> int:
    """Creates a body without collision shape that looks like a bowl or bin, and returns its PyBullet id."""
    corners, indices, normals = container_mesh(item)
    visual = pybullet.createVisualShape(
        pybullet.GEOM_MESH,
        vertices=corners.tolist(),
        indices=indices,
        normals=normals.tolist(),
        rgbaColor=[*item.rgb, 1.0],
        physicsClientId=client,
    )
    x, y, _ = item.position
    return int(pybullet.createMultiBody(0.0, -1, visual, (x, y, 0.0), physicsClientId=client))


def container_mesh(item: Item) -> tuple[Array, list[int], Array]:
    """Returns (k, 3) corners [m] of flat faces, three indices a triangle, and (k, 3) normals, in the item's frame.

    The walls are the boxes of `bodies.body_of`, mitred at the corners; the floor reaches them everywhere.
    """
    sides, radius = container_ring(item)
    middles = np.arange(sides) * 2 * math.pi / sides
    turns = np.append(middles, 0.0) - math.pi / sides

    def ring(apothem: float, height: float) -> Array:
        around = np.stack([np.cos(turns), np.sin(turns)], axis=1) * apothem / math.cos(math.pi / sides)
        return np.column_stack([around, np.full(len(turns), height)])

    outer, inner = radius + WALL_HALF_THICKNESS, radius - WALL_HALF_THICKNESS
    out = np.column_stack([np.cos(middles), np.sin(middles), np.zeros(sides)])
    up = np.broadcast_to([0.0, 0.0, 1.0], (sides, 3))
    centre = np.broadcast_to([0.0, 0.0, FLOOR_M], (sides + 1, 3))
    strips = (
        (ring(outer, 0.0), ring(outer, item.height), out),
        (ring(outer, item.height), ring(inner, item.height), up),
        (ring(inner, item.height), ring(inner, FLOOR_M), -out),
        (ring(inner, FLOOR_M), centre, up),
    )
    corners, normals = [], []
    for first, second, facing in strips:
        corners.append(np.stack([first[:-1], first[1:], second[1:], second[:-1]], axis=1).reshape(-1, 3))
        normals.append(np.repeat(facing, 4, axis=0))
    quads = range(0, 4 * sides * len(strips), 4)
    indices = [corner for q in quads for corner in (q, q + 1, q + 2, q, q + 2, q + 3)]
    return np.concatenate(corners), indices, np.concatenate(normals)

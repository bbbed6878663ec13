"""A small renderer of exact capsules, boxes, spheres, planes and triangles, in numpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from pinocchio.rpy import rpyToMatrix

from tendon.core.types import Array
from tendon.robots.shapes import Capsule, Cuboid, HalfSpace, Sphere

Pixels = npt.NDArray[np.uint8]
Body = Capsule | Cuboid | Sphere

LIGHT: Array = np.array([0.35, -0.45, 0.85]) / np.linalg.norm([0.35, -0.45, 0.85])
AMBIENT = 0.5
SHADOW = 0.72
SURROUNDINGS_RGB = (0.90, 0.86, 0.78)
GRID_M = 0.1
WINDOW_PIXELS = 1_000_000
"""So many are looked at together: about 100 MB."""
FADE_M = (0.7, 1.5)
"""A plane turns white between these distances from the point the camera looks at."""
_CORNERS: Array = np.stack(np.meshgrid([-1.0, 1.0], [-1.0, 1.0], [-1.0, 1.0]), axis=-1).reshape(8, 3)


@dataclass(frozen=True, kw_only=True, eq=False)
class Solid:
    """A shape in the base frame: its own frame's `position` (3,) [m] and `rotation` (3, 3), and an RGB of 0 to 1."""

    shape: Body
    position: Array
    rotation: Array
    rgb: tuple[float, float, float]


class Camera:
    """A perspective camera with square pixels.

    Args:
        target: (3,) [m] what it looks at.
        direction: (3,) from the target to the camera.
        distance: from the target [m].
        size: width and height [px].
        field_of_view: [rad].
    """

    def __init__(self, *, target: Array, direction: Array, distance: float, size: int, field_of_view: float) -> None:
        back = direction / np.linalg.norm(direction)
        right = np.cross([0.0, 0.0, 1.0], back) if abs(back[2]) < 0.999 else np.array([0.0, -1.0, 0.0])
        right /= np.linalg.norm(right)
        self.rotation: Array = np.stack((right, np.cross(back, right), back), axis=1)
        self.target, self.eye, self.size = target, target + distance * back, size
        self._focal = size / 2 / np.tan(field_of_view / 2)

    @cached_property
    def rays(self) -> Array:
        """(size * size, 3) unit directions, row by row."""
        steps = (np.arange(self.size) + 0.5 - self.size / 2) / self._focal
        x, y = np.meshgrid(steps, -steps)
        rays = np.stack((x, y, -np.ones_like(x)), axis=-1).reshape(-1, 3) @ self.rotation.T
        return np.asarray(rays / np.linalg.norm(rays, axis=1, keepdims=True))

    def pixels_around(self, corners: Array) -> npt.NDArray[np.intp]:
        """Returns the rays (k,) of the rectangle that holds the hull of (8, 3) `corners`, all where one is behind."""
        pixels, depth = self.project(corners)
        if depth.min() <= 0 or not np.isfinite(pixels).all():
            return np.arange(self.size**2)
        left, top = np.clip(np.floor(pixels.min(axis=0)).astype(int), 0, self.size)
        right, bottom = np.clip(np.ceil(pixels.max(axis=0)).astype(int), 0, self.size)
        return (np.arange(top, bottom)[:, None] * self.size + np.arange(left, right)).ravel()

    def project(self, points: Array) -> tuple[Array, Array]:
        """Returns (k, 2) pixels (right, down) and (k,) depths [m] of (k, 3) points."""
        local = (points - self.eye) @ self.rotation
        depth = -local[:, 2]
        return np.stack((local[:, 0], -local[:, 1]), axis=1) / depth[:, None] * self._focal + self.size / 2, depth


def render(camera: Camera, solids: Sequence[Solid], planes: Sequence[HalfSpace]) -> tuple[Array, Array]:
    """Returns (size, size, 3) colours of 0 to 1 on white, and (size, size) distances along the rays [m].

    Args:
        camera: where from.
        solids: shapes with an extent; they throw shadows on the planes.
        planes: in the base frame.
    """
    rays = camera.rays
    colour, nearest = np.ones((len(rays), 3)), np.full(len(rays), np.inf)
    cubes = [_cube_around(solid) for solid in solids]
    for plane in planes:
        up, height = np.array(plane.normal), plane.offset
        with np.errstate(divide="ignore"):
            distance = (height - camera.eye @ up) / (rays @ up)
        met = np.flatnonzero(np.isfinite(distance) & (distance > 0))
        distance = distance[met]
        points = camera.eye + distance[:, None] * rays[met]
        offset = points - camera.target
        away = np.linalg.norm(offset - (offset @ up)[:, None] * up, axis=1)
        fade = np.clip((away - FADE_M[0]) / (FADE_M[1] - FADE_M[0]), 0.0, 1.0)
        nearest[met] = distance
        shown = fade < 1.0
        met, points, fade = met[shown], points[shown], fade[shown]
        lit, row = np.ones(len(met)), np.full(len(rays), -1)
        row[met] = np.arange(len(met))
        for solid, cube in zip(solids, cubes, strict=True):
            with np.errstate(divide="ignore", invalid="ignore"):
                shadow = cube - ((cube @ up - height) / (LIGHT @ up))[:, None] * LIGHT
            near = row[camera.pixels_around(shadow)]
            near = near[near >= 0]
            lit[near[hit(solid, points[near] + 1e-4 * LIGHT, LIGHT)[0]]] = SHADOW
        colour[met] = np.outer(_grid(points, up) * lit * (1 - fade), SURROUNDINGS_RGB) + fade[:, None]
    for solid, cube in zip(solids, cubes, strict=True):
        around = camera.pixels_around(cube)
        met, distance, normals = hit(solid, camera.eye, rays[around])
        closer = distance < nearest[around[met]]
        seen = around[met[closer]]
        colour[seen] = _shade(np.array(solid.rgb), normals[closer], rays[seen])
        nearest[seen] = distance[closer]
    return colour.reshape(camera.size, camera.size, 3), nearest.reshape(camera.size, camera.size)


def render_triangles(camera: Camera, triangles: Array, rgb: Sequence[float]) -> tuple[Array, Array]:
    """Returns colours and distances, as `render` does, of (k, 3, 3) triangles [m]."""
    size = camera.size
    rays = camera.rays
    corners = camera.project(triangles.reshape(-1, 3))[0].reshape(-1, 3, 2)
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    offsets = ((triangles[:, 0] - camera.eye) * normals).sum(axis=1)
    low = np.clip(np.floor(corners.min(axis=1)).astype(int), 0, size)
    high = np.clip(np.ceil(corners.max(axis=1)).astype(int) + 1, 0, size)
    edges = np.roll(corners, -1, axis=1) - corners
    area = edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 0, 1] * edges[:, 1, 0]
    # Inside is where slopes[..., 0] * x + slopes[..., 1] * y + at_zero is at least 0 for all three edges.
    slopes = np.stack((-edges[..., 1], edges[..., 0]), axis=-1) * np.sign(area)[:, None, None]
    at_zero = -(slopes * (corners - 0.5)).sum(axis=-1)
    drawn = (high > low).all(axis=1) & (np.abs(area) >= 1e-9)
    front, nearest = np.full(size * size, -1), np.full(size * size, np.inf)
    # Triangles of about the same width and height are drawn together, each in a window of powers of two.
    extents = 2 ** np.ceil(np.log2(np.maximum(high - low, 1))).astype(int)
    for width, height in np.unique(extents[drawn], axis=0):
        group = np.flatnonzero(drawn & (extents == (width, height)).all(axis=1))
        steps_y, steps_x = np.divmod(np.arange(width * height), width)
        for part in np.array_split(group, len(group) * width * height // WINDOW_PIXELS + 1):
            x, y = low[part, :1] + steps_x, low[part, 1:] + steps_y
            inside = (x < high[part, :1]) & (y < high[part, 1:])
            for k in range(3):
                inside &= slopes[part, k, :1] * x + slopes[part, k, 1:] * y + at_zero[part, k, None] >= 0
            which, place = np.nonzero(inside)
            met, triangle = x[which, place] + size * y[which, place], part[which]
            with np.errstate(divide="ignore", invalid="ignore"):
                distance = offsets[triangle] / (rays[met] * normals[triangle]).sum(axis=1)
            closer = np.flatnonzero(distance < nearest[met])
            closer = closer[np.argsort(-distance[closer], kind="stable")]  # of several in a pixel the nearest is last
            front[met[closer]], nearest[met[closer]] = triangle[closer], distance[closer]
    colour, seen = np.ones((size * size, 3)), np.flatnonzero(front >= 0)
    shown = normals[front[seen]]
    colour[seen] = _shade(np.array(rgb), shown / np.linalg.norm(shown, axis=1, keepdims=True), rays[seen])
    return colour.reshape(size, size, 3), nearest.reshape(size, size)


def hit(solid: Solid, origins: Array, rays: Array) -> tuple[npt.NDArray[np.intp], Array, Array]:
    """Returns which rays meet a shape (k,), their distances (k,) [m] and the normals there (k, 3).

    Args:
        solid: the shape.
        origins: (3,) or (m, 3) [m].
        rays: (m, 3) or (3,) unit vectors; one of the two is a single one.
    """
    shape = solid.shape
    centre, radius = _ball_around(shape)
    toward = solid.rotation @ centre + solid.position - origins
    ahead = rays @ toward if toward.ndim == 1 else toward @ rays
    square = toward @ toward if toward.ndim == 1 else np.einsum("ij,ij->i", toward, toward)
    near = np.flatnonzero(square - ahead**2 <= radius**2)
    start = ((origins if origins.ndim == 1 else origins[near]) - solid.position) @ solid.rotation
    start = np.broadcast_to(start, (len(near), 3))
    along = np.broadcast_to((rays if rays.ndim == 1 else rays[near]) @ solid.rotation, (len(near), 3))
    with np.errstate(divide="ignore", invalid="ignore"):
        if isinstance(shape, Cuboid):
            turn = rpyToMatrix(*shape.rpy)
            distance, normal = _hit_box(np.array(shape.size) / 2, (start - shape.centre) @ turn, along @ turn)
            normal = normal @ turn.T
        else:
            a, b = (shape.centre, shape.centre) if isinstance(shape, Sphere) else (shape.a, shape.b)
            distance, normal = _hit_capsule(np.array(a), np.array(b), shape.radius, start, along)
    met = np.isfinite(distance)
    return near[met], distance[met], normal[met] @ solid.rotation.T


def _cube_around(solid: Solid) -> Array:
    """Returns the (8, 3) corners [m] of a cube that holds a shape."""
    centre, radius = _ball_around(solid.shape)
    return solid.rotation @ centre + solid.position + radius * _CORNERS


def _ball_around(shape: Body) -> tuple[Array, float]:
    if isinstance(shape, Capsule):
        a, b = np.array(shape.a), np.array(shape.b)
        return (a + b) / 2, float(np.linalg.norm(b - a)) / 2 + shape.radius
    return np.array(shape.centre), float(np.linalg.norm(shape.size)) / 2 if isinstance(shape, Cuboid) else shape.radius


def _hit_box(half: Array, start: Array, rays: Array) -> tuple[Array, Array]:
    near, far = (-np.sign(rays) * half - start) / rays, (np.sign(rays) * half - start) / rays
    enter, leave = near.max(axis=1), far.min(axis=1)
    axis = near.argmax(axis=1)
    normal = np.zeros_like(rays)
    rows = np.arange(len(rays))
    normal[rows, axis] = -np.sign(rays[rows, axis])
    return np.where((enter < leave) & (enter > 0), enter, np.inf), normal


def _hit_capsule(a: Array, b: Array, radius: float, start: Array, rays: Array) -> tuple[Array, Array]:
    axis = b - a
    square = float(axis @ axis)
    distance = np.full(len(rays), np.inf)
    if square > 0:
        offset = start - a
        ray_axis, offset_axis = rays @ axis, offset @ axis
        p = square - ray_axis**2
        q = square * (rays * offset).sum(axis=1) - offset_axis * ray_axis
        r = square * ((offset**2).sum(axis=1) - radius**2) - offset_axis**2
        t = (-q - np.sqrt(q * q - p * r)) / p
        place = offset_axis + t * ray_axis
        distance = np.where((t > 0) & (place > 0) & (place < square), t, np.inf)
    for end in (a, b):
        offset = start - end
        q = (rays * offset).sum(axis=1)
        t = -q - np.sqrt(q * q - (offset**2).sum(axis=1) + radius**2)
        distance = np.minimum(distance, np.where(t > 0, t, np.inf))
    points = start + np.where(np.isfinite(distance), distance, 0.0)[:, None] * rays
    share = np.clip((points - a) @ axis / square, 0.0, 1.0) if square > 0 else np.zeros(len(rays))
    return distance, (points - a - share[:, None] * axis) / radius


def _shade(rgb: Array, normals: Array, rays: Array) -> Array:
    normals = np.where(((normals * rays).sum(axis=1) > 0)[:, None], -normals, normals)
    light = AMBIENT + 0.12 * normals[:, 2] + (1 - AMBIENT) * np.clip(normals @ LIGHT, 0.0, 1.0)
    rim = (1 + np.clip((normals * rays).sum(axis=1), -1.0, 0.0)) ** 3
    return np.asarray(np.clip(rgb * light[:, None] * (1 - 0.35 * rim)[:, None], 0.0, 1.0))


def _grid(points: Array, normal: Array) -> Array:
    """Returns (k,) brightness of a plane: 1, darker on lines a decimetre apart."""
    flat = points[:, np.argsort(np.abs(normal))[:2]]
    line = np.abs(flat / GRID_M - np.round(flat / GRID_M)).min(axis=1) < 0.015
    return np.where(line, 0.88, 1.0)

"""Draws a robot's collision model with its surroundings: four views, the closest pair marked."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from PIL import Image, ImageDraw

from tendon.control.clearance.model import Clearance
from tendon.core.errors import ConfigError
from tendon.core.types import Array
from tendon.pictures.fonts import fitting_font
from tendon.pictures.palette import pastel_colour
from tendon.pictures.raycast import SURROUNDINGS_RGB, Camera, Pixels, Solid, render, render_triangles
from tendon.robots.collision.model import load_collisions
from tendon.robots.environment import Environment
from tendon.robots.profile import RobotProfile
from tendon.robots.shapes import Capsule, Cuboid, HalfSpace

VIEWS = (
    ("", (1.0, -1.0, 0.55)),
    ("from its right", (0.0, -1.0, 0.04)),
    ("from the front", (1.0, 0.0, 0.04)),
    ("from above", (0.0, 0.0, 1.0)),
)
"""Name, and direction from the robot to the camera."""
SIZE = 640
OVERSAMPLING = 2
LEFT = 16
FIELD_OF_VIEW = 0.5
MESH_RGB = (0.93, 0.93, 0.95)
OVERLAY = 0.5
"""Share of the shapes' colour where the robot's own surface is shown through them."""
INK, MARK = (60, 60, 60), (200, 30, 40)


def draw_robot(
    profile: RobotProfile,
    environment: Environment | None,
    position: Array,
    surface: Array | None = None,
) -> Pixels:
    """Returns (2 SIZE, 2 SIZE, 3) RGB of the robot's shapes at a joint vector (n,), a colour for each link.

    Args:
        profile: the robot.
        environment: what stands around it.
        position: (n,) joint vector.
        surface: (k, 3, 3) triangles [m] of the robot's surface in its base frame, shown through the shapes.

    Raises:
        ConfigError: the profile has no collision model.
    """
    if profile.collision_file is None:
        raise ConfigError(f"profile {profile.name} has no collisions; make them with `tendon robot collisions`")
    clearance = Clearance(profile, environment)
    poses = clearance.link_poses(position)
    solids = [
        Solid(shape=shape, position=poses[link][0], rotation=poses[link][1], rgb=pastel_colour(i))
        for i, (link, shapes) in enumerate(load_collisions(profile.collision_file).bodies.items())
        for shape in shapes
        if not isinstance(shape, HalfSpace)
    ]
    extent = np.concatenate([_outline(solid) for solid in solids])
    planes = []
    for shape in [shape for shapes in (environment.bodies if environment else {}).values() for shape in shapes]:
        if isinstance(shape, HalfSpace):
            planes.append(shape)
        else:
            solids.append(Solid(shape=shape, position=np.zeros(3), rotation=np.eye(3), rgb=SURROUNDINGS_RGB))
    triangles = surface if surface is not None else np.empty((0, 3, 3))
    extent = np.concatenate([extent, triangles.reshape(-1, 3)])
    panels = []
    for name, direction in VIEWS:
        camera = _camera(extent, np.array(direction))
        panel = _panel(camera, solids, planes, triangles)
        panel = _mark_closest(panel, camera, clearance, position, with_text=not name)
        panels.append(_written(panel, f"{profile.name} {name}", 20, INK))
    return np.concatenate([np.concatenate(panels[:2], axis=1), np.concatenate(panels[2:], axis=1)])


def save_picture(pixels: Pixels, path: Path) -> None:
    """Writes an RGB picture.

    Raises:
        ConfigError: the folder does not exist, or the name's ending is no picture's.
    """
    try:
        written = cv2.imwrite(str(path), cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR))
    except cv2.error:
        written = False
    if not written:
        raise ConfigError(f"cannot write the picture {path}: name a .png in a folder that exists")


def _outline(solid: Solid) -> Array:
    """Returns (k, 3) points [m] whose bounding box is about the shape's."""
    shape = solid.shape
    centres = (shape.a, shape.b) if isinstance(shape, Capsule) else (shape.centre,)
    radius = max(shape.size) / 2 if isinstance(shape, Cuboid) else shape.radius
    corners = radius * np.array([[-1, -1, -1], [1, 1, 1]])
    return np.concatenate([solid.rotation @ centre + solid.position + corners for centre in np.array(centres)])


def _camera(extent: Array, direction: Array) -> Camera:
    low, high = extent.min(axis=0), extent.max(axis=0)
    target = (low + high) / 2
    corners = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, -1).T
    size = SIZE * OVERSAMPLING
    distance = 1.0
    for _ in range(60):  # step back until everything is inside the picture, below the text
        camera = Camera(target=target, direction=direction, distance=distance, size=size, field_of_view=FIELD_OF_VIEW)
        pixels, depth = camera.project(corners)
        if depth.min() > 0 and pixels.min() > 0.09 * size and pixels.max() < 0.93 * size:
            break
        distance *= 1.06
    return camera


def _panel(camera: Camera, solids: list[Solid], planes: list[HalfSpace], triangles: Array) -> Pixels:
    colour, near = render(camera, solids, planes)
    if len(triangles):
        behind, depth = render_triangles(camera, triangles, MESH_RGB)
        seen = np.isfinite(depth)
        pokes_out = seen & (depth < near)
        colour[seen] = OVERLAY * colour[seen] + (1 - OVERLAY) * behind[seen]
        colour[pokes_out] = behind[pokes_out]
    pixels = (colour * 255).astype(np.uint8)
    return np.asarray(cv2.resize(pixels, (SIZE, SIZE), interpolation=cv2.INTER_AREA), dtype=np.uint8)


def _mark_closest(panel: Pixels, camera: Camera, clearance: Clearance, position: Array, with_text: bool) -> Pixels:
    bodies = sum(" - workspace " not in name for name in clearance.names)
    if not bodies:
        return panel
    distances, margins = clearance.distances(position)[:bodies], clearance.margin[:bodies]
    row = int(np.argmin(distances - margins))
    pixels, _ = camera.project(np.array(clearance.nearest(position, row)))
    first, second = [(round(float(x)), round(float(y))) for x, y in pixels / OVERSAMPLING]
    cv2.line(panel, first, second, MARK, 2, cv2.LINE_AA)
    for end in (first, second):
        cv2.circle(panel, end, 4, MARK, -1, cv2.LINE_AA)
    if not with_text:
        return panel
    gap, margin = distances[row] * 1e3, margins[row] * 1e3
    return _written(panel, f"closest: {clearance.names[row]}, {gap:.0f} mm (margin {margin:.0f} mm)", 48, MARK)


def _written(panel: Pixels, text: str, down: int, colour: tuple[int, int, int]) -> Pixels:
    picture = Image.fromarray(panel)
    size = fitting_font(text, 17, SIZE - 2 * LEFT)
    ImageDraw.Draw(picture).text((LEFT, down), text, font=size, fill=colour)
    return np.array(picture)

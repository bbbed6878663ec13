"""Makes a collision model's shapes from a URDF's collision meshes, tight around them."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

import coal
import numpy as np
import pinocchio as pin

from tendon.core.errors import ConfigError
from tendon.core.types import Array
from tendon.robots.collision.capsules import FLAT_M, fit_capsules, hull
from tendon.robots.model import build_model
from tendon.robots.packages import resolve
from tendon.robots.shapes import Capsule, Cuboid, Shape
from tendon.robots.urdf import parse_xml

BOX_SHARE = 0.7
"""A box is taken where it needs at most this share of the capsules' volume: a gripper's flat fingers."""
DECIMALS = 4
MAX_SIZE_M = 100.0
"""Of a link: one that is larger was drawn in millimetres."""
THIN_M = 1e-4
"""By which something flat is thickened to all sides."""
RING = 24
"""Corners of the polygon around a cylinder's circle: 1 % wider."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkMesh:
    """The geometry of one link: (k, 3, 3) triangles [m] in the link's frame."""

    link: str
    triangles: Array


def load_meshes(
    urdf: Path, package_folder: Path | None, kind: pin.GeometryType = pin.GeometryType.COLLISION
) -> list[LinkMesh]:
    """Returns the geometry of a URDF's links, meshes and primitive shapes alike.

    Args:
        urdf: the file.
        package_folder: what `package://` stands for; by default `tendon.robots.packages` looks for it.
        kind: collision shapes, or visual ones: what the robot looks like.

    Raises:
        ConfigError: the file or a mesh is missing, or no link has such a shape.
    """
    model, root = build_model(urdf), parse_xml(urdf)
    for link in root.findall("link"):
        for mesh in link.iterfind(f"{kind.name.lower()}//mesh"):
            mesh.set("filename", str(_find_mesh(mesh.get("filename", ""), urdf, package_folder)))
    text = ElementTree.tostring(root, encoding="unicode")
    try:
        geometry = pin.buildGeomFromUrdfString(model, text, kind)
    except (ValueError, RuntimeError) as error:
        raise ConfigError(f"{urdf}: {error}") from error
    parts: dict[str, list[Array]] = {}
    for shape in geometry.geometryObjects:
        frame = model.frames[shape.parentFrame]
        try:
            corners = _triangles(shape.geometry)  # a mesh's scale is in them already
            _check_size(corners)
        except ValueError as error:
            raise ConfigError(f"{urdf}: a {kind.name.lower()} shape of link {frame.name} {error}") from error
        pose = frame.placement.actInv(shape.placement)
        parts.setdefault(frame.name, []).append(corners @ pose.rotation.T + pose.translation)
    if not parts:
        raise ConfigError(
            f"no link of {urdf} has a {kind.name.lower()} shape; use the manufacturer's URDF, with its meshes"
        )
    return [LinkMesh(link=link, triangles=np.concatenate(found)) for link, found in parts.items()]


def _find_mesh(uri: str, urdf: Path, package_folder: Path | None) -> Path:
    try:
        return resolve(uri, urdf, package_folder).resolve()
    except ConfigError as error:
        raise ConfigError(f"{error}; --package-dir names the folder that package:// stands for") from error


def fit_shapes(mesh: LinkMesh) -> tuple[Shape, ...]:
    """Returns capsules, or one box where that is much tighter, that contain a link; numbers rounded outward."""
    capsules = fit_capsules(mesh.triangles)
    corners = mesh.triangles.reshape(-1, 3)
    low, high = corners.min(axis=0), corners.max(axis=0)
    if np.prod(high - low) <= BOX_SHARE * sum(capsule.volume for capsule in capsules):
        return (Cuboid(centre=_rounded((low + high) / 2), size=_rounded(high - low + 2 * 10**-DECIMALS)),)
    return tuple(
        Capsule(a=_rounded(c.a), b=_rounded(c.b), radius=round(c.radius + 10**-DECIMALS, DECIMALS)) for c in capsules
    )


def _triangles(shape: coal.CollisionGeometry) -> Array:
    """Returns (k, 3, 3) corners [m] of a mesh, or of a polyhedron around a primitive shape."""
    if isinstance(shape, coal.BVHModelBase):
        vertices = np.asarray(shape.vertices())
        faces = [shape.tri_indices(i) for i in range(shape.num_tris)]
        return vertices[[[face[0], face[1], face[2]] for face in faces]]
    points = _points_around(shape)
    _check_size(points)
    hull = convex(points, triangles=True)
    vertices = np.array([hull.point(i) for i in range(hull.num_points)])
    corners = [hull.polygons(i) for i in range(hull.num_polygons)]
    return np.array([[vertices[corner[k]] for k in range(3)] for corner in corners])


def _check_size(points: Array) -> None:
    """Wants points of a robot: Qhull ends the process at others.

    Raises:
        ValueError: a number is none, or too large.
    """
    if not points.size or not (np.abs(points) < MAX_SIZE_M).all():
        raise ValueError(f"is empty or larger than {MAX_SIZE_M:g} m: correct its size, or the scale of its mesh")


def _points_around(shape: coal.CollisionGeometry) -> Array:
    """Returns (k, 3) points [m] whose hull contains a box, sphere, cylinder or capsule."""
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
    if isinstance(shape, coal.Box):
        return np.asarray(signs * shape.halfSide)
    angles = np.arange(RING) * 2 * np.pi / RING
    ring = np.stack((np.cos(angles), np.sin(angles), 0 * angles), axis=1) / np.cos(np.pi / RING)
    if isinstance(shape, coal.Cylinder):
        end = np.array([0.0, 0.0, shape.halfLength])
        return np.concatenate((shape.radius * ring + end, shape.radius * ring - end))
    if isinstance(shape, coal.Sphere | coal.Capsule):
        end = np.array([0.0, 0.0, getattr(shape, "halfLength", 0.0)])
        heights = np.linspace(-1, 1, RING // 2 + 1)[:, None, None] * np.pi / 2
        ball = (ring * np.cos(heights) + np.sin(heights) * [0.0, 0.0, 1.0]).reshape(-1, 3) / np.cos(np.pi / RING)
        return np.concatenate((shape.radius * ball + end, shape.radius * ball - end))
    raise ConfigError(f"a collision shape is a {type(shape).__name__}; give the link a mesh, box, cylinder or sphere")


def convex(points: Array, triangles: bool = False) -> coal.ShapeBase:
    """Returns the convex hull of (k, 3) points [m]; what is flat is thickened."""
    corners, outer = coal.StdVec_Vec3s(), hull(points)
    if np.linalg.matrix_rank(outer - outer.mean(axis=0), tol=FLAT_M) < 3:  # Qhull ends the process at what is flat
        cube = np.array(np.meshgrid(*3 * [[-THIN_M, THIN_M]])).reshape(3, -1).T
        outer = (outer[:, None] + cube).reshape(-1, 3)
    for point in outer:
        corners.append(point)
    return coal.Convex.convexHull(corners, triangles, "Qt" if triangles else "")


def _rounded(values: Array) -> tuple[float, float, float]:
    x, y, z = (round(float(value), DECIMALS) + 0.0 for value in values)
    return x, y, z

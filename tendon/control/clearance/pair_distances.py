"""Distances of the pairs of a geometry model: in closed form where there is one (ADR 43), else by coal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter

import coal
import numpy as np
import pinocchio as pin

from tendon.control.clearance import shape_distances
from tendon.core.types import Array

TOLERANCE = 1e-10
"""Of the iterative distance of two boxes, or of a box that is deep in another shape [m]."""

_min_distance = attrgetter("min_distance")


class PairDistances:
    """Distances of pairs of shapes, as a function of the joints. One instance a thread.

    Args:
        model: the robot.
        data: of it; where its joints are is written here.
        geometry: shapes, of which each is a capsule, a sphere, a box or a half space; and pairs of them.
    """

    def __init__(self, model: pin.Model, data: pin.Data, geometry: pin.GeometryModel) -> None:
        self._model, self._data, self._all = model, data, geometry
        shapes = [_described(each.geometry) for each in geometry.geometryObjects]
        kinds = [kind for kind, _ in shapes]
        pairs = np.array([(each.first, each.second) for each in geometry.collisionPairs], dtype=np.int64).reshape(-1, 2)
        self._joints = _in_place(data)
        self._closed = shape_distances.ShapeDistances(
            [each.rotation for each in self._joints],
            [each.translation for each in self._joints],
            [each.parentJoint for each in geometry.geometryObjects],
            kinds,
            [each.placement.rotation for each in geometry.geometryObjects],
            [each.placement.translation for each in geometry.geometryObjects],
            [size for _, size in shapes],
            pairs,
        )
        self._open_at = np.flatnonzero([kinds[a] == kinds[b] == shape_distances.BOX for a, b in pairs])
        self._open = pin.GeometryModel(geometry)
        self._open.removeAllCollisionPairs()
        for k in self._open_at.tolist():
            self._open.addCollisionPair(geometry.collisionPairs[k])
        self._open_data, self._all_data = geometry_data(self._open), geometry_data(geometry)
        self._open_results = list(self._open_data.distanceResults)
        self._all_results = list(self._all_data.distanceResults)

    def at(self, q: Array) -> Array:
        """Returns (p,) distances [m] where the joints are (nq,) `q`, negative inside."""
        if self._open_results:
            pin.computeDistances(self._model, self._data, self._open, self._open_data, q)
        else:
            pin.forwardKinematics(self._model, self._data, q)
        found, known = self._closed.distances()
        if not known:
            pin.computeDistances(self._model, self._data, self._all, self._all_data, q)
            return read_distances(self._all_results)
        if self._open_results:
            found[self._open_at] = read_distances(self._open_results)
        return found

    def results(self, pairs: Iterable[int]) -> list[coal.DistanceResult]:
        """Returns what coal says of pairs, with their nearest points, where the joints were last."""
        pin.updateGeometryPlacements(self._model, self._data, self._all, self._all_data)
        found = []
        for pair in pairs:
            pin.computeDistance(self._all, self._all_data, pair)
            found.append(self._all_results[pair])
        return found


def geometry_data(geometry: pin.GeometryModel) -> pin.GeometryData:
    """Returns what distances of a geometry model are written to."""
    data = pin.GeometryData(geometry)
    for request in data.distanceRequests:
        request.gjk_tolerance = request.epa_tolerance = TOLERANCE
    return data


def _in_place(data: pin.Data) -> list[pin.SE3]:
    """Returns where the joints are, each in the memory that forward kinematics writes it to."""
    found = list(data.oMi)
    for once, again in zip(found, data.oMi, strict=True):
        for one, other in ((once.rotation, again.rotation), (once.translation, again.translation)):
            if one.ctypes.data != other.ctypes.data:
                raise RuntimeError(f"pinocchio {pin.__version__} copies what it returns: install another version")
    return found


def read_distances(results: Sequence[coal.DistanceResult]) -> Array:
    """Returns the distances [m] in coal's results."""
    return np.fromiter(map(_min_distance, results), np.float64, len(results))


def _described(shape: coal.ShapeBase) -> tuple[int, list[float]]:
    """Returns the kind and the size of a shape, as `ShapeDistances` takes them."""
    if isinstance(shape, coal.Sphere):
        return shape_distances.CAPSULE, [0.0, 0.0, 0.0, shape.radius]
    if isinstance(shape, coal.Capsule):
        return shape_distances.CAPSULE, [shape.halfLength, 0.0, 0.0, shape.radius]
    if isinstance(shape, coal.Box):
        return shape_distances.BOX, [*shape.halfSide, 0.0]
    return shape_distances.HALF_SPACE, [*shape.n, shape.d]

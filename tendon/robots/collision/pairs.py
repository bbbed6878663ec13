"""Which pairs of a robot's links can meet: by sampling, and by a search from the nearest of what was sampled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pinocchio as pin

from tendon.core.types import Array
from tendon.robots.collision.fit import LinkMesh, convex
from tendon.robots.collision.model import Pair
from tendon.robots.model import build_model, link_index
from tendon.robots.urdf import read_urdf

FAR = 3.0
STARTS = 4
"""The nearest samples of a pair, from each of which its distance is made smaller."""
STEPS = 80
FIRST_STEP = 0.1
"""Of the joints' ranges; a step that comes nearer makes the next one longer, any other is taken back and halved."""
GROWTH = 1.5
LAST_STEP = 1e-4


class PairSampler:
    """Smallest and largest distances between the convex hulls of links.

    Hulls, not capsules, decide which pairs can meet: a capsule's round ends can touch where the robot cannot.

    Args:
        urdf: the robot.
        meshes: its links.
        lower: joint -> smallest position; a joint that is missing in it stays at zero.
        upper: joint -> largest position.
    """

    def __init__(
        self, urdf: Path, meshes: Sequence[LinkMesh], lower: Mapping[str, float], upper: Mapping[str, float]
    ) -> None:
        self._model = build_model(urdf)
        self._data = self._model.createData()
        self._names, links = list(lower), [mesh.link for mesh in meshes]
        self._columns = [self._model.joints[self._model.getJointId(name)].idx_q for name in lower]
        self._lower, self._upper = np.array(list(lower.values())), np.array([upper[name] for name in lower])
        self._mimics = [
            (self._model.joints[self._model.getJointId(mimic.joint)].idx_q, self._names.index(mimic.leader), mimic)
            for mimic in read_urdf(urdf).mimics
            if mimic.leader in self._names
        ]
        self._geometry = pin.GeometryModel()
        for mesh in meshes:
            frame = self._model.frames[link_index(self._model, mesh.link)]
            shape = convex(mesh.triangles)
            self._geometry.addGeometryObject(pin.GeometryObject(mesh.link, frame.parentJoint, frame.placement, shape))
        self.pairs = []
        for i, a in enumerate(links):
            for j in range(i + 1, len(links)):
                shapes = self._geometry.geometryObjects
                if shapes[i].parentJoint != shapes[j].parentJoint:
                    self._geometry.addCollisionPair(pin.CollisionPair(i, j))
                    self.pairs.append(frozenset((a, links[j])))
        self._geometry_data = pin.GeometryData(self._geometry)
        self.smallest: Array = np.full(len(self.pairs), np.inf)
        self.largest: Array = np.full(len(self.pairs), -np.inf)
        self._nearest: Array = np.full((len(self.pairs), STARTS), np.inf)
        self._starts: Array = np.zeros((len(self.pairs), STARTS, len(self._names)))

    def sample(self, count: int) -> Iterator[None]:
        """Looks at `count` configurations, uniform inside the limits; yields after each."""
        rng = np.random.default_rng(0)
        for _ in range(count):
            values = rng.uniform(self._lower, self._upper)
            distances = np.array(self._distances(values))
            self.smallest = np.minimum(self.smallest, distances)
            self.largest = np.maximum(self.largest, distances)
            worst = self._nearest.argmax(axis=1)
            (nearer,) = np.nonzero(distances < self._nearest[np.arange(len(self.pairs)), worst])
            self._nearest[nearer, worst[nearer]] = distances[nearer]
            self._starts[nearer, worst[nearer]] = values
            yield

    def search(self) -> Iterator[None]:
        """Looks for configurations in which pairs that were sampled apart meet after all; yields after each pair.

        From each of its nearest samples a pair's distance goes down its gradient, which is that of the two nearest
        points, inside the limits. What does not meet in the end was not found to: that is no proof.
        """
        for k in range(len(self.pairs)):
            for start in self._starts[k][np.argsort(self._nearest[k])]:
                if self.smallest[k] > 0:
                    self.smallest[k] = min(self.smallest[k], self._descend(k, start))
            yield

    def _descend(self, pair: int, values: Array) -> float:
        """Returns the distance at the end of the way down from joint positions; it stops where the hulls meet."""
        span, step = self._upper - self._lower, FIRST_STEP
        distance, slope = self._slope(pair, values)
        for _ in range(STEPS):
            way = -slope * span
            way[((values <= self._lower) & (way < 0)) | ((values >= self._upper) & (way > 0))] = 0.0
            length = float(np.linalg.norm(way))
            if distance <= 0 or length == 0 or step < LAST_STEP:
                break
            tried = np.clip(values + step * span * way / length, self._lower, self._upper)
            there, slope_there = self._slope(pair, tried)
            if there < distance:
                values, distance, slope, step = tried, there, slope_there, GROWTH * step
            else:
                step /= 2
        return distance

    def _slope(self, pair: int, values: Array) -> tuple[float, Array]:
        """Returns the distance of a pair, and its (n,) gradient where the hulls are apart."""
        pin.computeJointJacobians(self._model, self._data, self._configuration(values))
        pin.updateGeometryPlacements(self._model, self._data, self._geometry, self._geometry_data)
        found = pin.computeDistance(self._geometry, self._geometry_data, pair)
        ends = self._geometry.collisionPairs[pair]
        a, b = found.getNearestPoint1(), found.getNearestPoint2()
        apart = (b - a) / max(float(np.linalg.norm(b - a)), 1e-12)
        moves = apart @ (self._motion(ends.second, b) - self._motion(ends.first, a))
        slope = moves[self._columns]
        for column, leader, mimic in self._mimics:
            slope[leader] += mimic.multiplier * moves[column]
        return float(found.min_distance), slope

    def _motion(self, shape: int, point: Array) -> Array:
        """Returns (3, nv): how a point of a link moves with each joint of the model."""
        joint = self._geometry.geometryObjects[shape].parentJoint
        turns = pin.getJointJacobian(self._model, self._data, joint, pin.LOCAL_WORLD_ALIGNED)
        arm = point - self._data.oMi[joint].translation
        return np.asarray(turns[:3] + np.cross(turns[3:], arm, axisa=0, axisc=0))

    def overlapping_at(self, home: Mapping[str, float]) -> set[Pair]:
        """Returns the pairs whose hulls overlap at joint positions that are known to be free of collision."""
        distances = self._distances(np.array([home[name] for name in self._names]))
        return {pair for pair, distance in zip(self.pairs, distances, strict=True) if distance <= 0}

    def _configuration(self, values: Array) -> Array:
        q = pin.neutral(self._model)
        q[self._columns] = values
        for column, leader, mimic in self._mimics:
            q[column] = mimic.multiplier * values[leader] + mimic.offset
        return np.asarray(q)

    def _distances(self, values: Array) -> list[float]:
        q = self._configuration(values)
        pin.computeDistances(self._model, self._data, self._geometry, self._geometry_data, q)
        return [result.min_distance for result in self._geometry_data.distanceResults]

    def allowed(self, margin: float, overlapping: set[Pair]) -> dict[Pair, str]:
        """Returns the pairs that need no check, with the reason.

        Args:
            margin: "never" is a pair that was not seen nearer than twice this [m].
            overlapping: "always" are these, whose hulls say nothing, and pairs that were never `FAR` margins apart,
                like two links of a wrist with a short one between them: shapes cannot tell there.
        """
        allowed = {}
        neighbours = self._neighbours()
        for pair, least, most in zip(self.pairs, self.smallest, self.largest, strict=True):
            if pair in neighbours:
                allowed[pair] = "adjacent"
            elif pair in overlapping or most < FAR * margin:
                allowed[pair] = "always"
            elif least > 2 * margin:
                allowed[pair] = "never"
        return allowed

    def _neighbours(self) -> set[Pair]:
        """Returns pairs that one joint connects, links without a shape skipped, and a gripper's mirrored fingers."""
        joints = {shape.name: int(shape.parentJoint) for shape in self._geometry.geometryObjects}
        carried = set(joints.values())
        pairs = set()
        for a, joint in joints.items():
            parent = int(self._model.parents[joint]) if joint else 0
            while parent and parent not in carried:
                parent = int(self._model.parents[parent])
            pairs |= {frozenset((a, b)) for b, other in joints.items() if joint and other == parent}
        for column, leader, _ in self._mimics:
            mirrored = {self._columns[leader], column}
            pairs |= {
                frozenset((a, b))
                for a, i in joints.items()
                for b, j in joints.items()
                if {int(self._model.joints[i].idx_q), int(self._model.joints[j].idx_q)} == mirrored
            }
        return pairs

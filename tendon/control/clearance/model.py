"""Smallest distances of a robot: between its own bodies, to its surroundings, and of its tool to the workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import coal
import numpy as np
import pinocchio as pin

from tendon.control.clearance import covering
from tendon.control.clearance.pair_distances import PairDistances, geometry_data, read_distances
from tendon.control.clearance.reach import Axis, Ball, lever_arms
from tendon.core.errors import ConfigError
from tendon.core.types import Array
from tendon.robots.collision.model import CollisionModel, load_collisions
from tendon.robots.environment import Environment
from tendon.robots.model import link_index, load_model
from tendon.robots.profile import RobotProfile
from tendon.robots.shapes import Capsule, Cuboid, HalfSpace, Shape, Sphere

TOOL = "tool"
EMPTY = CollisionModel(bodies={}, allowed={}, margin=0.0, margins={})
LEAST_M = 0.0005
"""Change of a distance that is looked at."""
ON_AXIS = 1e-12
"""A shorter lever arm [m] is a rounding error."""


class Clearance:
    """Distances a robot must keep, as a function of its joint vector. One instance a thread (it holds scratch memory).

    A pair of links, or a link and a body of the environment, is one constraint, however many shapes they have. Pairs
    that no joint of the profile moves are left out. Joints of the URDF that the profile does not name stay at zero;
    one that mimics a joint of the profile follows it.

    Args:
        profile: the robot; without a collision model only the tool's workspace is watched.
        environment: what stands around it.

    Raises:
        ConfigError: the collision model or the URDF is wrong, or a name is both a link's and the environment's.

    Attributes:
        names: (m,) of the constraints.
        margin: (m,) smallest allowed distance [m], read-only.
        reach: (m, n) bound over all configurations, read-only: |change of distance k| <= sum_i reach[k, i] |dq_i|.
        smooth: (m,) whether a distance is a smooth function of the joints: that of a point to a plane.
        body_names: (b,) links that the profile's joints move, for `distances_to`.
        body_reach: (b, n) the same bound for them.
    """

    def __init__(self, profile: RobotProfile, environment: Environment | None = None) -> None:
        robot = load_model(profile)
        self._model, self._home, self._spread = robot.model, robot.offset, robot.spread
        self._data = self._model.createData()
        file = profile.collision_file
        collisions = load_collisions(file) if file is not None else EMPTY
        surroundings = environment.bodies if environment is not None else {}
        _check_links(self._model, profile, collisions, surroundings)
        self._joints = {
            name: int(self._model.frames[link_index(self._model, name)].parentJoint) for name in collisions.bodies
        }
        self._tool = link_index(self._model, profile.tool_frame)
        self._workspace = np.array([profile.workspace.lower, profile.workspace.upper], dtype=np.float64)
        self._travel = np.abs(self._spread) @ np.maximum(abs(profile.vector("lower")), abs(profile.vector("upper")))
        pin.computeJointJacobians(self._model, self._data, self._home)
        pin.updateFramePlacements(self._model, self._data)
        self._axes = {joint: self._axis(joint) for joint in range(1, self._model.njoints)}
        self._build_pairs(collisions, surroundings)
        self._build_bodies(collisions)
        for array in (self.margin, self.reach, self.body_reach):
            array.setflags(write=False)

    def _build_pairs(self, collisions: CollisionModel, surroundings: Mapping[str, tuple[Shape, ...]]) -> None:
        self._geometry = pin.GeometryModel()
        bodies = {**collisions.bodies, **surroundings}
        shapes = {name: [self._add(self._geometry, name, body) for body in bodies[name]] for name in bodies}
        links, names, starts, margins, reaches = list(collisions.bodies), [], [], [], []
        pairs = [(a, b) for i, a in enumerate(links) for b in links[i + 1 :]]
        pairs += [(link, name) for link in links for name in surroundings]
        signs: list[Array] = []
        for a, b in pairs:
            path = self._path(self._joints.get(a, 0), self._joints.get(b, 0))
            if frozenset((a, b)) in collisions.allowed or not path:
                continue
            names.append(f"{a} - {b}")
            starts.append(len(signs))
            margins.append(collisions.margin_of(a, b))
            reach = self._body_arms(a, bodies[a], path)
            if b in collisions.bodies:  # turning one body is turning the other the other way: the smaller bound holds
                reach = np.minimum(reach, self._body_arms(b, bodies[b], path[::-1]))
            reaches.append(reach)
            for first in shapes[a]:
                for second in shapes[b]:
                    self._geometry.addCollisionPair(pin.CollisionPair(first, second))
                    signs.append(self._sign(self._joints.get(a, 0), self._joints.get(b, 0)))
        tool_joint = self._model.frames[self._tool].parentJoint
        tool_reach = self._arms([(self._data.oMf[self._tool].translation.copy(), 0.0)], self._path(tool_joint, 0))
        names += [f"{TOOL} - workspace {axis} {side}" for side in ("lower", "upper") for axis in "xyz"]
        self._tool_sign = self._sign(0, tool_joint)
        self._shapes_of, self._signs = np.array([*starts, len(signs)], dtype=np.int64), signs
        self._pairs = PairDistances(self._model, self._data, self._geometry)
        self.names: tuple[str, ...] = tuple(names)
        self.margin: Array = np.array([*margins, *[0.0] * 6])
        self.smooth = np.array([False] * len(margins) + [True] * 6)
        self.reach: Array = np.array([*reaches, *[tool_reach] * 6])

    def _build_bodies(self, collisions: CollisionModel) -> None:
        self._near = pin.GeometryModel()
        self._ball = coal.Sphere(1.0)
        ball = self._near.addGeometryObject(pin.GeometryObject("ball", 0, pin.SE3.Identity(), self._ball))
        names, starts, reaches = [], [], []
        for link, bodies in collisions.bodies.items():
            path = self._path(self._joints[link], 0)
            if not path:
                continue
            names.append(link)
            starts.append(len(self._near.collisionPairs))
            reaches.append(self._body_arms(link, bodies, path))
            for body in bodies:
                self._near.addCollisionPair(pin.CollisionPair(self._add(self._near, link, body), ball))
        self._near_starts = np.array(starts, dtype=int)
        self._near_data = geometry_data(self._near)
        self._near_results = list(self._near_data.distanceResults)
        self.body_names: tuple[str, ...] = tuple(names)
        self.body_reach: Array = np.array(reaches).reshape(len(names), self._spread.shape[1])

    def distances(self, q: Array) -> Array:
        """Returns the (m,) distances [m] at a joint vector (n,), negative inside."""
        return self._collect(self._home + self._spread @ q)[0]

    def matters(self, away: Array | None) -> bool:
        """Returns whether a robot that is (n,) `away` from a joint vector can have other distances than one there."""
        return away is not None and not float((self.reach @ np.abs(away)).max(initial=0.0)) < LEAST_M

    def _collect(self, q: Array) -> tuple[Array, Array]:
        """Returns the (m,) distances and those of the pairs of shapes."""
        shapes = self._pairs.at(q)
        tool = pin.updateFramePlacement(self._model, self._data, self._tool).translation
        return covering.clearances(shapes, self._shapes_of, tool, *self._workspace), shapes

    def gradients(self, q: Array, rows: Sequence[int]) -> Array:
        """Returns (len(rows), n), the derivatives of some distances by the joint vector.

        Where two shapes are at the same smallest distance it is the derivative of one of them.
        """
        full = self._home + self._spread @ q
        _, shapes = self._collect(full)
        jacobian = pin.computeJointJacobians(self._model, self._data, full).reshape(6, -1)
        normals, points = np.zeros((len(rows), 3)), np.empty((len(rows), 3))
        signs = np.empty((len(rows), self._model.nv))
        pairs = len(self._shapes_of) - 1
        nearest = {k: self._nearest(shapes, row) for k, row in enumerate(rows) if row < pairs}
        for (k, pair), result in zip(nearest.items(), self._pairs.results(nearest.values()), strict=True):
            normals[k], points[k], signs[k] = result.normal, result.getNearestPoint1(), self._signs[pair]
        for k, row in enumerate(rows):
            if row >= pairs:
                side, axis = divmod(row - pairs, 3)
                normals[k, axis] = -1.0 if side else 1.0
                points[k], signs[k] = self._data.oMf[self._tool].translation, self._tool_sign
        # Moving joint i moves a point p by (linear_i + angular_i x p); along the normal that is a wrench's power. Both
        # nearest points are on one line along the normal, so they have one moment, and shared joints cancel.
        moments = points[:, [1, 2, 0]] * normals[:, [2, 0, 1]] - points[:, [2, 0, 1]] * normals[:, [1, 2, 0]]
        return np.asarray((np.concatenate((normals, moments), axis=1) @ jacobian * signs) @ self._spread)

    def nearest(self, q: Array, row: int) -> tuple[Array, Array]:
        """Returns the nearest points (3,) [m, base frame] of the two bodies of a constraint, for a picture.

        Raises:
            ConfigError: the constraint is one of the tool's.
        """
        if row >= len(self._shapes_of) - 1:
            raise ConfigError(f"constraint {self.names[row]} has no nearest points: it is not between two bodies")
        _, shapes = self._collect(self._home + self._spread @ q)
        (result,) = self._pairs.results([self._nearest(shapes, row)])
        return result.getNearestPoint1(), result.getNearestPoint2()

    def _nearest(self, shapes: Array, row: int) -> int:
        """Returns which pair of shapes a constraint between two bodies is decided by."""
        first, end = self._shapes_of[row : row + 2]
        return int(first) + int(shapes[first:end].argmin())

    def link_poses(self, q: Array) -> dict[str, tuple[Array, Array]]:
        """Returns the position (3,) [m] and rotation (3, 3) of each link with a shape, for a picture."""
        pin.framesForwardKinematics(self._model, self._data, self._home + self._spread @ q)
        poses = {link: self._data.oMf[link_index(self._model, link)] for link in self._joints}
        return {link: (pose.translation.copy(), pose.rotation.copy()) for link, pose in poses.items()}

    def distances_to(self, q: Array, centre: Array, radius: float) -> Array:
        """Returns the (b,) distances [m] from each moving link to a sphere, negative inside.

        Args:
            q: (n,) joint vector.
            centre: (3,) [m] in the base frame.
            radius: [m].
        """
        self._near.geometryObjects[0].placement = pin.SE3(np.eye(3), np.asarray(centre, dtype=np.float64))
        self._ball.radius = radius
        pin.computeDistances(self._model, self._data, self._near, self._near_data, self._home + self._spread @ q)
        shapes = read_distances(self._near_results)
        return np.minimum.reduceat(shapes, self._near_starts) if len(shapes) else shapes

    def _add(self, geometry: pin.GeometryModel, name: str, body: Shape) -> int:
        shape, placement = _coal_shape(body)
        joint = self._joints.get(name, 0)
        if name in self._joints:
            placement = self._model.frames[link_index(self._model, name)].placement * placement
        unique = f"{name} {len(geometry.geometryObjects)}"
        return int(geometry.addGeometryObject(pin.GeometryObject(unique, joint, placement, shape)))

    def _sign(self, a: int, b: int) -> Array:
        """Returns (nv,): 1 for a joint that moves only the body on joint `b`, -1 for only that on `a`."""
        sign = np.zeros(self._model.nv)
        for joint, value in ((a, -1.0), (b, 1.0)):
            for moving in list(self._model.supports[joint])[1:]:
                sign[self._model.joints[moving].idx_v] += value
        return sign

    def _path(self, a: int, b: int) -> list[int]:
        """Returns the moving joints between two bodies, from the one on joint `a` to the one on joint `b`."""
        one, other = list(self._model.supports[a]), list(self._model.supports[b])
        shared = sum(x == y for x, y in zip(one, other, strict=False))  # at least 1, the universe
        path = one[: shared - 1 : -1] + other[shared:]
        return [joint for joint in path if self._spread[self._model.joints[joint].idx_v].any()]

    def _body_arms(self, link: str, bodies: Sequence[Shape], path: Sequence[int]) -> Array:
        """Returns (n,) lever arms of all of a link's shapes; `path` begins at the link."""
        pose = self._data.oMf[link_index(self._model, link)]
        balls = [(pose.act(np.array(centre)), radius) for body in bodies for centre, radius in _hull(body)]
        return self._arms(balls, path)

    def _arms(self, balls: Sequence[Ball], path: Sequence[int]) -> Array:
        reach = np.zeros(self._model.nv)
        for joint, arm in zip(path, lever_arms(balls, [self._axes[joint] for joint in path]), strict=True):
            reach[self._model.joints[joint].idx_v] = arm if arm > ON_AXIS else 0.0
        return np.asarray(reach @ np.abs(self._spread))

    def _axis(self, joint: int) -> Axis:
        column = self._model.joints[joint].idx_v
        linear, angular = np.split(self._data.J.reshape(6, -1)[:, column].copy(), 2)
        point = self._data.oMi[joint].translation.copy()
        if angular.any():
            return Axis(point=point, direction=angular, travel=None)
        return Axis(point=point, direction=linear, travel=float(self._travel[column]))


def _check_links(
    model: pin.Model, profile: RobotProfile, collisions: CollisionModel, surroundings: Mapping[str, object]
) -> None:
    links = [frame.name for frame in model.frames if frame.type == pin.FrameType.BODY]
    for name in collisions.bodies:
        if name not in links:
            raise ConfigError(f"{profile.collisions} gives shapes to link {name}, which {profile.urdf} does not have")
    for name in surroundings:
        if name in links or name == TOOL:
            raise ConfigError(f"the environment names a body {name}, which is a link of {profile.name}: rename it")


def _coal_shape(body: Shape) -> tuple[coal.ShapeBase, pin.SE3]:
    """Returns coal's shape and its pose in the frame that `body` is given in."""
    if isinstance(body, Sphere):
        return coal.Sphere(body.radius), pin.SE3(np.eye(3), np.array(body.centre))
    if isinstance(body, Cuboid):
        return coal.Box(*body.size), pin.SE3(pin.rpy.rpyToMatrix(*body.rpy), np.array(body.centre))
    if isinstance(body, HalfSpace):
        return coal.Halfspace(np.array(body.normal), body.offset), pin.SE3.Identity()
    a, b = np.array(body.a), np.array(body.b)
    length = float(np.linalg.norm(b - a))
    turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), b - a).matrix() if length else np.eye(3)
    return coal.Capsule(body.radius, length), pin.SE3(turn, (a + b) / 2)


def _hull(body: Shape) -> list[tuple[Array, float]]:
    """Returns balls (centre, radius) whose convex hull is the shape."""
    if isinstance(body, Sphere):
        return [(np.array(body.centre), body.radius)]
    if isinstance(body, Capsule):
        return [(np.array(body.a), body.radius), (np.array(body.b), body.radius)]
    if isinstance(body, Cuboid):
        turn, half = pin.rpy.rpyToMatrix(*body.rpy), np.array(body.size) / 2
        corners = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T * half
        return [(turn @ corner + body.centre, 0.0) for corner in corners]
    raise ConfigError(f"{body} has no hull: only an environment may have a half space")

"""Distances in closed form are those of coal, of any two shapes anywhere, and of every robot in any configuration."""

from __future__ import annotations

from typing import Any

import coal
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.control.clearance.model import Clearance
from tendon.control.clearance.pair_distances import PairDistances, geometry_data, read_distances
from tendon.control.clearance.shape_distances import ShapeDistances
from tendon.robots.environment import load_environment
from tendon.robots.profile import load_profile
from tests import ROOT
from tests.laws import law_settings

CLOSE_M = 1e-9
"""What coal's iterations leave of a distance to a box."""
PARALLEL_M = 1e-6
"""What coal finds too much between nearly parallel capsules that meet: two of length 1 that turn 1e-7 rad, 5e-8."""
ROBOTS = sorted(each.parent.name for each in (ROOT / "robots").glob("*/profile.yaml"))

lengths = st.floats(0.005, 1.0)
places = st.tuples(*[st.floats(-1.0, 1.0)] * 3)
turns = st.tuples(*[st.sampled_from([0.0, np.pi / 2, np.pi, 1e-9, 1e-7, 1e-4]) | st.floats(-np.pi, np.pi)] * 3)
capsules = st.builds(coal.Capsule, lengths, lengths) | st.builds(coal.Sphere, lengths)
boxes = st.builds(coal.Box, lengths, lengths, lengths)
spaces = st.builds(lambda a, d: coal.Halfspace(np.array([np.sin(a), 0.0, np.cos(a)]), d), st.floats(-4, 4), lengths)
posed = st.tuples(places, turns).map(lambda at: pin.SE3(pin.rpy.rpyToMatrix(*at[1]), np.array(at[0])))


def pair_of(first: Any, one: pin.SE3, second: Any, other: pin.SE3) -> tuple[pin.Model, PairDistances]:
    """Returns two shapes that stand still."""
    model, geometry = pin.Model(), pin.GeometryModel()
    for name, shape, place in (("first", first, one), ("second", second, other)):
        geometry.addGeometryObject(pin.GeometryObject(name, 0, place, shape))
    geometry.addCollisionPair(pin.CollisionPair(0, 1))
    return model, PairDistances(model, model.createData(), geometry)


def by_coal(first: Any, one: pin.SE3, second: Any, other: pin.SE3) -> float:
    """Returns the distance as coal itself has it."""
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.gjk_tolerance = request.epa_tolerance = 1e-10
    at = [coal.Transform3s(place.rotation, place.translation) for place in (one, other)]
    return float(coal.distance(first, at[0], second, at[1], request, result))


def nearest_points(first: Any, one: pin.SE3, second: Any, other: pin.SE3) -> float:
    """Returns an upper bound on the distance of two capsules, or of a capsule and a box, by looking at many points."""
    share = np.linspace(-1.0, 1.0, 2001)[:, None]
    ends = one.translation + share * getattr(first, "halfLength", 0.0) * one.rotation[:, 2]
    if isinstance(second, coal.Box):
        out = np.abs((ends - other.translation) @ other.rotation) - second.halfSide.T
        return float(np.sqrt((np.maximum(out, 0.0) ** 2).sum(1).min())) - first.radius
    axis = getattr(second, "halfLength", 0.0) * other.rotation[:, 2]
    along = (ends - other.translation) @ axis / max(float(axis @ axis), 1e-30)
    gaps = ends - other.translation - np.clip(along, -1.0, 1.0)[:, None] * axis
    return float(np.sqrt((gaps**2).sum(1).min())) - first.radius - second.radius


@law_settings(400)
@given(first=capsules, one=posed, second=capsules | boxes | spaces, other=posed)
def test_any_two_shapes_are_as_far_apart_as_coal_says(first: Any, one: pin.SE3, second: Any, other: pin.SE3) -> None:
    model, pairs = pair_of(first, one, second, other)
    (found,) = pairs.at(np.zeros(model.nq))
    known = by_coal(first, one, second, other)
    assert known - PARALLEL_M <= found <= known + CLOSE_M


@law_settings(200)
@given(first=boxes, one=posed, second=boxes | spaces, other=posed)
def test_boxes_too(first: Any, one: pin.SE3, second: Any, other: pin.SE3) -> None:
    for shapes in ((first, one, second, other), (second, other, first, one)):
        model, pairs = pair_of(*shapes)
        assert pairs.at(np.zeros(model.nq)) == pytest.approx([by_coal(*shapes)], abs=CLOSE_M)


@law_settings(200)
@given(first=capsules, one=posed, second=capsules | boxes, other=posed)
def test_no_two_points_are_nearer(first: Any, one: pin.SE3, second: Any, other: pin.SE3) -> None:
    """Nobody's closed form is needed for this: points along the capsule's middle line are looked at."""
    model, pairs = pair_of(first, one, second, other)
    (found,) = pairs.at(np.zeros(model.nq))
    assert found <= nearest_points(first, one, second, other) + CLOSE_M


@pytest.mark.parametrize("turn", [0.0, 1e-12, 1e-9, 1e-7, 1e-5, 9e-4, 1.1e-3, 0.1])
@pytest.mark.parametrize("along", [0.0, 0.3, 0.999, 1.0, 1.5])
def test_nearly_parallel_capsules(turn: float, along: float) -> None:
    """Where the lines of two such capsules are nearest is hardly known; how near the capsules are is."""
    first, second = coal.Capsule(0.05, 1.0), coal.Capsule(0.04, 0.8)
    one, other = pin.SE3.Identity(), pin.SE3(pin.rpy.rpyToMatrix(turn, 0.0, 0.0), np.array([0.2, 0.0, along]))
    model, pairs = pair_of(first, one, second, other)
    (found,) = pairs.at(np.zeros(model.nq))
    assert found == pytest.approx(nearest_points(first, one, second, other), abs=1e-6)
    assert found == pytest.approx(by_coal(first, one, second, other), abs=CLOSE_M)


@pytest.mark.parametrize("length", [0.0, 0.1])
@pytest.mark.parametrize("place", [(0.1, 0.0, 0.0), (0.1, 0.1, 0.0), (0.1, 0.1, 0.1), (0.1, 0.0, 0.03)])
def test_a_middle_line_that_touches_a_box(length: float, place: tuple[float, float, float]) -> None:
    """On a side, an edge or a corner: coal says -1.8e308 of a capsule without length."""
    capsule, box = coal.Capsule(0.05, length), coal.Box(0.2, 0.2, 0.2)
    model, pairs = pair_of(capsule, pin.SE3(np.eye(3), np.array(place)), box, pin.SE3.Identity())
    assert pairs.at(np.zeros(model.nq)) == pytest.approx([-0.05], abs=1e-12)


@pytest.mark.parametrize("robot", ROBOTS)
def test_every_robot_anywhere(robot: str) -> None:
    profile = load_profile(robot)
    clearance = Clearance(profile, load_environment("tabletop"))
    pairs, model = clearance._pairs, clearance._model
    data, wanted = model.createData(), geometry_data(clearance._geometry)
    rng, lower, upper = np.random.default_rng(0), profile.vector("lower"), profile.vector("upper")
    for _ in range(200):
        q = clearance._home + clearance._spread @ rng.uniform(lower, upper)
        pin.computeDistances(model, data, clearance._geometry, wanted, q)
        known = read_distances(wanted.distanceResults)
        np.testing.assert_allclose(pairs.at(q), known, rtol=0, atol=CLOSE_M)
        rows = rng.choice(len(known), 3)
        for result, row in zip(pairs.results(rows.tolist()), rows, strict=True):
            assert result.min_distance == pytest.approx(known[row], abs=CLOSE_M)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rotations": [np.eye(3)]}, "a rotation is no"),
        ({"rotations": [np.asfortranarray(np.eye(4))]}, "a rotation is no"),
        ({"translations": [np.zeros(2)]}, "a translation is no"),
        ({"translations": [np.zeros(6)[::2]]}, "a translation is no"),
        ({"translations": [np.zeros(3), np.zeros(3)]}, "zip"),
        ({"joints": [0, 1]}, "a joint that there is not"),
        ({"joints": [0, -1]}, "a joint that there is not"),
        ({"pairs": np.array([[0, 2]])}, "a shape that there is not"),
        ({"pairs": np.array([[-1, 0]])}, "a shape that there is not"),
        ({"sizes": [[0.0] * 4]}, "not as many"),
        ({"kinds": [0]}, "not as many"),
        ({"turns": [np.eye(3)]}, "not as many"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, Any], words: str) -> None:
    """It would be memory of something else."""
    told: dict[str, Any] = {
        "rotations": [np.asfortranarray(np.eye(3))],
        "translations": [np.zeros(3)],
        "joints": [0, 0],
        "kinds": [0, 1],
        "turns": [np.eye(3)] * 2,
        "places": [np.zeros(3)] * 2,
        "sizes": [[0.0, 0.0, 0.0, 0.1], [0.1, 0.1, 0.1, 0.0]],
        "pairs": np.array([[0, 1]]),
    }
    assert len(ShapeDistances(**told).distances()[0]) == 1
    with pytest.raises(ValueError, match=words):
        ShapeDistances(**{**told, **changes})


def test_a_joint_that_is_no_number_has_no_distance() -> None:
    clearance = Clearance(load_profile("panda"))
    found = clearance.distances(np.full(8, np.nan))
    assert not (found >= clearance.margin).any(), "it counts as below every margin"

"""Clearance: its distances are true, its reach is a bound, its gradients are derivatives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.control.clearance.model import Clearance
from tendon.core.errors import ConfigError
from tendon.robots.collision.model import load_collisions
from tendon.robots.environment import Environment, load_environment
from tendon.robots.profile import RobotProfile, load_profile
from tendon.robots.shapes import Capsule, Cuboid, Sphere
from tests.laws import law_settings

ROBOTS = ("panda", "fr3", "ur5e", "ur10e", "xarm7", "so101", "g1_arms", "talos_upper")
ON_A_TABLE = ("panda", "fr3", "ur5e", "ur10e", "xarm7", "so101")
ROUNDED = Environment(
    name="rounded",
    bodies={
        "ball": (Sphere(centre=(0.4, 0.2, 0.3), radius=0.1),),
        "post": (Capsule(a=(0.3, -0.4, 0.0), b=(0.3, -0.4, 0.6), radius=0.03),),
        "crate": (Cuboid(centre=(-0.4, 0.3, 0.2), size=(0.3, 0.2, 0.4), rpy=(0.0, 0.0, 0.4)),),
    },
)


@dataclass(frozen=True)
class Case:
    """A robot with its clearance."""

    profile: RobotProfile
    clearance: Clearance


@pytest.fixture(scope="module", params=ROBOTS)
def case(request: pytest.FixtureRequest) -> Case:
    profile = load_profile(request.param)
    environment = load_environment("tabletop") if request.param in ON_A_TABLE else None
    return Case(profile, Clearance(profile, environment))


def _limits(robot: str) -> tuple[np.ndarray, np.ndarray]:
    profile = load_profile(robot)
    return profile.vector("lower"), profile.vector("upper")


@pytest.fixture(scope="module")
def panda() -> Clearance:
    return Clearance(load_profile("panda"), load_environment("tabletop"))


class TestReach:
    """No motion changes a distance by more than reach times the joints' motion."""

    @pytest.mark.parametrize("surroundings", [load_environment("tabletop"), ROUNDED], ids=["tabletop", "rounded"])
    @pytest.mark.parametrize("robot", ROBOTS)
    def test_bounds_every_change_of_distance(self, robot: str, surroundings: Environment) -> None:
        """For random configurations and motions of any size, inside the limits."""
        clearance = Clearance(load_profile(robot), surroundings)
        lower, upper = _limits(robot)

        @law_settings(max_examples=300)
        @given(seed=st.integers(0, 2**32 - 1), exponent=st.floats(-5.0, 0.5))
        def law(seed: int, exponent: float) -> None:
            rng = np.random.default_rng(seed)
            start = rng.uniform(lower, upper)
            end = np.clip(start + rng.normal(size=len(start)) * 10**exponent, lower, upper)
            change = np.abs(clearance.distances(end) - clearance.distances(start))
            assert (change <= clearance.reach @ np.abs(end - start) + 1e-9).all()
            centre, radius = rng.uniform(-1, 1, 3), rng.uniform(0.01, 0.3)
            near = clearance.distances_to(end, centre, radius) - clearance.distances_to(start, centre, radius)
            assert (np.abs(near) <= clearance.body_reach @ np.abs(end - start) + 1e-9).all()

        law()

    def test_is_not_far_above_what_happens(self, panda: Clearance) -> None:
        """The largest gradient found at random is at least half of the bound for the joints near a body."""
        lower, upper = _limits("panda")
        rng = np.random.default_rng(0)
        rows = range(len(panda.names))
        largest = np.max([np.abs(panda.gradients(rng.uniform(lower, upper), rows)) for _ in range(300)], axis=0)
        share = largest[panda.reach > 0] / panda.reach[panda.reach > 0]
        assert share.max() <= 1.0 + 1e-6
        assert np.median(share) > 0.5

    def test_leaves_out_joints_that_do_not_change_the_distance(self, panda: Clearance) -> None:
        row = panda.names.index("panda_link2 - panda_link6")
        assert (panda.reach[row] > 0).tolist() == [False, False, True, True, True, True, False, False]

    def test_of_the_tool_has_no_finger(self, panda: Clearance) -> None:
        row = panda.names.index("tool - workspace z lower")
        assert panda.reach[row, -1] == 0.0 and panda.margin[row] == 0.0


class TestGradients:
    def test_equal_finite_differences(self, case: Case) -> None:
        clearance, n = case.clearance, case.clearance.reach.shape[1]
        lower, upper = case.profile.vector("lower"), case.profile.vector("upper")
        rng = np.random.default_rng(1)
        step = 1e-6 * np.eye(n)
        wrong = 0
        for _ in range(20):
            q = rng.uniform(lower, upper)
            numeric = np.array([(clearance.distances(q + s) - clearance.distances(q - s)) / 2e-6 for s in step]).T
            exact = clearance.gradients(q, range(len(clearance.names)))
            wrong += int((np.abs(numeric - exact).max(axis=1) > 1e-4).sum())
        assert wrong <= 2  # a finite difference across the edge between two nearest features is not the derivative

    def test_come_in_the_order_that_is_asked_for(self, panda: Clearance) -> None:
        q = load_profile("panda").vector("home")
        every = panda.gradients(q, range(len(panda.names)))
        rows = [len(panda.names) - 1, 3, 0]
        np.testing.assert_allclose(panda.gradients(q, rows), every[rows])


class TestDistances:
    def test_to_the_table_is_the_height_of_the_lowest_point(self, panda: Clearance) -> None:
        """The fingertips are 9 mm below the tool's centre when it points down, as at home."""
        profile = load_profile("panda")
        q = profile.vector("home")
        distances = dict(zip(panda.names, panda.distances(q), strict=True))
        tool = distances["tool - workspace z lower"] + profile.workspace.lower[2]
        assert distances["panda_leftfinger - table"] == pytest.approx(tool - 0.009, abs=1e-3)

    def test_of_the_tool_to_the_workspace_add_up_to_its_size(self, panda: Clearance) -> None:
        box = load_profile("panda").workspace
        distances = panda.distances(load_profile("panda").vector("home"))[-6:]
        np.testing.assert_allclose(distances[:3] + distances[3:], np.subtract(box.upper, box.lower))

    def test_of_a_workspace_in_whole_metres_are_told_too(self) -> None:
        profile = load_profile("panda")
        box = replace(profile.workspace, lower=(-1, -1, 0), upper=(1, 1, 1))
        distances = Clearance(replace(profile, workspace=box)).distances(profile.vector("home"))[-6:]
        np.testing.assert_allclose(distances[:3] + distances[3:], (2, 2, 1))

    def test_to_a_sphere_match_those_to_the_same_sphere_in_the_environment(self) -> None:
        profile = load_profile("panda")
        ball = Environment(name="ball", bodies={"ball": (Sphere(centre=(0.5, 0.1, 0.4), radius=0.12),)})
        clearance = Clearance(profile, ball)
        lower, upper = _limits("panda")
        rng = np.random.default_rng(2)
        for _ in range(20):
            q = rng.uniform(lower, upper)
            near = clearance.distances_to(q, np.array([0.5, 0.1, 0.4]), 0.12)
            rows = [clearance.names.index(f"{body} - ball") for body in clearance.body_names]
            np.testing.assert_allclose(near, clearance.distances(q)[rows], atol=1e-9)

    def test_follow_a_mimicking_finger(self, panda: Clearance) -> None:
        """Opening moves the right finger to the other side as far as the left one."""
        profile = load_profile("panda")
        open_, closed = profile.vector("home").copy(), profile.vector("home").copy()
        closed[-1] = 0.0
        beside = np.array([0.4279, 0.5, 0.29])
        left, right = (panda.body_names.index(f"panda_{side}finger") for side in ("left", "right"))
        change = panda.distances_to(open_, beside, 0.05) - panda.distances_to(closed, beside, 0.05)
        assert sorted([change[left], change[right]]) == pytest.approx([-0.04, 0.04], abs=2e-3)

    def test_are_clear_at_home(self, case: Case) -> None:
        q, clearance = case.profile.vector("home"), case.clearance
        short = [n for n, d, m in zip(clearance.names, clearance.distances(q), clearance.margin, strict=True) if d < m]
        assert not short

    def test_without_a_model_are_those_of_the_tool(self) -> None:
        clearance = Clearance(replace(load_profile("panda"), collisions=None))
        assert len(clearance.names) == 6 and not clearance.body_names
        assert clearance.distances_to(load_profile("panda").vector("home"), np.zeros(3), 0.1).shape == (0,)

    def test_of_a_link_with_two_shapes_is_the_smaller_one(self, tmp_path: Path) -> None:
        path = tmp_path / "collisions.yaml"
        one, two = "{centre: [0, 0, 0], radius: 0.03}", "{centre: [0, 0, 0.1], radius: 0.02}"
        profile = load_profile("panda")
        q = np.array(profile.vector("home"))
        results = []
        for shapes in (one, two, f"{one}\n    - {two}"):
            path.write_text(f"bodies:\n  panda_hand:\n    - {shapes}\n")
            clearance = Clearance(replace(profile, collisions=path), load_environment("tabletop"))
            results.append((clearance.distances(q)[0], clearance.gradients(q, [0])[0]))
        assert results[2][0] == min(results[0][0], results[1][0]) == results[1][0]
        np.testing.assert_allclose(results[2][1], results[1][1])


class TestConfiguration:
    def test_a_link_that_the_urdf_lacks_is_named(self, tmp_path: Path) -> None:
        path = tmp_path / "collisions.yaml"
        path.write_text("bodies:\n  panda_link99:\n    - {centre: [0, 0, 0], radius: 0.03}\n")
        with pytest.raises(ConfigError, match="panda_link99"):
            Clearance(replace(load_profile("panda"), collisions=path))

    def test_a_body_of_the_environment_may_not_be_called_like_a_link(self) -> None:
        environment = Environment(name="x", bodies={"panda_hand": (Sphere(centre=(0, 0, 0), radius=1),)})
        with pytest.raises(ConfigError, match="rename"):
            Clearance(load_profile("panda"), environment)

    def test_a_margin_of_its_own_is_used(self, panda: Clearance) -> None:
        model = load_collisions(load_profile("panda").collisions or Path())
        assert panda.margin[panda.names.index("panda_hand - table")] == 0.001
        assert panda.margin[panda.names.index("panda_link5 - table")] == model.margin

    def test_arrays_cannot_be_written(self, panda: Clearance) -> None:
        for array in (panda.margin, panda.reach, panda.body_reach):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1.0

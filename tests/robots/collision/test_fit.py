"""Fitted shapes contain the mesh, the sampled pairs are the right ones, and the command writes what loads again."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.cli import main
from tendon.cli.collision_making import name_in_profile
from tendon.core.errors import ConfigError
from tendon.core.types import Array
from tendon.pictures.robot_surface import robot_surface
from tendon.robots.collision.capsules import FittedCapsule, clip, fit_capsule, fit_capsules
from tendon.robots.collision.fit import load_meshes
from tendon.robots.collision.model import load_collisions
from tendon.robots.profile import load_profile
from tests.laws import law_settings

TOLERANCE = 1e-9

ARM = """<robot name="stick">
  <link name="base"><collision><geometry><box size="0.2 0.2 0.1"/></geometry></collision></link>
  <link name="upper"><collision><origin xyz="0 0 0.2"/><geometry><cylinder radius="0.03" length="0.3"/></geometry>
  </collision></link>
  <link name="lower"><collision><origin xyz="0 0 0.15"/><geometry><box size="0.01 0.1 0.3"/></geometry>
  </collision></link>
  <link name="tip"><collision><origin xyz="0 0 0.1"/><geometry><sphere radius="0.02"/></geometry></collision></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.1"/>
    <axis xyz="0 1 0"/><limit lower="-1.5" upper="1.5" velocity="1" effort="1"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0 0 0.4"/>
    <axis xyz="0 1 0"/><limit lower="-2.8" upper="2.8" velocity="1" effort="1"/></joint>
  <joint name="wrist" type="revolute"><parent link="lower"/><child link="tip"/><origin xyz="0 0 0.3"/>
    <axis xyz="0 0 1"/><limit lower="-3" upper="3" velocity="1" effort="1"/></joint>
</robot>"""

PROFILE = """# a stick
name: stick
urdf: stick.urdf
base_frame: base
tool_frame: tip
joints:
  - {name: shoulder, lower: -1.5, upper: 1.5, velocity: 1, acceleration: 1, jerk: 9, home: 0, tracking_tolerance: 0.1}
  - {name: elbow, lower: -2.8, upper: 2.8, velocity: 1, acceleration: 1, jerk: 9, home: 0, tracking_tolerance: 0.1}
  - {name: wrist, lower: -3.0, upper: 3.0, velocity: 1, acceleration: 1, jerk: 9, home: 0, tracking_tolerance: 0.1}
groups: {}
controllers:
  - {name: all, type: joint_trajectory, joints: [shoulder, elbow, wrist]}
cameras: []
workspace: {lower: [-2, -2, -2], upper: [2, 2, 2]}
"""


def outside(points: Array, capsules: list[FittedCapsule]) -> float:
    """Returns how far the worst of (k, 3) points is outside all capsules [m]."""
    gaps = []
    for capsule in capsules:
        axis = capsule.b - capsule.a
        square = float(axis @ axis)
        share = np.clip((points - capsule.a) @ axis / square, 0, 1) if square else np.zeros(len(points))
        gaps.append(np.linalg.norm(points - capsule.a - share[:, None] * axis, axis=1) - capsule.radius)
    return float(np.min(gaps, axis=0).max())


def test_a_mesh_has_the_scale_that_the_urdf_gives_it_once(tmp_path: Path) -> None:
    """Such as millimetres, and the mirrored one of an arm's other side."""
    facet = "facet normal 0 0 0 outer loop vertex 0 0 0 vertex {} {} 0 vertex 0 {} {} endloop endfacet"
    (tmp_path / "part.stl").write_text(f"solid part {facet.format(10, 20, 20, 30)} endsolid part".replace(" v", "\nv"))
    (tmp_path / "part.urdf").write_text(
        '<robot name="part"><link name="part"><collision><geometry><mesh filename="part.stl" '
        'scale="0.001 -0.001 0.001"/></geometry></collision></link></robot>'
    )
    (mesh,) = load_meshes(tmp_path / "part.urdf", None)
    corners = mesh.triangles.reshape(-1, 3)
    np.testing.assert_allclose((corners.min(axis=0), corners.max(axis=0)), [[0, -0.02, 0], [0.01, 0, 0.03]], atol=1e-9)


class TestCapsules:
    @law_settings(max_examples=40)
    @given(seed=st.integers(0, 2**32 - 1), count=st.integers(4, 60))
    def test_contain_any_points(self, seed: int, count: int) -> None:
        rng = np.random.default_rng(seed)
        points = rng.normal(size=(count, 3)) * rng.uniform(0.01, 1.0, 3)
        assert outside(points, [fit_capsule(points, steps=100)]) <= TOLERANCE

    def test_around_a_capsule_is_that_capsule(self) -> None:
        rng = np.random.default_rng(0)
        sphere = rng.normal(size=(400, 3))
        sphere *= 0.05 / np.linalg.norm(sphere, axis=1, keepdims=True)
        points = sphere + np.where(sphere[:, :1] > 0, 1.0, -1.0) * [0.2, 0.0, 0.0]
        truth = math.pi * 0.05**2 * 0.4 + 4 / 3 * math.pi * 0.05**3
        assert fit_capsule(points).volume == pytest.approx(truth, rel=0.05)

    def test_of_an_angle_are_two_and_contain_its_surface(self) -> None:
        corners = [[0, 0, 0], [1, 0, 0], [0, 0, 1]]
        arms = [np.array(corners) * [1.0, 1.0, 0.1], np.array(corners) * [0.1, 1.0, 1.0]]
        triangles = np.array(arms)
        capsules = fit_capsules(triangles)
        rng = np.random.default_rng(0)
        weights = rng.dirichlet(np.ones(3), 500)
        assert len(capsules) == 2
        assert outside(np.concatenate([weights @ triangle for triangle in triangles]), capsules) <= 1e-6

    @law_settings(max_examples=50)
    @given(seed=st.integers(0, 2**32 - 1))
    def test_cutting_a_mesh_leaves_no_point_of_it_out(self, seed: int) -> None:
        """Every point of a triangle is a mean of what the cut leaves of it on its side."""
        rng = np.random.default_rng(seed)
        triangle, normal = rng.normal(size=(1, 3, 3)), rng.normal(size=3)
        parts = [clip(triangle, normal, 0.1), clip(triangle, -normal, -0.1)]
        areas = [area(part) for part in parts if len(part)]
        assert sum(areas) == pytest.approx(area(triangle[0]))


def area(corners: Array) -> float:
    """Returns the area of the convex polygon with (k, 3) corners in one plane, in any order."""
    middle = corners.mean(axis=0)
    _, _, (x, y, _) = np.linalg.svd(corners - middle) if len(corners) > 2 else (0, 0, np.eye(3))
    flat = (corners - middle) @ np.stack((x, y), axis=1)
    a, b = flat[np.argsort(np.arctan2(flat[:, 1], flat[:, 0]))].T
    return float(abs(a @ np.roll(b, -1) - b @ np.roll(a, -1))) / 2


class TestCommand:
    @pytest.fixture
    def urdf(self, tmp_path: Path) -> Path:
        path = tmp_path / "stick.urdf"
        path.write_text(ARM)
        return path

    @pytest.fixture
    def roughly(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Few splits are tried, where how well the shapes fit is not looked at."""
        monkeypatch.setattr("tendon.robots.collision.capsules.SPLIT_PLACES", (0.5,))

    @pytest.fixture(scope="class")
    @classmethod
    def made(cls, tmp_path_factory: pytest.TempPathFactory) -> Path:
        """What the command made of the stick, for those that only look at it; its picture is arm.png beside it."""
        urdf = tmp_path_factory.mktemp("made") / "stick.urdf"
        urdf.write_text(ARM)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("tendon.pictures.robot_picture.SIZE", 96)
            return cls.make(urdf, "--picture", str(urdf.with_name("arm.png")), "--environment", "tabletop")

    @staticmethod
    def make(urdf: Path, *options: str) -> Path:
        out = urdf.parent / "made.yaml"
        assert main(["robot", "collisions", "--urdf", str(urdf), "--out", str(out), "--samples", "1000", *options]) == 0
        return out

    def test_writes_a_model_that_loads(self, made: Path) -> None:
        model = load_collisions(made)
        assert list(model.bodies) == ["base", "upper", "lower", "tip"]
        assert model.allowed[frozenset(("base", "upper"))] == "adjacent"
        assert model.allowed[frozenset(("upper", "lower"))] == "adjacent"
        assert frozenset(("base", "tip")) not in model.allowed

    def test_takes_a_box_for_a_flat_link(self, made: Path) -> None:
        model = load_collisions(made)
        assert type(model.bodies["lower"][0]).__name__ == "Cuboid"
        assert type(model.bodies["upper"][0]).__name__ == "Capsule"

    def test_draws_a_picture(self, made: Path) -> None:
        assert made.with_name("arm.png").read_bytes().startswith(b"\x89PNG")

    @pytest.mark.usefixtures("roughly")
    def test_keeps_the_margins_of_the_file_that_was_there(self, made: Path, urdf: Path) -> None:
        text = (
            made.read_text()
            .replace("margin: 0.01 ", "margin: 0.02 ")
            .replace("margins: []", "margins:\n  - [tip, table, 0.003]")
        )
        urdf.with_name("made.yaml").write_text(text)
        model = load_collisions(self.make(urdf))
        assert model.margin == 0.02 and model.margins == {frozenset(("tip", "table")): 0.003}

    @pytest.mark.usefixtures("roughly")
    def test_a_profile_without_a_model_names_the_new_one(self, urdf: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """So that the next command finds it; its comments stay."""
        profile = urdf.parent / "profile.yaml"
        profile.write_text(PROFILE)
        assert main(["robot", "collisions", str(profile), "--samples", "1000"]) == 0
        assert "names it now: collisions: collisions.yaml" in capsys.readouterr().out
        assert profile.read_text() == PROFILE.replace("base_frame", "collisions: collisions.yaml\nbase_frame")
        assert load_profile(profile).collision_file == urdf.parent / "collisions.yaml"

    @pytest.mark.parametrize(("out", "said"), [("mine.yaml", ""), ("other.yaml", "still names mine.yaml")])
    def test_a_profile_that_names_another_model_keeps_it(
        self, out: str, said: str, urdf: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A second model to compare with is not silently taken; the same one again needs no word."""
        profile = urdf.parent / "profile.yaml"
        text = PROFILE.replace("base_frame", "collisions: mine.yaml\nbase_frame")
        profile.write_text(text)
        name_in_profile(profile, "mine.yaml", urdf.parent / out)
        printed = capsys.readouterr().out
        assert (said in printed) if said else not printed
        assert profile.read_text() == text

    def test_shows_a_robot_with_the_meshes_of_another_file(self, urdf: Path, tmp_path: Path) -> None:
        """A link that the collision model does not have is drawn all the same: feet, a head."""
        profile = load_profile("docs/examples/two_joint_arm/profile.yaml")
        looks = tmp_path / "looks.urdf"
        flag = '<visual><origin xyz="0 0 0.5"/><geometry><box size="0.05 0.3 0.3"/></geometry></visual>'
        text = profile.urdf.read_text().replace(
            f'<link name="{profile.base_frame}">', f'<link name="{profile.base_frame}">{flag}'
        )
        looks.write_text(text)
        surface = robot_surface(profile, profile.vector("home"), looks, None)
        assert surface[..., 2].max() == pytest.approx(0.65)
        with pytest.raises(ConfigError, match="has no joint"):
            robot_surface(profile, profile.vector("home"), urdf, None)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["robot", "collisions"], "name a robot"),
            (["robot", "collisions", "--urdf", "nowhere.urdf"], "no URDF at nowhere.urdf"),
            (["robot", "collisions", "panda"], "no link of .* has a collision shape"),
            (["robot", "collisions", "panda", "--samples", "10"], "at least 1000"),
            (["robot", "show", "pand"], "did you mean panda"),
            (["robot", "show", "panda", "--environment", "tabletopp"], "known there: .*tabletop"),
        ],
    )
    def test_says_what_is_wrong(self, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(arguments) == 2
        pattern = pytest.raises(ConfigError, match=message)
        with pattern:
            raise ConfigError(capsys.readouterr().err)

    def test_help_shows_examples(self, capsys: pytest.CaptureFixture[str]) -> None:
        for action in ("collisions", "show"):
            assert main(["robot", action, "--help"]) == 0
            assert "Examples:" in capsys.readouterr().out

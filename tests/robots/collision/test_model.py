"""Collision models and environments: the shipped ones load, and every mistake names what and the fix."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tendon.core.errors import ConfigError
from tendon.robots.collision.file import to_yaml
from tendon.robots.collision.model import CollisionModel, load_collisions
from tendon.robots.environment import load_environment
from tendon.robots.profile import load_profile
from tendon.robots.shapes import HalfSpace, Sphere

BODIES = "bodies:\n  one: [{a: [0, 0, 0], b: [0, 0, 0.1], radius: 0.05}]\n  two: [{centre: [0, 0, 0], radius: 0.1}]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bodies: {}", "must map names to lists"),
        ("bodies: {one: []}", "at least one shape"),
        ("bodies: {one: [{radius: 0.1}]}", "a shape is .*capsule"),
        ("bodies: {one: [{a: [0, 0, 0], b: [0, 0, 1], radus: 0.1}]}", "unknown key radus; did you mean radius"),
        ("bodies: {one: [{a: [0, 0, 0], radius: 0.1}]}", "lacks b"),
        ("bodies: {one: [{centre: [0, 0, 0], radius: -0.1}]}", "radius is -0.1 m, must be positive"),
        ("bodies: {one: [{centre: [0, 0, .nan], radius: 0.1}]}", "centre is .*finite"),
        ("bodies: {one: [{centre: [0, 0, 0], radius: 1e-2}]}", "radius is '1e-2', expected finite"),
        ("bodies: {one: [{centre: [0, 0], radius: 0.1}]}", "centre has 2 numbers"),
        ("bodies: {one: [{centre: [0, 0, 0], size: [1, 1, 0]}]}", "size is .*must be positive"),
        ("bodies: {one: [{normal: [0, 0, 1], offset: 0}]}", "only an environment"),
        (BODIES + "margin: .nan", "margin is nan m"),
        (BODIES + "margin: -0.01", "margin is -0.01 m"),
        (BODIES + "margins: [[one, two]]", r"expected \[name, name, value\]"),
        (BODIES + "margins: [[three, table, 0.1]]", "names three and table; known links: one, two"),
        (BODIES + "allowed: [[four, three, never]]", "names four and three; known links: one, two"),
        (BODIES + "allowed: [[one, one, never]]", "names one and one;"),
        (BODIES + "allowed: [[one, two, because]]", "reason 'because', known: adjacent, always, never"),
        (BODIES + "alowed: []", "unknown key alowed; did you mean allowed"),
        ("[", "is not YAML"),
    ],
)
def test_a_mistake_in_a_collision_model_is_named(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "collisions.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_collisions(path)


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    path = load_profile("panda").collisions
    assert path is not None
    again = tmp_path / "collisions.yaml"
    again.write_text(to_yaml(load_collisions(path), ["a comment"]))
    assert load_collisions(again) == load_collisions(path)


def test_any_name_of_a_link_is_read_again(tmp_path: Path) -> None:
    """URDF allows all of these; YAML reads them as something else."""
    names = ["arm: base", "b #1", "a[0]", "{c", "0", "null", "yes", "1e3", "-x", "Größe", 'it\'s "it"', "a_b.1"]
    model = CollisionModel(
        bodies={name: (Sphere(centre=(0.0, 0.0, 0.0), radius=0.1),) for name in names},
        allowed={frozenset(pair): "adjacent" for pair in itertools.pairwise(names)},
        margin=0.01,
        margins={frozenset(names[:2]): 0.02},
    )
    path = tmp_path / "collisions.yaml"
    path.write_text(to_yaml(model, []), encoding="utf-8")
    assert load_collisions(path) == model


class TestEnvironment:
    def test_the_tabletop_is_the_table_of_the_simulation(self) -> None:
        environment = load_environment("tabletop")
        assert environment.name == "tabletop"
        assert environment.bodies == {"table": (HalfSpace(normal=(0, 0, 1), offset=0.0),)}

    def test_a_path_is_taken_from_anywhere(self, tmp_path: Path) -> None:
        path = tmp_path / "cell.yaml"
        path.write_text("bodies:\n  post: [{centre: [0.5, 0, 0.5], size: [0.1, 0.1, 1.0], rpy: [0, 0, 0.3]}]\n")
        assert list(load_environment(path).bodies) == ["post"]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("bodies: {wall: [{normal: [0, 0, 2], offset: 0}]}", "has length 2, must be 1"),
            ("bodys: {}", "did you mean bodies"),
            ("- 1", "must be a mapping"),
        ],
    )
    def test_a_mistake_is_named(self, text: str, message: str, tmp_path: Path) -> None:
        path = tmp_path / "cell.yaml"
        path.write_text(text)
        with pytest.raises(ConfigError, match=message):
            load_environment(path)

    def test_an_unknown_name_lists_the_known_ones(self) -> None:
        with pytest.raises(ConfigError, match=r"known there: .*tabletop"):
            load_environment("table-top")

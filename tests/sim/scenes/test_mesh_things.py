"""Things made of a mesh: as large as the file says, where the suite puts them, in every simulator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tendon.core.config import build
from tendon.core.errors import ConfigError
from tendon.evaluation.suites import load_suite
from tendon.robots.profile import load_profile
from tendon.sim.bodies import Part
from tendon.sim.scenes.mesh_part import measured
from tendon.sim.scenes.scene import DescribedScene
from tendon.sim.scenes.world import DescribedWorld
from tendon.sim.simulators import SIMULATORS

SIDES = (40.0, 60.0, 70.0)
FACES = ((1, 3, 4, 2), (5, 6, 8, 7), (1, 2, 6, 5), (3, 7, 8, 4), (1, 5, 7, 3), (2, 4, 8, 6))


@pytest.fixture
def brick(tmp_path: Path) -> Path:
    """40 x 60 x 70 mm, its origin in a corner, in millimetres, of two objects."""
    corners = [(x * SIDES[0], y * SIDES[1], z * SIDES[2]) for z in (0, 1) for y in (0, 1) for x in (0, 1)]
    lines = ["o lower", *(f"v {x} {y} {z}" for x, y, z in corners)]
    for number, (a, b, c, d) in enumerate(FACES):
        lines += ["o upper"] if number == 3 else []
        lines += [f"f {a} {b} {c}", f"f {a} {c} {d}"]
    (tmp_path / "brick.obj").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "suite.yaml"


def part(near: Path, **values: object) -> Part:
    raw = {"kind": "mesh", "file": "brick.obj", "unit": 0.001, "centre": [0.0, 0.0, 0.035], **values}
    return measured(build(Part, "part", raw), near)


def test_it_is_as_large_as_its_file_says(brick: Path) -> None:
    made = part(brick, yaw=np.pi / 2)
    np.testing.assert_allclose(made.half, np.array(SIDES) / 2000)
    np.testing.assert_allclose(made.origin, (0.03, -0.02, 0.0), atol=1e-12)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_it_rests_where_it_was_put_and_is_seen(brick: Path, simulator: str) -> None:
    profile, suite = load_profile("panda"), load_suite("assembly")
    scene = suite.scene(profile, 0, "peg")
    assert isinstance(scene, DescribedScene)
    peg, hole = scene.items
    mesh = replace(part(brick), centre=(0.0, 0.0, 0.0))
    body = replace(peg.body, parts=(mesh,), position=(0.45, 0.1, 0.035), yaw=0.4, rgb=(0.9, 0.1, 0.1))
    world = suite.world(profile, simulator)
    assert isinstance(world, DescribedWorld)
    try:
        world.reset(replace(scene, items=(hole, hole)[:1]))
        without = world.render("scene").astype(int)
        world.reset(replace(scene, items=(replace(peg, body=body), hole)))
        red = (world.render("scene").astype(int) - without)[..., 1] < -40
        assert 20 < red.sum() < 2000, "a brick is seen, and no more"
        for _ in range(200):
            world.step()
        assert np.abs(world.place(0) - body.position).max() < 0.004 and world.tilt(0) < 0.02
        assert not world.engine.overlaps() or max(o.depth for o in world.engine.overlaps()) < 0.003
    finally:
        world.close()


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"file": "no_such.obj"}, "names no_such.obj, which does not exist"),
        ({"file": "suite.dae"}, "simulators read .stl and .obj"),
        ({"file": "empty.obj"}, "mesh .*empty.obj"),
    ],
)
def test_a_file_that_is_none_is_one_clear_error(brick: Path, values: dict[str, str], says: str) -> None:
    (brick.parent / "empty.obj").write_text("# nothing\n", encoding="utf-8")
    (brick.parent / "suite.dae").write_text("<COLLADA/>", encoding="utf-8")
    with pytest.raises(ConfigError, match=says):
        part(brick, **values)

"""Things that a URDF describes: as it says, in every simulator, or one clear error."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tendon.core.config import build
from tendon.core.errors import ConfigError
from tendon.evaluation.suites import load_suite
from tendon.robots.profile import load_profile
from tendon.sim.scenes.description import Thing, built
from tendon.sim.scenes.scene import DescribedScene
from tendon.sim.scenes.world import DescribedWorld
from tendon.sim.simulators import SIMULATORS

BOX = '<geometry><box size="0.04 0.06 0.02"/></geometry>'
ROD = '<geometry><cylinder radius="0.01" length="0.05"/></geometry>'


def link(name: str, geometry: str, origin: str = "0 0 0", rpy: str = "0 0 0") -> str:
    inertial = (
        '<inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    collision = f'<collision><origin xyz="{origin}" rpy="{rpy}"/>{geometry}</collision>' if geometry else ""
    return f'<link name="{name}">{inertial}{collision}</link>'


def joint(kind: str) -> str:
    axis = '<axis xyz="0 0 1"/><limit lower="0" upper="1" effort="1" velocity="1"/>' if kind != "fixed" else ""
    place = '<origin xyz="0 0 0.02" rpy="0 0 0.5"/>'
    return f'<joint name="lid" type="{kind}"><parent link="base"/><child link="top"/>{place}{axis}</joint>'


def thing(folder: Path, body: str, **values: object) -> Thing:
    (folder / "mug.urdf").write_text(f'<robot name="mug">{body}</robot>', encoding="utf-8")
    raw = {"urdf": "mug.urdf", "rgb": [[0.9, 0.1, 0.1]], "x": [0.4, 0.5], "y": [0.0, 0.1], **values}
    return built(build(Thing, "thing", raw), folder / "suite.yaml")


def two(folder: Path) -> Thing:
    return thing(folder, link("base", BOX, "0 0 0.01") + link("top", ROD, "0 0 0.025") + joint("fixed"))


def test_links_that_are_fixed_to_one_another_are_one_thing(tmp_path: Path) -> None:
    made = two(tmp_path)
    assert [part.kind for part in made.parts] == ["box", "cylinder"]
    np.testing.assert_allclose(made.parts[0].half, (0.02, 0.03, 0.01))
    np.testing.assert_allclose(made.parts[1].centre, (0.0, 0.0, 0.045))
    assert made.parts[1].yaw == pytest.approx(0.5)
    assert made.mass == (0.2, 0.2), "what the URDF says"
    assert thing(tmp_path, link("base", BOX, "0 0 0.01"), mass=[0.5, 0.6]).mass == (0.5, 0.6)
    with pytest.raises(ConfigError, match=r"the part is 0.01 m below what the thing stands on"):
        thing(tmp_path, link("base", BOX))


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_it_rests_where_it_was_put(tmp_path: Path, simulator: str) -> None:
    profile, suite = load_profile("panda"), load_suite("assembly")
    scene = suite.scene(profile, 0, "peg")
    assert isinstance(scene, DescribedScene)
    peg, hole = scene.items
    body = replace(peg.body, parts=two(tmp_path).parts, mass=0.2, position=(0.45, 0.1, 0.0), yaw=0.4)
    world = suite.world(profile, simulator)
    assert isinstance(world, DescribedWorld)
    try:
        world.reset(replace(scene, items=(replace(peg, body=body), hole)))
        for _ in range(200):
            world.step()
        assert np.abs(world.place(0) - body.position).max() < 0.004 and world.tilt(0) < 0.02
    finally:
        world.close()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (link("base", BOX) + link("top", ROD) + joint("revolute"), "joint lid moves; a thing of a suite is rigid"),
        (link("base", BOX, rpy="0.3 0 0"), "turned about x or y"),
        (link("base", '<geometry><sphere radius="0.02"/></geometry>'), "is a sphere; things are made of boxes"),
        (link("base", ""), "has no collision shapes"),
        ("<link", "mug.urdf"),
        (link("base", '<geometry><mesh filename="no.stl"/></geometry>'), "no.stl"),
    ],
)
def test_what_no_simulator_could_build_alike_is_one_clear_error(tmp_path: Path, body: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        thing(tmp_path, body)


def test_a_thing_is_described_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="or it has a urdf"):
        build(Thing, "thing", {"rgb": [[1, 1, 1]], "x": [0, 1], "y": [0, 1]})

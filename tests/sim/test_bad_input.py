"""What a user gets wrong is one clear line of the command that he ran, in every simulator, and no traceback."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tendon.cli import main
from tendon.core.errors import ConfigError
from tendon.core.paths import share_folder
from tendon.evaluation.suites import load_suite
from tendon.robots.profile import load_profile
from tendon.sim.engine_world import open_engine_world
from tendon.sim.simulators import SIMULATORS
from tendon.sim.tabletop import scene as tabletop_scene
from tendon.sim.tabletop.layout import layouts
from tendon.sim.tabletop.scene import sample_scene

FOREARM = '<link name="forearm_link"/>'
MIMIC = '<mimic joint="panda_finger_joint1"/>'


def with_mesh(file: str) -> str:
    return f'<link name="forearm_link"><visual><geometry><mesh filename="{file}"/></geometry></visual></link>'


def evaluate(folder: Path, simulator: str, suite: str) -> int:
    arguments = ["eval", "run", "expert", "--robot", str(folder), "--suite", suite, "--simulator", simulator]
    return int(main([*arguments, "--seeds", "100000:100001", "--workers", "1", "--timing", "overwrite"]))


def copied(tmp_path: Path, robot: str, urdf: Callable[[str], str], change: Callable[[dict[str, Any]], object]) -> Path:
    folder = tmp_path / "mine"
    shutil.copytree(share_folder() / "robots" / robot, folder)
    values = yaml.safe_load((folder / "profile.yaml").read_text(encoding="utf-8"))
    file = folder / values["urdf"]
    before = file.read_text(encoding="utf-8")
    file.write_text(urdf(before), encoding="utf-8")
    change(values)
    (folder / "profile.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    return folder


def same(text: str) -> str:
    return text


def nothing(values: dict[str, Any]) -> None:
    pass


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize(
    ("robot", "urdf", "change", "says"),
    [
        pytest.param(
            "ur5e",
            lambda text: text.replace("<limit ", "<no_limit "),
            nothing,
            "joint shoulder_pan_joint has no <limit>: write its lower, upper, velocity and effort",
            id="no limits",
        ),
        pytest.param(
            "ur5e",
            lambda text: text.replace(FOREARM, with_mesh("forearm.stl")),
            nothing,
            "names forearm.stl, which does not exist",
            id="missing mesh",
        ),
        pytest.param(
            "ur5e",
            lambda text: text.replace(FOREARM, with_mesh("package://no_such/arm.stl")),
            nothing,
            "no package no_such here has that file",
            id="unknown package",
        ),
        pytest.param(
            "ur5e",
            same,
            lambda values: values["joints"][0].update(name="shoulder_pan"),
            "shoulder_pan",
            id="unknown joint",
        ),
        pytest.param(
            "panda",
            lambda text: text.replace(MIMIC, ""),
            nothing,
            "its finger panda_rightfinger is moved by panda_finger_joint2, which follows no joint of the profile",
            id="gripper without mimic",
        ),
    ],
)
def test_a_robot_that_cannot_be_simulated(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    simulator: str,
    robot: str,
    urdf: Callable[[str], str],
    change: Callable[[dict[str, Any]], object],
    says: str,
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    folder = copied(tmp_path, robot, urdf, change)
    suite = "tabletop" if robot == "panda" else "reach"
    assert evaluate(folder, simulator, suite) != 0
    told = capsys.readouterr().err
    assert says in told and "Traceback" not in told, told
    assert len(told.strip().splitlines()) == 1, told


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_links_without_inertia_weigh_what_their_shapes_would(tmp_path: Path, simulator: str) -> None:
    """No error: simulators would take 1 kg, or refuse them."""
    folder = copied(tmp_path, "ur5e", same, nothing)
    assert "<inertial" not in (folder / "ur5e.urdf").read_text(encoding="utf-8")
    assert evaluate(folder, simulator, "reach") == 0


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_a_thing_inside_the_robot_or_another_one_is_named(simulator: str) -> None:
    profile, suite = load_profile("panda"), load_suite("assembly")
    world = open_engine_world(suite, profile, simulator)
    try:
        scene = suite.scene(profile, 100_000)
        peg, hole = scene.items  # type: ignore[attr-defined]
        x, y, z = hole.body.position
        for place, said in (((0.0, 0.0, 0.1), "peg starts .* robot panda"), ((x + 0.03, y, z), "hole starts .* peg")):
            moved = replace(peg, body=replace(peg.body, position=place))
            with pytest.raises(ConfigError, match=f"{said}, allowed 3: seed 100000"):
                world.reset(replace(scene, items=(moved, hole)))  # type: ignore[type-var]
        world.reset(scene)
    finally:
        world.close()


def test_a_layout_without_room_is_an_error_and_no_endless_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tabletop_scene, "TRIES", 20)
    tight = replace(layouts()["default"], area_x=(0.5, 0.51), area_y=(0.0, 0.01))
    with pytest.raises(ConfigError, match=r"no scene of family stack found room in 20 tries: .*area_x"):
        sample_scene(100_000, "stack", tight)

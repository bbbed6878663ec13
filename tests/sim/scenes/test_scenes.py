"""A suite's file: what may be wrong in it is said, and what is drawn from it is where it says."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tendon.core.config import build
from tendon.core.errors import ConfigError, MismatchError
from tendon.core.paths import share_folder
from tendon.evaluation.suites import load_suite
from tendon.robots.profile import load_profile
from tendon.sim.assembly.suite import TASKS
from tendon.sim.scenes.description import SuiteFile
from tendon.sim.scenes.scene import DescribedScene, draw_scene

ROBOTS = {"assembly": ("panda", "so101"), "bimanual": ("panda_pair", "so101_pair")}
BOTH = [(suite, robot) for suite, robots in ROBOTS.items() for robot in robots]


def raw(suite: str) -> dict[str, Any]:
    """The file as YAML has it."""
    values: dict[str, Any] = yaml.safe_load((share_folder() / "suites" / f"{suite}.yaml").read_text())
    return values


@settings(max_examples=60, deadline=None)
@given(case=st.sampled_from(BOTH), seed=st.integers(-(2**63), 2**63 - 1))
def test_what_stands_there_is_where_the_file_says_and_in_nothing_else(case: tuple[str, str], seed: int) -> None:
    suite, robot = case
    profile, file = load_profile(robot), build(SuiteFile, suite, raw(suite))
    scene = load_suite(suite).scene(profile, seed)
    assert isinstance(scene, DescribedScene) and scene == load_suite(suite).scene(profile, seed)
    stage, family = file.stage(robot), file.families[scene.task.family]
    assert tuple(item.name for item in scene.items) == family.things and scene.instruction in family.words
    for item in scene.items:
        thing = file.things[item.name]
        x, y = (np.array(item.body.position[:2]) - stage.origin) / stage.scale
        aside = 0.05  # the centre of mass is not quite at the thing's own origin
        assert thing.x[0] - aside <= x <= thing.x[1] + aside and thing.y[0] - aside <= y <= thing.y[1] + aside
        lowest = min(part.centre[2] - part.half[2] for part in item.body.parts)
        assert item.body.position[2] + lowest == pytest.approx(0.0, abs=1e-9)
        assert (item.body.mass > 0) == (thing.mass[1] > 0)


@pytest.mark.parametrize(("suite", "robot"), BOTH)
@pytest.mark.parametrize("simulator", ["pybullet", "mujoco"])
def test_things_rest_where_they_were_put(suite: str, robot: str, simulator: str) -> None:
    profile, made = load_profile(robot), load_suite(suite)
    world = made.world(profile, simulator)
    for seed in range(len(made.families)):
        scene = made.scene(profile, seed)
        world.reset(scene)
        for _ in range(150):
            world.step()
        moved = np.array(world.place(0)) - scene.items[0].body.position  # type: ignore[attr-defined]
        assert np.abs(moved).max() < 0.004 and world.tilt(0) < 0.02  # type: ignore[attr-defined]
        assert scene.task.progress(world) < 0.1 and not scene.task.success(world)
    world.close()


def damages() -> Iterator[tuple[str, list[str], Any, str]]:
    """Where, what, and what is said."""
    yield "a list", ["things"], [], "things is (): it must be a mapping"
    yield "a number", ["things", "peg", "mass"], 3, "mass is 3: it must be [smallest, largest]"
    yield "a thing of nothing", ["things", "peg", "parts"], [], "a thing has parts"
    flat = [{"kind": "box", "half": [0.1, 0.1, 0.0]}]
    yield "a flat part", ["things", "peg", "parts"], flat, "half is"
    mesh, box = {"kind": "mesh", "file": "mug.stl", "unit": 0.001}, {"kind": "box", "half": [0.1, 0.1, 0.1]}
    yield "a mesh among others", ["things", "peg", "parts"], [mesh, box], "a mesh is a thing by itself"
    yield "a mesh without a file", ["things", "peg", "parts"], [{"kind": "mesh"}], "file is '', unit 1.0 of a mesh"
    yield "a box with a file", ["things", "peg", "parts"], [{**box, "file": "a.stl"}], "file is 'a.stl'"
    yield "too bright", ["look"], {"ambient": [0.5, 1.5]}, "ambient is [0.5, 1.5]: it must be within [0, 1]"
    yield "largest first", ["things", "peg", "x"], [0.5, 0.3], "x is [0.5, 0.3]: the smallest comes first"
    yield (
        "a mass below nothing",
        ["things", "peg", "mass"],
        [-1, -0.5],
        "mass is [-1, -0.5]: it must be within [0, 100]",
    )
    yield "a thousand tons", ["things", "peg", "mass"], [1e6, 1e6], "it must be within [0, 100]"
    yield "ice that pulls", ["things", "peg", "friction"], [-0.1, 1], "it must be within [0, 5]"
    sunk = [{"kind": "box", "half": [0.02, 0.02, 0.035], "centre": [0.0, 0.0, 0.025]}]
    yield "a part in the table", ["things", "peg", "parts"], sunk, "the part is 0.01 m below what the thing stands on"
    yield "an unknown key", ["things", "peg", "colour"], "red", "unknown key colour"
    yield "an unknown thing", ["families", "peg", "things"], ["peck", "hole"], "names thing peck; known: peg"
    yield "an unknown family", ["stages", "so101", "families"], ["pegs"], "names family pegs; did you mean peg"
    yield "too small", ["stages", "so101", "scale"], 0.1, "scale"
    yield "nan", ["stages", "so101", "hover"], math.nan, "hover"


@pytest.mark.parametrize(
    ("path", "value", "said"), [case[1:] for case in damages()], ids=[case[0] for case in damages()]
)
def test_what_is_wrong_in_a_file_is_said(path: list[str], value: Any, said: str) -> None:
    values = copy.deepcopy(raw("assembly"))
    place = values
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(ConfigError) as raised:
        build(SuiteFile, "assembly.yaml", values)
    assert "assembly.yaml" in str(raised.value) and said in str(raised.value)


def test_things_without_room_are_an_error_and_no_endless_search(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    values = raw("assembly")
    values["things"]["hole"] |= {"x": values["things"]["peg"]["x"], "y": [0.1, 0.1]}
    values["things"]["peg"] |= {"x": [0.4, 0.4], "y": [0.1, 0.1]}
    values["things"]["hole"]["x"] = [0.4, 0.4]
    file = build(SuiteFile, "assembly.yaml", {**values, "name": "assembly"})
    with pytest.raises(ConfigError, match=r"peg, hole found no room beside one another in 200 tries: give them other"):
        draw_scene(file, TASKS, "panda", 0, "peg")


def test_a_family_for_which_there_is_no_code_is_said() -> None:
    values = raw("assembly")
    values["families"]["weld"] = values["families"]["peg"]
    file = build(SuiteFile, "assembly.yaml", {**values, "name": "assembly"})
    with pytest.raises(ConfigError, match=r"suites/assembly.yaml has family weld, for which .* it has peg, gear"):
        draw_scene(file, TASKS, "panda", 0, "peg")


def test_a_robot_that_does_not_fit_is_told_why() -> None:
    with pytest.raises(MismatchError, match="assembly needs one gripper, and profile panda_pair has 2"):
        load_suite("assembly").scene(load_profile("panda_pair"), 0)
    with pytest.raises(MismatchError, match="bimanual needs two grippers, and profile panda has 1"):
        load_suite("bimanual").scene(load_profile("panda"), 0)
    with pytest.raises(ValueError, match="unknown task family hand_over; known: lift"):
        load_suite("bimanual").scene(load_profile("so101_pair"), 0, "hand_over")
    with pytest.raises(ValueError, match="64 bits"):
        load_suite("bimanual").scene(load_profile("panda_pair"), 2**63)

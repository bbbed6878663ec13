"""A suite is a folder that makes a `Suite`: one that Tendon does not know runs like its own, with other robots."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import tendon
from tendon.evaluation.episode import Setting, Switch
from tendon.evaluation.runner import Runner
from tendon.evaluation.suites import SUITES, load_suite
from tendon.graph.description import describe
from tendon.robots.profile import load_profile
from tendon.sim.backend import SimBackend
from tendon.sim.suite import TaskSwitching
from tests.evaluation.turning import TURNING, TurningPolicy, draw

SEEDS = range(100_000, 100_004)


@pytest.mark.parametrize("robot", ["so101", "ur5e", "panda"])
def test_another_suite_with_another_robot_is_evaluated_without_a_change_to_tendon(robot: str) -> None:
    result = tendon.evaluate(TurningPolicy(), SEEDS, suite=TURNING, robot=robot, timing="overwrite", delay_s=0.05)
    assert [episode.instruction for episode in result.episodes] == [draw(seed).instruction for seed in SEEDS]
    assert all(episode.success and not episode.stop for episode in result.episodes), result
    assert all(episode.peak_acceleration <= 1.0 + 1e-9 for episode in result.episodes)
    assert [line.split()[0] for line in str(result).splitlines()[:2]] == ["left", "right"]


def test_its_own_check_decides() -> None:
    """A robot that is told nothing stands still, which is not the task."""
    runner = Runner(SimBackend(TURNING.world(load_profile("ur5e"))), TurningPolicy(), TURNING.load_environment())
    assert not runner.run(draw(100_000), Setting(limit_s=1.0, blank=True)).success


def test_a_world_that_cannot_change_its_task_refuses_to() -> None:
    runner = Runner(SimBackend(TURNING.world(load_profile("ur5e"))), TurningPolicy())
    with pytest.raises(tendon.ConfigError, match="TurningWorld has one task a scene"):
        runner.run(draw(100_000), Setting(switch=Switch(at_ns=10**9)))


def test_a_suite_has_its_name_by_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SUITES, "turning", "tests.evaluation.turning:TURNING")
    assert load_suite("turning") is TURNING


def test_one_of_a_module_in_the_working_folder_has_its_name_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no change to Tendon, for evaluations, for suites of files, and for the graph."""
    (tmp_path / "oursuite.py").write_text("from tests.evaluation.turning import TURNING\ndef ours(): return TURNING")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("ours", "TURNING"):
        assert load_suite(f"oursuite:{name}") is TURNING
    (tmp_path / "harder.yaml").write_text("suite: oursuite:TURNING\ndelay_s: 0.1\n")
    assert load_suite("harder.yaml").difficulty.delay_s == 0.1
    given = {"suite": "oursuite:TURNING", "policy": "none", "robot": "ur5e"}
    assert describe(given).processes[0].parameters["suite"] == "oursuite:TURNING"
    monkeypatch.delitem(sys.modules, "oursuite")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere:SUITE", "module 'nowhere' cannot be imported .*it must be installed or in /"),
        (":SUITE", "module '' cannot be imported"),
        ("tests.evaluation.turning:TURNIN", "tests.evaluation.turning has no 'TURNIN'; did you mean TURNING?"),
        ("tests.evaluation.turning:NEAR_RAD", "no tendon.sim.suite.Suite, but a float"),
        ("tabeltop", "did you mean tabletop"),
        ("mine", "known: .*MODULE:NAME"),
    ],
)
def test_one_that_there_is_not_is_one_sentence(name: str, said: str) -> None:
    with pytest.raises(tendon.ConfigError, match=said):
        load_suite(name)


@pytest.mark.parametrize("name", SUITES)
def test_each_suite_has_scenes_of_all_its_families_and_a_world_for_them(name: str) -> None:
    suite, profile = load_suite(name), load_profile("panda_pair" if name == "bimanual" else "panda")
    scenes = [suite.scene(profile, seed) for seed in range(100_000, 100_000 + 5 * len(suite.families))]
    assert {scene.task.family for scene in scenes} == set(suite.families)
    assert all(suite.scene(profile, scene.seed) == scene and scene.instruction for scene in scenes)


def test_the_tabletop_may_change_its_task_in_mid_motion() -> None:
    world = load_suite("tabletop").world(load_profile("panda"))
    assert isinstance(world, TaskSwitching)
    world.close()


def test_a_suite_that_there_is_not_is_said() -> None:
    with pytest.raises(tendon.ConfigError, match="did you mean tabletop"):
        tendon.evaluate("tabletop", SEEDS, suite="tabeltop")


def test_a_suite_without_a_name_stays_in_this_process() -> None:
    with pytest.raises(tendon.ConfigError, match="workers is 2, must be 1 for a suite that has no name"):
        tendon.evaluate("tabletop", SEEDS, suite=TURNING, workers=2)

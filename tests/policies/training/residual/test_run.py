"""A run of residual training goes on where it was left, as the run that it was."""

from __future__ import annotations

import itertools
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tendon.control.residual.space import ResidualSpace
from tendon.core.errors import ConfigError, MismatchError
from tendon.evaluation.evaluate import FIRST_SEED
from tendon.evaluation.residual_rollouts import PROGRESS, SUCCESS, Experience, Task
from tendon.evaluation.residual_training import EPISODES, Recipe, ResidualRun, training_scenes
from tendon.policies.bundle.bundle import load_bundle, write_bundle
from tendon.policies.inference.identity import policy_digest
from tendon.policies.progress.estimator import PROGRESS as TOLD
from tendon.policies.progress.estimator import SEEN, estimator_files
from tendon.policies.residual.bundle import load_residual
from tendon.policies.training.residual.learner import Settings
from tendon.robots.profile import load_profile
from tests.policies.constant_network import constant_network
from tests.policies.residual.tiny import write_imported

TASK = Task(bundle=Path("bundles/tabletop"), robot="panda", suites=("tabletop",), space=ResidualSpace())
AT_ONCE = Recipe(minutes=1e-9)


def test_no_scene_to_evaluate_on_is_trained_on() -> None:
    first = FIRST_SEED - 3
    found = list(itertools.islice(training_scenes(first, []), 2 * FIRST_SEED))
    assert found[:5] == [first, first + 1, first + 2, 0, 1]
    assert sorted(found[:FIRST_SEED]) == list(range(FIRST_SEED))
    assert max(found) < FIRST_SEED


def test_a_scene_that_was_under_way_when_the_run_was_cut_is_tried_and_no_other_twice() -> None:
    assert list(itertools.islice(training_scenes(0, [0, 1, 2, 3, 5]), 3)) == [4, 6, 7]


@pytest.mark.parametrize(
    ("task", "recipe", "said"),
    [
        (
            replace(TASK, suites=("tabletop_hard",)),
            AT_ONCE,
            r"suites .'tabletop'., and is to go on with .'tabletop_hard",
        ),
        (replace(TASK, space=ResidualSpace(tool_m=0.01)), AT_ONCE, "space"),
        (TASK, replace(AT_ONCE, seed=7), "seed 0, and is to go on with 7"),
        (replace(TASK, kept=("tabletop",)), AT_ONCE, r"begun with kept \[\], and is to go on with \['tabletop'\]"),
        (TASK, replace(AT_ONCE, minutes=2e-9, steps=20_000), ""),
    ],
)
def test_another_run_does_not_go_on_in_its_folder(task: Task, recipe: Recipe, said: str, tmp_path: Path) -> None:
    """Not even before its first episode; its time also counts before anything is learned."""
    assert not ResidualRun(tmp_path, TASK, AT_ONCE, Settings()).train(1)
    if said:
        with pytest.raises(ConfigError, match=said):
            ResidualRun(tmp_path, task, recipe, Settings())
    else:
        assert not ResidualRun(tmp_path, task, recipe, Settings()).train(1)


def test_a_policy_without_an_embedding_gets_a_residual(tmp_path: Path) -> None:
    """As an imported one may be: what is learned runs with it, and is bound to it."""
    bundle, suite = write_imported(tmp_path / "imported"), tmp_path / "drawers.yaml"
    suite.write_text("suite: tabletop\nfamilies: [drawer]\n")
    task = Task(bundle=bundle, robot="panda", suites=(str(suite),), kept=(str(suite),), space=ResidualSpace())
    recipe = Recipe(minutes=0, steps=40, prefill_steps=10, warm_up=2, publish_every=2, updates_per_step=0.2)
    assert ResidualRun(tmp_path / "run", task, recipe, Settings(width=16, critics=2, batch=32)).train(1)
    learned, base = load_residual(tmp_path / "run"), policy_digest(load_bundle(bundle).manifest)
    learned.open(load_profile("panda"), base)
    assert learned.manifest.space == ResidualSpace() and learned.manifest.training["steps"] >= 40
    assert learned.manifest.training["kept"] == str(suite) and learned.manifest.training["reward"] == SUCCESS
    told = [str(np.load(path)["family"]) for path in (tmp_path / "run" / EPISODES).iterdir()]
    assert set(told) == {"drawer"}
    with pytest.raises(MismatchError, match="corrects policy imported"):
        learned.open(load_profile("panda"), "0" * 64)


def test_nor_does_one_in_a_suite_whose_file_was_changed(tmp_path: Path) -> None:
    file = tmp_path / "arm.yaml"
    task = replace(TASK, suites=(str(file),))
    file.write_text("suite: tabletop\nfamilies: [drawer]\n")
    assert not ResidualRun(tmp_path / "run", task, AT_ONCE, Settings()).train(1)
    ResidualRun(tmp_path / "run", task, AT_ONCE, Settings())
    file.write_text("suite: tabletop\nfamilies: [stack]\n")
    with pytest.raises(ConfigError, match=r"begun with suites .*arm.yaml \([0-9a-f]{12}\)"):
        ResidualRun(tmp_path / "run", task, AT_ONCE, Settings())


def test_a_reward_by_another_estimator_is_another_run(tmp_path: Path) -> None:
    """What success and progress mean has changed, which is no damage."""
    shipped, folder = load_bundle(TASK.bundle), tmp_path / "taught"

    def taught(answer: float) -> None:
        files = estimator_files(shipped, constant_network((SEEN, 525), (TOLD, [answer])), 525, {})
        write_bundle(folder, shipped.manifest, {**shipped.content, **files})

    taught(0.25)
    task = replace(TASK, bundle=folder, reward=PROGRESS)
    assert not ResidualRun(tmp_path / "run", task, AT_ONCE, Settings()).train(1)
    ResidualRun(tmp_path / "run", task, AT_ONCE, Settings())
    for changed in (replace(task, reward=SUCCESS), task):
        taught(0.75)
        with pytest.raises(ConfigError, match=r"was begun with reward progress \(\w{12}\), and is to go on") as error:
            ResidualRun(tmp_path / "run", changed, AT_ONCE, Settings())
        assert "damaged" not in str(error.value)


def test_a_run_does_not_go_on_with_a_robot_that_was_changed(tmp_path: Path) -> None:
    """It was known by the name of its profile alone. A run of before does not say it, and goes on."""
    robot = shutil.copytree("robots/panda", tmp_path / "robot") / "profile.yaml"
    task = replace(TASK, robot=str(robot))
    assert not ResidualRun(tmp_path / "run", task, AT_ONCE, Settings()).train(1)
    text = robot.read_text()
    robot.write_text(text.replace("velocity: 2.175", "velocity: 1.5"))
    assert robot.read_text() != text
    with pytest.raises(ConfigError, match="was begun with profile_digest"):
        ResidualRun(tmp_path / "run", task, AT_ONCE, Settings())
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    del about["task"]["profile_digest"]
    (tmp_path / "run" / "run.json").write_text(json.dumps(about))
    ResidualRun(tmp_path / "run", task, AT_ONCE, Settings())


def test_a_run_of_a_version_that_knew_a_setting_less_is_another_run(tmp_path: Path) -> None:
    """Which is no damage either."""
    assert not ResidualRun(tmp_path, TASK, AT_ONCE, Settings()).train(1)
    about = json.loads((tmp_path / "run.json").read_text())
    del about["settings"]["keep"]
    (tmp_path / "run.json").write_text(json.dumps(about))
    with pytest.raises(ConfigError, match=f"begun with keep None, and is to go on with {Settings().keep}"):
        ResidualRun(tmp_path, TASK, AT_ONCE, Settings())


def test_what_is_damaged_is_named(tmp_path: Path) -> None:
    run = ResidualRun(tmp_path, TASK, AT_ONCE, Settings())
    rows = np.zeros((3, 4), np.float32)
    told = {"seed": 4, "family": "pick", "success": True, "plain": True, "rewards": rows[:2, 0]}
    run._keep(Experience(observations=rows, facts=rows, actions=rows[:2], **told))  # type: ignore[arg-type]
    (kept,) = (tmp_path / EPISODES).iterdir()
    kept.write_bytes(kept.read_bytes()[:100])
    with pytest.raises(ConfigError, match=r"000000.npz is damaged"):
        ResidualRun(tmp_path, TASK, AT_ONCE, Settings()).train(1)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(ConfigError, match=r"run.json is damaged"):
        ResidualRun(tmp_path, TASK, AT_ONCE, Settings())

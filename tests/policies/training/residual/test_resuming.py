"""A run of residual training that goes on: with the newest actor at once, and with nothing that is damaged."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from tendon.control.residual.space import ResidualSpace
from tendon.core.errors import ConfigError
from tendon.evaluation import residual_training
from tendon.evaluation.residual_rollouts import Experience, Exploration, Task
from tendon.evaluation.residual_training import EPISODES, PROJECTION_FILE, RUN_FILE, STATE_FILE, Recipe, ResidualRun
from tendon.policies.residual.bundle import load_residual
from tendon.policies.training.residual.learner import Settings

SPACE = ResidualSpace()
TASK = Task(bundle=Path("bundles/tabletop"), robot="panda", suites=("tabletop",), space=SPACE)
RECIPE = Recipe(minutes=0, steps=80, prefill_steps=20, warm_up=4, publish_every=2, updates_per_step=0.2)
QUICK = Settings(width=16, critics=2, batch=32)


class Told:
    """In place of processes: five steps an episode, which succeeds when an actor acted.

    Attributes:
        began: of each episode in turn, whether an actor acted in it, and what was explored.
    """

    began: list[tuple[bool, Exploration]]

    def __init__(self, task: Task, seeds: Iterator[int], count: int, exploration: Exploration) -> None:
        self._seeds, self._graph, self._exploration = seeds, b"", exploration
        Told.began = []

    def __enter__(self) -> Told:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def use(self, graph: bytes, exploration: Exploration) -> None:
        self._graph, self._exploration = graph, exploration

    def ended(self, timeout_s: float) -> list[Experience]:
        seed = next(self._seeds)
        Told.began.append((bool(self._graph), self._exploration))
        return [episode(seed, success=bool(self._graph))]


def episode(seed: int, success: bool) -> Experience:
    rng = np.random.default_rng(seed)
    return Experience(
        seed=seed,
        family="pick",
        success=success,
        plain=seed % 2 == 0,
        observations=rng.standard_normal((6, SPACE.observations)).astype(np.float32),
        facts=rng.standard_normal((6, 3)).astype(np.float32),
        actions=rng.uniform(-1, 1, (5, SPACE.actions)).astype(np.float32),
        rewards=np.append(np.zeros(4), float(success)).astype(np.float32),
    )


@pytest.fixture(autouse=True)
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residual_training, "Workers", Told)


def run(folder: Path, recipe: Recipe = RECIPE) -> bool:
    return ResidualRun(folder, TASK, recipe, QUICK).train(1)


def test_a_run_that_goes_on_uses_its_newest_actor_from_the_first_episode_on(tmp_path: Path) -> None:
    assert run(tmp_path)
    assert Told.began[0] == (False, RECIPE.prefill)
    assert run(tmp_path, replace(RECIPE, steps=120))
    assert Told.began and set(Told.began) == {(True, RECIPE.exploration)}


def test_a_run_that_goes_on_in_its_prefill_or_warm_up_explores_the_base(tmp_path: Path) -> None:
    cut = replace(RECIPE, minutes=1e-9)
    assert not run(tmp_path, cut) and not Told.began
    assert run(tmp_path)
    assert Told.began[:4] == [(False, RECIPE.prefill)] * 4


def test_only_episodes_in_which_the_actor_acts_count_as_its_successes(tmp_path: Path) -> None:
    """Those of the base all failed here."""
    assert run(tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    rates = [value for row in rows for name, value in row.items() if name.startswith(("plain", "explored"))]
    assert rates and set(rates) == {1.0}
    assert not any(name.startswith("plain") for row in rows if row["updates"] <= RECIPE.warm_up for name in row)


def test_a_run_whose_steps_are_over_before_anything_was_learned_is_no_residual(tmp_path: Path) -> None:
    assert not run(tmp_path, replace(RECIPE, steps=21, prefill_steps=21))
    with pytest.raises(ConfigError, match="no residual at"):
        load_residual(tmp_path)


def test_what_the_critics_alone_have_learned_is_no_residual(tmp_path: Path) -> None:
    assert not run(tmp_path, replace(RECIPE, warm_up=1000, minutes=0, steps=25))
    with pytest.raises(ConfigError, match="no residual at"):
        load_residual(tmp_path)


def test_an_episode_that_is_missing_is_said_and_none_is_replaced(tmp_path: Path) -> None:
    assert run(tmp_path)
    kept = sorted((tmp_path / EPISODES).iterdir())
    kept[0].unlink()
    before = [each.read_bytes() for each in kept[1:]]
    with pytest.raises(ConfigError, match=f"has {len(kept) - 1} episodes, run.json counts {len(kept)}: copy"):
        run(tmp_path, replace(RECIPE, steps=120))
    assert [each.read_bytes() for each in kept[1:]] == before


def test_a_residual_without_its_run_is_not_replaced(tmp_path: Path) -> None:
    """A folder that was copied to a robot."""
    assert run(tmp_path / "run")
    deployed = tmp_path / "deployed"
    deployed.mkdir()
    for name in ("residual.yaml", "residual.onnx"):
        shutil.copy(tmp_path / "run" / name, deployed)
    digest = load_residual(deployed).manifest.digest
    with pytest.raises(ConfigError, match=r"run\.json is missing, which says what was begun"):
        run(deployed)
    shutil.copy(tmp_path / "run" / RUN_FILE, deployed)
    with pytest.raises(ConfigError, match=r"has 0 episodes, run\.json counts"):
        run(deployed)
    assert load_residual(deployed).manifest.digest == digest


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def other(path: Path) -> None:
    save_file({"matrix": np.zeros((3, 2), np.float32), "shift": np.zeros(2, np.float32)}, path)


def not_finite(path: Path) -> None:
    with np.load(path) as rows:
        changed = dict(rows)
    changed["observations"][2, 1] = np.nan
    np.savez_compressed(path, **changed)


def narrow(path: Path) -> None:
    with np.load(path) as rows:
        changed = dict(rows)
    np.savez_compressed(path, **{**changed, "observations": changed["observations"][:, 1:]})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(residual_training, "Workers", Told)
        assert run(folder)
    return folder


@pytest.mark.parametrize(
    ("name", "damage", "said"),
    [
        (STATE_FILE, cut, "is damaged"),
        (STATE_FILE, empty, "is damaged"),
        (STATE_FILE, other, "is damaged"),
        (PROJECTION_FILE, cut, "is damaged"),
        (PROJECTION_FILE, empty, "is damaged"),
        (PROJECTION_FILE, other, f"is damaged .of 3 numbers, the residual sees {SPACE.observations}"),
        (RUN_FILE, Path.unlink, "is missing, which says what was begun: copy it again, or name another folder"),
        (f"{EPISODES}/000003.npz", not_finite, "is damaged .observations that are not all finite"),
        (f"{EPISODES}/000003.npz", narrow, r"is damaged .observations of shape \(6, \d+\), must be"),
        (f"{EPISODES}/000003.npz", cut, "is damaged"),
    ],
)
def test_a_folder_that_is_damaged_is_named_and_does_not_go_on(
    name: str, damage: Callable[[Path], Any], said: str, whole: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(whole, tmp_path / "run")
    damage(folder / name)
    with pytest.raises(ConfigError, match=f"{name} {said}"):
        run(folder)

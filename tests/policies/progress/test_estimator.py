"""A progress estimator in a bundle: it tells of its own model only, and changes nothing that the policy answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tendon.core.errors import IntegrityError, InvalidDataError, MismatchError, TendonError
from tendon.core.types import Features, Image, Observation
from tendon.evaluation.episode import Setting
from tendon.evaluation.pool import Job, run_job
from tendon.evaluation.residual_env import ResidualEnv
from tendon.evaluation.residual_rollouts import PROGRESS, Exploration, Task, run_episode
from tendon.policies.bundle.bundle import Bundle, load_bundle, write_bundle
from tendon.policies.bundle.places import find_bundle
from tendon.policies.inference.identity import policy_digest
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.progress.estimator import (
    ESTIMATOR_FILE,
    ESTIMATOR_GRAPH,
    estimator_files,
    load_estimator,
    without_estimator,
)
from tendon.policies.progress.estimator import PROGRESS as TOLD
from tendon.policies.progress.estimator import SEEN as SEEN_BY_IT
from tendon.robots.profile import load_profile
from tests.policies.constant_network import constant_network
from tests.policies.residual.test_bundle import SPACE

SHIPPED, PROFILE = load_bundle(find_bundle("tabletop")), load_profile("panda")
SEEN = 7 + 6 + 512
SCENE = 100_004


def telling(folder: Path, answer: float, seen: int = SEEN) -> Bundle:
    """The shipped bundle with an estimator that always says the same."""
    files = estimator_files(SHIPPED, constant_network((SEEN_BY_IT, seen), (TOLD, [answer])), seen, {"episodes": 0})
    return write_bundle(folder, SHIPPED.manifest, {**SHIPPED.content, **files})


def silent(folder: Path) -> Bundle:
    """The shipped bundle without its estimator."""
    return write_bundle(folder, SHIPPED.manifest, without_estimator(SHIPPED).content)


def view() -> Observation:
    pictures = {
        camera.name: Image(stamp_ns=0, pixels=np.full((camera.height, camera.width, 3), 90, np.uint8))
        for camera in PROFILE.cameras
    }
    home = PROFILE.vector("home")
    return Observation(
        stamp_ns=0, joint_position=home, joint_velocity=0 * home, images=pictures, instruction="pick up the red cube"
    )


@pytest.mark.parametrize(("answer", "told"), [(0.25, 0.25), (7.0, 1.0), (-1.0, 0.0)])
def test_it_is_told_with_each_answer_and_changes_none(answer: float, told: float, tmp_path: Path) -> None:
    bundle, plain_bundle = telling(tmp_path / "telling", answer), silent(tmp_path / "silent")
    assert policy_digest(bundle.manifest) == policy_digest(SHIPPED.manifest) == policy_digest(plain_bundle.manifest)
    with_it, without = BundlePolicy(bundle, PROFILE), BundlePolicy(plain_bundle, PROFILE)
    chunk, plain = with_it.infer(view()), without.infer(view())
    assert (chunk.actions == plain.actions).all()
    assert with_it.estimates_progress and not without.estimates_progress
    assert chunk.features is not None and chunk.features.progress == told
    assert plain.features is not None and plain.features.progress is None


def test_one_that_does_not_fit_is_refused_before_anything_moves(tmp_path: Path) -> None:
    bundle = telling(tmp_path, 0.5)
    yaml = bundle.content[ESTIMATOR_FILE]
    model = bundle.manifest.files[bundle.manifest.model].encode()
    broken: list[tuple[dict[str, bytes], type[TendonError], str]] = [
        ({ESTIMATOR_FILE: yaml.replace(model, b"0" * 64)}, MismatchError, "model_sha256"),
        ({ESTIMATOR_FILE: yaml.replace(b"525", b"524")}, MismatchError, "524"),
        ({ESTIMATOR_GRAPH: b"no graph"}, IntegrityError, ESTIMATOR_GRAPH),
    ]
    for change, kind, said in broken:
        with pytest.raises(kind, match=said):
            load_estimator(replace(bundle, content={**bundle.content, **change}))
    with pytest.raises(IntegrityError, match="is missing"):
        left = {name: data for name, data in bundle.content.items() if name != ESTIMATOR_GRAPH}
        load_estimator(replace(bundle, content=left))


def test_one_of_another_size_or_without_a_number_is_said(tmp_path: Path) -> None:
    with pytest.raises(MismatchError, match="takes 9 numbers, the policy tells 525"):
        BundlePolicy(telling(tmp_path / "small", 0.5, seen=9), PROFILE).infer(view())
    with pytest.raises(InvalidDataError, match="progress"):
        BundlePolicy(telling(tmp_path / "nan", float("nan")), PROFILE).infer(view())
    with pytest.raises(InvalidDataError, match=r"progress is 1\.5"):
        Features(policy="a", embedding=np.zeros(0), points=np.zeros((0, 3)), progress=1.5)


def test_an_evaluation_writes_what_it_told_last(tmp_path: Path) -> None:
    setting = Setting(delay_ns=50_000_000, limit_s=1.0)
    jobs = [
        Job(bundle=folder, robot="panda", seed=SCENE, setting=setting)
        for folder in (telling(tmp_path / "telling", 0.5).folder, silent(tmp_path / "silent").folder)
    ]
    told, untold = (run_job(job)[1] for job in jobs)
    assert (told.estimate, untold.estimate) == (0.5, None)
    assert replace(told, estimate=None) == untold


def reward_of(folder: Path) -> ResidualEnv:
    task = Task(bundle=folder, robot="panda", suites=("tabletop",), space=SPACE, reward=PROGRESS)
    return task.open("tabletop")


def test_a_reward_without_an_oracle_is_what_the_estimate_gains(tmp_path: Path) -> None:
    env = reward_of(telling(tmp_path, 0.95).folder)
    episode = run_episode(env, SCENE, None, Exploration(plain=1.0))
    assert len(episode.actions) == 2 and episode.success, "what says done after two steps ends it"
    assert episode.rewards.tolist() == pytest.approx([0.0, 0.05])
    assert episode.facts.shape[1] == 1, "nothing that only a simulator knows"
    run_episode(env, SCENE + 1, None, Exploration(plain=1.0))
    again = run_episode(env, SCENE, None, Exploration(plain=1.0))
    assert (again.observations == episode.observations).all(), "nothing is left of the episodes before"
    env.close()


def test_a_policy_that_makes_no_estimate_gives_no_such_reward(tmp_path: Path) -> None:
    with pytest.raises(TendonError, match="does not estimate its progress"):
        reward_of(silent(tmp_path).folder)


def test_the_shipped_policy_tells_its_progress() -> None:
    setting = Setting(delay_ns=50_000_000)
    begun, done = (
        run_job(Job(bundle=SHIPPED.folder, robot="panda", seed=SCENE, setting=each))[1]
        for each in (replace(setting, limit_s=1.0), setting)
    )
    assert done.success and not begun.success
    assert begun.estimate is not None and done.estimate is not None
    assert begun.estimate < 0.4 < 0.6 < done.estimate

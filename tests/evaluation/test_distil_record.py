"""Successes of a policy with its residual as demonstrations: what was run is what is evaluated and what is recorded."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tendon.control.controller import Controller
from tendon.core.errors import ConfigError
from tendon.core.types import ActionChunk, Observation
from tendon.data.lerobot.reader import LeRobotDataset
from tendon.data.lerobot.writer import DatasetWriter, Frame
from tendon.evaluation.pool import Job, run_job
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.bundle.places import find_bundle
from tendon.policies.inference.identity import policy_digest
from tendon.policies.inference.policy import BundlePolicy
from tendon.robots.profile import load_profile
from tendon.sim.backend import SimBackend
from tendon.sim.tabletop.layout import FAMILIES
from tests.policies.residual.tiny import write_constant

RECIPES = Path(__file__).resolve().parents[2] / "recipes"
sys.path.append(str(RECIPES))  # a worker process looks for it there too

import distil_record as recipe  # noqa: E402

BUNDLE, ZEROS = find_bundle("tabletop"), 0.01
"""Less than any joint of that arm is off by, on average."""


@pytest.fixture(scope="module")
def residual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("residual")
    return write_constant(folder, [0.3, -0.2, 0.1, 0.0], policy_digest(load_bundle(BUNDLE).manifest))


def scene(residual: Path, suite: str, **setting: object) -> Job:
    job = next(job for job in recipe.jobs(BUNDLE, residual, "panda", 3) if job.suite == suite)
    return replace(job, setting=replace(job.setting, limit_s=1.5, **setting))  # type: ignore[arg-type]


def watched(job: Job) -> recipe.Watched:
    found = recipe.Watched(job)
    while not found.rollout.over:
        found.tick()
    return found


def test_who_records_changes_nothing(residual: Path) -> None:
    """Noise of the pictures is drawn apart: the policy sees what it sees when nobody looks."""
    noisy = scene(residual, "tabletop_hard", perturbations=(("pixel_noise", 1.0),))
    assert watched(noisy).rollout.episode() == run_job(noisy)[1]


def test_a_frame_is_what_the_policy_saw_and_where_the_robot_said_it_is(
    residual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[int, Observation] = {}
    truly: dict[int, np.ndarray] = {}
    infer, observe = BundlePolicy.infer, SimBackend.observe

    def see(policy: BundlePolicy, observation: Observation, *rest: object) -> ActionChunk:
        seen[observation.stamp_ns] = observation
        return infer(policy, observation, *rest)  # type: ignore[arg-type]

    def expose(backend: SimBackend, instruction: str = "") -> Observation:
        truly[backend.world.time_ns] = backend.world.joint_state()[0]
        return observe(backend, instruction)

    monkeypatch.setattr(BundlePolicy, "infer", see)
    monkeypatch.setattr(SimBackend, "observe", expose)
    frames = watched(scene(residual, "tabletop_hard")).frames()
    assert len(seen.keys() & {frame.stamp_ns for frame in frames}) >= 2
    for frame in frames:
        off = np.abs(frame.state - truly[frame.stamp_ns])[:7]
        assert off.mean() > ZEROS, "joints are as the robot says, whose zeros are off"
        if frame.stamp_ns in seen:
            there = seen[frame.stamp_ns]
            assert np.array_equal(frame.state, there.joint_position) and frame.task == there.instruction != ""
            assert np.array_equal(frame.velocity, there.joint_velocity)
            for name, image in there.images.items():
                assert np.array_equal(frame.images[name], image.pixels)


def test_an_action_is_the_command_that_is_due_when_the_next_frame_is_seen(
    residual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `tendon.data.convert` reads it from a recording: the first point of the command due last."""
    due: dict[int, np.ndarray] = {}
    tick = Controller.tick

    def note(controller: Controller, *given: object) -> object:
        found = tick(controller, *given)  # type: ignore[arg-type]
        if found.command is not None:
            trajectory = found.command.trajectory
            due[found.command.stamp_ns + trajectory.time_from_start_ns[0]] = trajectory.position[0]
        return found

    monkeypatch.setattr(Controller, "tick", note)
    found = watched(scene(residual, "tabletop", delay_ns=300_000_000))
    frames = found.frames()
    begin_ns = frames[0].stamp_ns
    assert len(frames) >= 8
    assert [frame.stamp_ns for frame in frames] == [begin_ns + k * 10**8 for k in range(len(frames))]
    waiting = [position for at, position in due.items() if at < begin_ns - 10**8]
    assert len(waiting) > 5 and np.ptp(waiting, axis=0).max() == 0.0, "how an armed robot waits is not learned"
    assert np.abs(frames[0].action - waiting[0]).max() > 1e-3
    for frame in frames:
        last = max(at for at in due if at <= frame.stamp_ns + 10**8)
        assert np.array_equal(frame.action, due[last])
    assert np.ptp([frame.action for frame in frames], axis=0).max() > 0.05, "it moved"


def test_scenes_are_of_training_and_more_of_them_begin_with_the_same(residual: Path) -> None:
    few, many = (recipe.jobs(BUNDLE, residual, "panda", count) for count in (20, 900))
    assert many[:20] == few
    assert len({(job.suite, job.seed) for job in many}) == 900
    for suite, first in recipe.FIRST_SEEDS.items():
        own = [job for job in many if job.suite == suite]
        assert first == own[0].seed and own[-1].seed < 88_000, "demonstrations begin there"
        counts = [sum(job.seed % len(FAMILIES) == k for job in own) for k in range(len(FAMILIES))]
        assert max(counts) - min(counts) <= 1
    assert {job.suite: job.setting.delay_ns for job in few} == {"tabletop_hard": 10**8, "tabletop": 5 * 10**7}


def test_scenes_come_in_their_order_whichever_is_done_first(residual: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = recipe.jobs(BUNDLE, residual, "panda", 7)

    def backwards(function: object, jobs: Sequence[Job], workers: int) -> Iterator[tuple[Job, list[Frame]]]:
        return ((job, []) for job in reversed(jobs))

    monkeypatch.setattr(recipe, "run_in_processes", backwards)
    assert [job for job, _ in recipe.in_order(wanted, 2)] == wanted
    assert not list(recipe.in_order([], 2))


Record = Callable[..., list[dict[str, Any]]]
PROFILE = load_profile("panda")
SIZES = {camera.name: (camera.height, camera.width, 3) for camera in PROFILE.cameras}


def made_up(job: Job) -> list[Frame]:
    """Three frames; none of every fourth scene, which failed."""
    row = np.full(len(PROFILE.joint_names), job.seed % 100, np.float32)
    images = {name: np.full(size, job.seed % 256, np.uint8) for name, size in SIZES.items()}
    numbers = {"state": row, "velocity": row, "action": row}
    return [
        Frame(stamp_ns=(k + 1) * 10**8, images=images, task="pick the red cube", **numbers)
        for k in range(0 if job.seed % 4 == 1 else 3)
    ]


@pytest.fixture
def record(residual: Path, monkeypatch: pytest.MonkeyPatch) -> Record:
    def run(work: Path, scenes: int, cut: int = 1000) -> list[dict[str, Any]]:
        def canned(wanted: Sequence[Job], workers: int) -> Iterator[tuple[Job, list[Frame]]]:
            for k, job in enumerate(wanted):
                if k == cut:
                    raise KeyboardInterrupt
                yield job, made_up(job)

        monkeypatch.setattr(recipe, "in_order", canned)
        options = [str(work), "--residual", str(residual), "--scenes", str(scenes)]
        monkeypatch.setattr(sys, "argv", ["distil_record.py", *options])
        try:
            recipe.main()
        except KeyboardInterrupt:
            assert cut < 1000
        return [json.loads(line) for line in (work / "tried.jsonl").read_text().splitlines()]

    return run


def test_a_cut_run_goes_on_and_failures_are_left_out(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = record(tmp_path / "whole", 12)
    assert len(record(tmp_path / "cut", 12, cut=5)) == 5
    finish = recipe.DatasetWriter.commit

    def killed(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(DatasetWriter, "commit", killed)  # between the line of the log and the episode
    record(tmp_path / "cut", 12, cut=999)
    monkeypatch.setattr(DatasetWriter, "commit", finish)
    assert record(tmp_path / "cut", 12) == whole
    named = [f"{row['suite']} seed-{row['seed']}" for row in whole if row["frames"]]
    assert 0 < len(named) < 12
    for name in ("whole", "cut"):
        dataset = LeRobotDataset(tmp_path / name / "set")
        assert [episode["source"] for episode in dataset.episodes] == named
        pictures = [next(iter(dataset.frames(k))).images["wrist"][0, 0, 0] for k in range(len(named))]
        assert pictures == [int(each.rpartition("-")[2]) % 256 for each in named], "kept without loss"


def test_what_another_residual_did_is_not_mixed_in(record: Record, tmp_path: Path) -> None:
    rows = record(tmp_path, 4)
    log = tmp_path / "tried.jsonl"
    with pytest.raises(ConfigError, match=r"is of residual .*take another folder"):
        recipe.so_far(log, 3, "0" * 64)
    log.write_text("")
    with pytest.raises(ConfigError, match="lacks some of the 3 episodes"):
        record(tmp_path, 4)
    assert len(rows) == 4


def test_a_scene_goes_through_a_worker_into_a_dataset_that_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shipped residual, as the recipe runs it."""
    residual = RECIPES.parent / "bundles" / "residuals" / "tabletop"
    options = [str(tmp_path), "--residual", str(residual), "--scenes", "1", "--workers", "1"]
    monkeypatch.setattr(sys, "argv", ["distil_record.py", *options])
    recipe.main()
    (row,) = [json.loads(line) for line in (tmp_path / "tried.jsonl").read_text().splitlines()]
    dataset = LeRobotDataset(tmp_path / "set")
    assert [episode["length"] for episode in dataset.episodes] == [row["frames"]]
    assert dataset.shape.codec == "png" and dataset.episodes[0]["outcome"] == "success"

"""Deliberately bad demonstrations are told from good ones, each by its own measure, and left out first."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from tendon.cli import main
from tendon.core.errors import InstructionError, MismatchError
from tendon.core.types import ActionChunk, Observation
from tendon.data.lerobot.reader import LeRobotDataset
from tendon.data.lerobot.writer import DatasetWriter, Frame
from tendon.data.quality.agreement import Agreement
from tendon.data.quality.curation import curate
from tendon.data.quality.measures import FEWEST, EpisodeQuality, compare, measure, peers
from tendon.robots.profile import load_profile
from tests.data.episodes import CAMERAS, FPS, PROFILE, picture, shape

LENGTH, GOOD = 40, 5
BAD = ("jerky", "idle", "frozen", "dark", "gap", "other", "failure")


def demonstration(root: Path, kind: str, number: int, task: str = "reach") -> None:
    """One reach with a little noise of its own; `kind` says what is wrong with it."""
    rng, home = np.random.default_rng(number), PROFILE.vector("home")
    appender = DatasetWriter(root, shape()).begin()
    ramp = np.clip(np.arange(LENGTH + 1) / LENGTH, 0.0, 1.0)
    if kind == "idle":
        ramp = np.clip(2.0 * ramp - 1.0, 0.0, 1.0) ** 2
    way = np.zeros_like(home)
    way[:3] = 0.5 + 0.02 * rng.normal(size=3)
    if kind == "other":
        way[:3] = -0.5
    states = home + ramp[:, None] * way
    if kind == "jerky":
        states[:, 0] += 0.02 * rng.normal(size=LENGTH + 1)
    for k in range(LENGTH):
        at = k + 10 * (kind == "gap" and k > 20)
        still = 10 if kind == "frozen" and k > 10 else k
        images = {camera.name: picture(camera, still) // (40 if kind == "dark" else 1) for camera in CAMERAS}
        appender.add(
            Frame(
                stamp_ns=(number + 1) * 10**12 + at * 10**9 // FPS,
                state=states[k],
                velocity=np.zeros_like(home),
                action=states[k + 1],
                images=images,
                task=task,
            )
        )
    appender.finish(f"{kind}-{number}", "failure" if kind == "failure" else "success")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("quality") / "set"
    for number in range(GOOD):
        demonstration(folder, "good", number)
    for number, kind in enumerate(BAD, start=GOOD):
        demonstration(folder, kind, number)
    return folder


@pytest.fixture(scope="module")
def measured(root: Path) -> dict[str, EpisodeQuality]:
    dataset = LeRobotDataset(root)
    found = [measure(dataset, number) for number in range(len(dataset))]
    beside = compare([rows for _, rows in found], [each.task for each, _ in found])
    episodes = [replace(each, divergence=a, diversity=b) for (each, _), (a, b) in zip(found, beside, strict=True)]
    kinds = [*["good"] * GOOD, *BAD]
    return {f"{kind}-{k}": each for k, (kind, each) in enumerate(zip(kinds, episodes, strict=True))}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("jerky", "jerk"),
        ("idle", "idle"),
        ("frozen", "frozen"),
        ("dark", "dark"),
        ("gap", "gaps"),
        ("gap", "sync"),
        ("other", "divergence"),
    ],
)
def test_each_fault_shows_in_its_own_measure(measured: dict[str, EpisodeQuality], kind: str, name: str) -> None:
    bad = next(getattr(each, name) for key, each in measured.items() if key.startswith(kind))
    good = [getattr(each, name) for key, each in measured.items() if key.startswith("good")]
    assert bad > 1.5 * max(good) + 0.05


def test_half_of_the_set_is_the_good_half(measured: dict[str, EpisodeQuality]) -> None:
    verdicts = curate(list(measured.values()), GOOD / len(measured))
    kept = {verdict.number for verdict in verdicts if verdict.kept}
    assert kept == set(range(GOOD)), [(v.number, v.score, v.why) for v in verdicts]
    assert all(verdict.why for verdict in verdicts if not verdict.kept)


class Knowing:
    """A policy that knows which way the arm goes when it is told so."""

    ways: ClassVar[dict[str, float]] = {"reach": 0.5, "leave": -0.5}

    def infer(self, observation: Observation, prefix: object = None, frozen: object = None) -> ActionChunk:
        if observation.instruction not in self.ways:
            raise InstructionError(observation.instruction)
        step_ns, rows = 10**8, np.tile(observation.joint_position, (16, 1))
        rate = self.ways[observation.instruction] * FPS / LENGTH
        rows[:, :3] += rate * 0.1 * np.arange(1, 17)[:, None]
        stamp_ns = observation.stamp_ns
        return ActionChunk(actions=rows, start_ns=stamp_ns + step_ns, step_ns=step_ns, observation_stamp_ns=stamp_ns)


def test_a_policy_tells_what_was_done_under_a_wrong_name(tmp_path: Path) -> None:
    told = (
        [("good", "reach")] * 3 + [("other", "leave")] * 2 + [("other", "reach"), ("good", "leave"), ("good", "dance")]
    )
    for number, (kind, task) in enumerate(told):
        demonstration(tmp_path / "set", kind, number, task)
    dataset = LeRobotDataset(tmp_path / "set")
    agreement = Agreement(dataset, Knowing(), PROFILE.joint_names)
    found = np.array([agreement.of(number) for number in range(len(dataset))])
    assert (found[:5, 1] == 0.0).all() and (found[5:7, 1] == 1.0).all()
    assert np.isnan(found[7]).all()
    assert found[5:7, 0].min() > 5 * found[:5, 0].max()
    one, _ = measure(dataset, 0)
    episodes = [replace(one, number=k, disagreement=a, otherwise=b) for k, (a, b) in enumerate(found)]
    left = {verdict.number: verdict.why for verdict in curate(episodes, 1.0) if not verdict.kept}
    assert left == dict.fromkeys((5, 6), "other instructions fit better than its own")


def test_a_policy_of_another_robot_is_refused(root: Path) -> None:
    with pytest.raises(MismatchError, match="name a policy of that robot"):
        Agreement(LeRobotDataset(root), Knowing(), load_profile("so101").joint_names)


def test_the_page_stands_alone_and_the_kept_half_is_a_dataset(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, keep = tmp_path / "q.html", tmp_path / "kept"
    assert main(["data", "quality", str(root), "--out", str(page), "--curate", "0.42", "--keep", str(keep)]) == 0
    text = page.read_text()
    assert text.count("data:image/jpeg") == 3 * (GOOD + len(BAD)) and "left out because" in text
    assert not re.search(r"(src|href)=.?(http|/)|<script", text)
    assert len(LeRobotDataset(keep)) == GOOD
    assert "it failed" in capsys.readouterr().out
    assert main(["data", "quality", str(root), "--curate", "2"]) == 2


def test_instructions_that_were_said_seldom_are_judged_together(measured: dict[str, EpisodeQuality]) -> None:
    one_by_one = [replace(each, task=f"reach {k}") for k, each in enumerate(measured.values())]
    verdicts = curate(one_by_one, GOOD / len(measured))
    assert {verdict.number for verdict in verdicts if verdict.kept} == set(range(GOOD))
    assert peers(["a"] * FEWEST + ["b", "c"]) == [list(range(FEWEST)), [FEWEST, FEWEST + 1]]
    assert peers([]) == []

"""A training run of a residual: episodes from processes in, a small ONNX out. It goes on where it was left."""

from __future__ import annotations

import itertools
import json
import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tendon.evaluation.residual_rollouts import Experience, Exploration, Task, Workers
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.residual.bundle import write_residual
from tendon.robots.profile import load_profile

if TYPE_CHECKING:
    from tendon.policies.training.residual.learner import Settings

EPISODES, LOG_FILE, RUN_FILE = "episodes", "log.jsonl", "run.json"
STATE_FILE, PROJECTION_FILE = "state.safetensors", "projection.safetensors"
RECENT = 200
"""Episodes that the success in the log is of."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What makes a run, beside its task.

    Attributes:
        minutes: of all sessions together; 0 is no limit.
        steps: of all episodes together.
        prefill_steps: in which the base acts, with exploration, before anything is learned.
        warm_up: updates of the critics alone.
        updates_per_step: at most.
        publish_every: updates until episodes get a newer actor.
        components: of the base's embedding.
        prefill, exploration: what is tried beside the actor, before and during training.
        seed: of weights, batches and the order of scenes.
        first_scene: of the training scenes.
    """

    minutes: float = 120.0
    steps: int = 75_000
    prefill_steps: int = 10_000
    warm_up: int = 3_000
    updates_per_step: float = 3.0
    publish_every: int = 500
    components: int = 48
    prefill: Exploration = field(default_factory=Exploration)
    exploration: Exploration = field(default_factory=lambda: Exploration(noise=0.1, offset=0.3))
    seed: int = 0
    first_scene: int = 0


class ResidualRun:
    """A folder: `episodes`, the `state` to go on from, `residual.onnx`, `run.json` and `log.jsonl`.

    Args:
        folder: of this run; one that holds episodes and a state goes on from there.
        task: what is tried.
        recipe: see `Recipe`.
        settings: of the learner.
    """

    def __init__(self, folder: Path, task: Task, recipe: Recipe, settings: Settings) -> None:
        self._folder, self._task, self._recipe, self._settings = folder, task, recipe, settings
        self._base = load_bundle(task.bundle)
        (folder / EPISODES).mkdir(parents=True, exist_ok=True)
        self._passed_s = 0.0
        self._recent = {(suite, plain): deque[bool](maxlen=RECENT) for suite in task.suites for plain in (True, False)}
        self.steps = self.episodes = 0

    def train(self, workers: int, report: Callable[[int, str], None] = lambda steps, text: None) -> None:
        """Runs episodes and learns, until the recipe's steps or minutes are over.

        Args:
            workers: processes that run episodes.
            report: is told how many steps were made, and how it goes.
        """
        from tendon.policies.training.residual.export import actor_graph
        from tendon.policies.training.residual.learner import Learner
        from tendon.policies.training.residual.projection import find_projection, load_projection
        from tendon.policies.training.residual.replay import Replay

        recipe, space = self._recipe, self._task.space
        replay = Replay(self._settings.steps, self._settings.discount)
        begin_s, threads = time.monotonic(), max(1, len(os.sched_getaffinity(0)) - workers)
        known = self._known()
        first = recipe.first_scene + len(known)
        held: list[Experience] = list(known)
        self.steps, self.episodes = sum(len(each.actions) for each in held), len(held)
        with Workers(self._task, itertools.count(first), workers, recipe.prefill) as running:
            while self.steps < recipe.prefill_steps:
                for episode in running.ended(None):
                    held.append(self._keep(episode))
                report(self.steps, f"prefill, {self._rate(False)} succeeded")
            place = self._folder / PROJECTION_FILE
            if not place.is_file():
                observations = np.concatenate([each.observations for each in held])
                find_projection(observations, space.embedding, recipe.components).save(place)
            projection = load_projection(place)
            for each in held:
                replay.add(projection(each.observations), each.facts, each.actions, each.success)
            seen, facts = projection.matrix.shape[1], held[0].facts.shape[1]
            learner = Learner(replay, seen, facts, space.actions, self._settings, recipe.seed, threads)
            self._resume(learner)
            held.clear()
            logs: dict[str, list[float]] = {}
            while self.steps < recipe.steps and not self._over(begin_s):
                warming = learner.updates < recipe.warm_up
                allowed = recipe.updates_per_step * (self.steps - recipe.prefill_steps)
                due = warming or learner.updates - recipe.warm_up < allowed
                for episode in running.ended(0.0 if due else 1.0):
                    self._keep(episode)
                    replay.add(projection(episode.observations), episode.facts, episode.actions, episode.success)
                if not due:
                    continue
                for name, value in learner.update(actor=not warming).items():
                    logs.setdefault(name, []).append(value)
                if learner.updates % recipe.publish_every == 0:
                    graph = actor_graph(learner.actor, projection)
                    if not warming:
                        running.use(graph, recipe.exploration)
                    self._save(learner, graph, begin_s, {name: float(np.mean(each)) for name, each in logs.items()})
                    logs.clear()
                    doing = "warm-up of the critics" if warming else f"{self._rate(True)} succeeded without exploration"
                    report(self.steps, f"{learner.updates} updates, {doing}")
            self._save(learner, actor_graph(learner.actor, projection), begin_s, {})

    def _over(self, begin_s: float) -> bool:
        return 0 < self._recipe.minutes * 60 <= self._passed_s + time.monotonic() - begin_s

    def _rate(self, plain: bool) -> str:
        """Returns how many of the last episodes of each suite succeeded."""
        recent = [self._recent[suite, plain] for suite in self._task.suites]
        return " and ".join(f"{sum(each)}/{len(each)}" for each in recent)

    def _keep(self, episode: Experience) -> Experience:
        """Writes an episode and counts it."""
        path = self._folder / EPISODES / f"{self.episodes:06d}.npz"
        np.savez_compressed(
            path,
            seed=episode.seed,
            family=episode.family,
            success=episode.success,
            plain=episode.plain,
            observations=episode.observations.astype(np.float16),
            facts=episode.facts,
            actions=episode.actions.astype(np.float16),
        )
        self.episodes, self.steps = self.episodes + 1, self.steps + len(episode.actions)
        self._recent[self._task.suite_of(episode.seed), episode.plain].append(episode.success)
        return episode

    def _known(self) -> list[Experience]:
        """Returns the episodes of earlier sessions, in order."""
        found = []
        for path in sorted((self._folder / EPISODES).glob("*.npz")):
            with np.load(path) as rows:
                found.append(
                    Experience(
                        seed=int(rows["seed"]),
                        family=str(rows["family"]),
                        success=bool(rows["success"]),
                        plain=bool(rows["plain"]),
                        observations=rows["observations"].astype(np.float32),
                        facts=rows["facts"],
                        actions=rows["actions"].astype(np.float32),
                    )
                )
        return found

    def _resume(self, learner: Any) -> None:
        path = self._folder / STATE_FILE
        if path.is_file():
            learner.load(path)
            self._passed_s = float(json.loads((self._folder / RUN_FILE).read_text())["passed_s"])

    def _save(self, learner: Any, graph: bytes, begin_s: float, log: dict[str, float]) -> None:
        """Writes everything that is needed to go on, and the newest actor."""
        passed_s = self._passed_s + time.monotonic() - begin_s
        learner.save(self._folder / STATE_FILE)
        about: dict[str, Any] = {
            "recipe": asdict(self._recipe),
            "settings": asdict(self._settings),
            "task": {**asdict(self._task), "bundle": str(self._task.bundle)},
            "passed_s": round(passed_s, 1),
            "steps": self.steps,
            "episodes": self.episodes,
            "updates": learner.updates,
        }
        (self._folder / RUN_FILE).write_text(json.dumps(about, indent=1))
        write_residual(
            self._folder,
            graph,
            profile=load_profile(self._task.robot),
            space=self._task.space,
            base=self._base.manifest.name,
            base_digest=self._base.digest,
            training={
                **about["recipe"],
                "suite": " ".join(self._task.suites),
                "steps": self.steps,
                "updates": learner.updates,
            },
        )
        rates = {
            f"{'plain' if plain else 'explored'} {suite}": float(np.mean(recent))
            for (suite, plain), recent in self._recent.items()
            if recent
        }
        row = {"passed_s": round(passed_s, 1), "steps": self.steps, "updates": learner.updates, **rates, **log}
        with (self._folder / LOG_FILE).open("a") as file:
            file.write(json.dumps({name: round(float(value), 5) for name, value in row.items()}) + "\n")

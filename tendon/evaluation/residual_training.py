"""A training run of a residual: episodes from processes in, a small ONNX out. It goes on where it was left."""

from __future__ import annotations

import io
import itertools
import json
import os
import time
import zipfile
import zlib
from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tendon.core.errors import ConfigError
from tendon.core.files import replace_file
from tendon.evaluation.evaluate import FIRST_SEED
from tendon.evaluation.residual_rollouts import PROGRESS, Experience, Exploration, Task, Workers
from tendon.evaluation.suite_file import suite_digest
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.inference.identity import policy_digest
from tendon.policies.progress.estimator import ESTIMATOR_GRAPH
from tendon.policies.residual.bundle import RESIDUAL_FILE, write_residual
from tendon.robots.digest import profile_digest
from tendon.robots.profile import load_profile

if TYPE_CHECKING:
    from tendon.control.residual.space import ResidualSpace
    from tendon.policies.training.residual.learner import Settings

EPISODES, RUN_FILE = "episodes", "run.json"
STATE_FILE, PROJECTION_FILE = "state.safetensors", "projection.safetensors"
FREE = (("recipe", "minutes"), ("recipe", "steps"))
"""What may differ between the sessions of a run."""
PROFILE = "profile_digest"
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
        seed: of weights and batches. What is tried in a scene depends on its seed, and scenes come in order.
        first_scene: of the training scenes.

    Minutes and steps may differ from session to session of a run, all else may not.
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


def training_scenes(first: int, known: Collection[int]) -> Iterator[int]:
    """Returns seeds to train on, from `first` on and around, never one to evaluate on; those not tried yet come first.

    Args:
        first: below `FIRST_SEED`.
        known: seeds that were tried.
    """
    scenes = [*range(first, FIRST_SEED), *range(first)]
    tried = set(known)
    return itertools.chain((seed for seed in scenes if seed not in tried), itertools.cycle(scenes))


class ResidualRun:
    """A folder: `episodes`, the `state` to go on from, `residual.onnx`, `run.json` and the log.

    Args:
        folder: of this run; one that holds episodes and a state goes on from there.
        task: what is tried.
        recipe: see `Recipe`.
        settings: of the learner.

    Raises:
        ConfigError: the folder is of a run with another base, task, recipe or learner, or is damaged.
    """

    def __init__(self, folder: Path, task: Task, recipe: Recipe, settings: Settings) -> None:
        self._folder, self._task, self._recipe, self._settings = folder, task, recipe, settings
        self._base = load_bundle(task.bundle)
        self._suites = [_identified(suite) for suite in task.suites]
        (folder / EPISODES).mkdir(parents=True, exist_ok=True)
        self._profile = profile_digest(load_profile(task.robot))
        self._passed_s = self._begun()
        self._begin_s = time.monotonic()
        self._recent = {(suite, plain): deque[bool](maxlen=RECENT) for suite in task.suites for plain in (True, False)}
        self._acts = False
        self.steps = self.episodes = 0

    def train(self, workers: int, report: Callable[[int, str], None] = lambda steps, text: None) -> bool:
        """Runs episodes and learns, until the recipe's steps or minutes are over.

        Args:
            workers: processes that run episodes.
            report: is told how many steps were made, and how it goes.

        Returns:
            Whether there is a residual now: none where minutes or steps ended before anything was learned.

        Raises:
            ConfigError: an episode, the projection or the networks of an earlier session are damaged.
            WorkerError: a process that ran episodes ended.
        """
        from tendon.policies.training.log import TrainingLog
        from tendon.policies.training.projection import find_projection, load_projection
        from tendon.policies.training.residual.export import actor_graph
        from tendon.policies.training.residual.learner import Learner
        from tendon.policies.training.residual.replay import Replay

        recipe, space = self._recipe, self._task.space
        replay = Replay(self._settings.steps, self._settings.discount)
        threads = max(1, len(os.sched_getaffinity(0)) - workers)
        held = self._known()
        self.steps, self.episodes = sum(len(each.actions) for each in held), len(held)
        self._note()
        scenes = training_scenes(recipe.first_scene, [each.seed for each in held])
        with (
            TrainingLog(self._folder, "steps") as log,
            Workers(self._task, scenes, workers, recipe.prefill) as running,
        ):
            while self.steps < recipe.prefill_steps:
                if self._over():
                    return False
                for episode in running.ended(1.0):
                    held.append(self._keep(episode))
                report(self.steps, f"prefill, {self._rate(False)} succeeded")
            place = self._folder / PROJECTION_FILE
            if not place.is_file():
                observations = np.concatenate([each.observations for each in held])
                find_projection(observations, space.embedding, recipe.components).save(place)
            projection = load_projection(place)
            if (width := projection.matrix.shape[0]) != space.observations:
                raise ConfigError(
                    f"{place} is damaged (of {width} numbers, the residual sees {space.observations}): copy it again, "
                    "or name another folder"
                )

            def remember(episode: Experience) -> None:
                seen, kept = projection(episode.observations), self._task.suite_of(episode.seed) in self._task.kept
                replay.add(seen, episode.facts, episode.actions, episode.rewards, episode.success, kept)

            for each in held:
                remember(each)
            seen, facts = projection.matrix.shape[1], held[0].facts.shape[1]
            learner = Learner(replay, seen, facts, space.actions, self._settings, recipe.seed, threads)
            self._resume(learner)
            held.clear()
            if learner.updates > recipe.warm_up:
                self._act(running, actor_graph(learner.actor, projection))
            means: dict[str, list[float]] = {}
            while self.steps < recipe.steps and not self._over():
                warming = learner.updates < recipe.warm_up
                allowed = recipe.updates_per_step * (self.steps - recipe.prefill_steps)
                due = warming or learner.updates - recipe.warm_up < allowed
                for episode in running.ended(0.0 if due else 1.0):
                    remember(self._keep(episode))
                if not due:
                    continue
                for name, value in learner.update(actor=not warming).items():
                    means.setdefault(name, []).append(value)
                if learner.updates % recipe.publish_every == 0:
                    graph = actor_graph(learner.actor, projection)
                    if not warming:
                        self._act(running, graph)
                    self._save(learner, graph)
                    log.add(self._row(learner.updates, {name: float(np.mean(each)) for name, each in means.items()}))
                    means.clear()
                    doing = "warm-up of the critics" if warming else f"{self._rate(True)} succeeded without exploration"
                    report(self.steps, f"{learner.updates} updates, {doing}")
            if learner.updates:
                self._save(learner, actor_graph(learner.actor, projection))
                log.add(self._row(learner.updates, {}))
        return learner.updates > recipe.warm_up

    def _act(self, running: Workers, graph: bytes) -> None:
        """Has episodes use an actor; what came of those before any acted says nothing of it, and is forgotten."""
        if not self._acts:
            self._acts = True
            for each in self._recent.values():
                each.clear()
        running.use(graph, self._recipe.exploration)

    def _passed(self) -> float:
        """Returns for how long all sessions together have run [s]."""
        return self._passed_s + time.monotonic() - self._begin_s

    def _over(self) -> bool:
        return 0 < self._recipe.minutes * 60 <= self._passed()

    def _about(self) -> dict[str, Any]:
        """Returns what makes the run, as JSON gives it back."""
        known = {"bundle": policy_digest(self._base.manifest), "suites": self._suites, PROFILE: self._profile}
        if self._task.reward == PROGRESS:
            known["reward"] = f"{PROGRESS} ({self._base.manifest.files.get(ESTIMATOR_GRAPH, '')[:12]})"
        task = {**asdict(self._task), **known}
        about = {"task": task, "recipe": asdict(self._recipe), "settings": asdict(self._settings)}
        found: dict[str, Any] = json.loads(json.dumps(about))
        return found

    def _begun(self) -> float:
        """Returns for how long earlier sessions ran [s]; they must have been of the same run."""
        path, there = self._folder / RUN_FILE, sum(1 for _ in (self._folder / EPISODES).glob("*.npz"))
        if not path.is_file():
            if there or (self._folder / STATE_FILE).exists() or (self._folder / RESIDUAL_FILE).exists():
                raise ConfigError(
                    f"{path} is missing, which says what was begun: copy it again, or name another folder"
                )
            return 0.0
        try:
            before = json.loads(path.read_text(encoding="utf-8"))
            changed = [
                (name, before[part].get(name), value)
                for part, values in self._about().items()
                for name, value in values.items()
                if (part, name) not in FREE
                and before[part].get(name) != value
                and (name != PROFILE or name in before[part])  # runs of before do not say it
            ]
            passed_s, counted = float(before["passed_s"]), int(before.get("episodes", 0))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ConfigError(f"{path} is damaged ({error!r}): name another folder") from error
        for name, begun, value in changed:
            raise ConfigError(
                f"{self._folder} was begun with {name} {begun}, and is to go on with {value}: "
                "name another folder for another run"
            )
        if there < counted:
            raise ConfigError(
                f"{self._folder / EPISODES} has {there} episodes, {path.name} counts {counted}: copy the others too, "
                "or name another folder"
            )
        return passed_s

    def _note(self, **more: int) -> None:
        """Writes what makes the run and how far it is."""
        about = {**self._about(), "passed_s": round(self._passed(), 1), "steps": self.steps, "episodes": self.episodes}
        replace_file(self._folder / RUN_FILE, json.dumps({**about, **more}, indent=1).encode())

    def _rate(self, plain: bool) -> str:
        """Returns how many of the last episodes of each suite succeeded."""
        recent = [self._recent[suite, plain] for suite in self._task.suites]
        return " and ".join(f"{sum(each)}/{len(each)}" for each in recent)

    def _keep(self, episode: Experience) -> Experience:
        """Writes an episode and counts it."""
        path = self._folder / EPISODES / f"{self.episodes:06d}.npz"
        content = io.BytesIO()
        np.savez_compressed(
            content,
            seed=episode.seed,
            family=episode.family,
            success=episode.success,
            plain=episode.plain,
            observations=episode.observations.astype(np.float16),
            facts=episode.facts,
            actions=episode.actions.astype(np.float16),
            rewards=episode.rewards,
        )
        replace_file(path, content.getvalue())
        self.episodes, self.steps = self.episodes + 1, self.steps + len(episode.actions)
        self._recent[self._task.suite_of(episode.seed), episode.plain].append(episode.success)
        self._note()
        return episode

    def _known(self) -> list[Experience]:
        """Returns the episodes of earlier sessions, in order.

        Raises:
            ConfigError: one is damaged, or of another run.
        """
        found = list[Experience]()
        for path in sorted((self._folder / EPISODES).glob("*.npz")):
            try:
                episode = _read(path)
                _check(episode, self._task.space, (found or [episode])[0].facts.shape[-1])
            except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
                raise ConfigError(f"{path} is damaged ({error}): name another folder, or copy it again") from error
            found.append(episode)
        return found

    def _resume(self, learner: Any) -> None:
        path = self._folder / STATE_FILE
        if path.is_file():
            learner.load(path)

    def _save(self, learner: Any, graph: bytes) -> None:
        """Writes everything that is needed to go on, and the newest actor once it has learned."""
        learner.save(self._folder / STATE_FILE)
        self._note(updates=learner.updates)
        if learner.updates <= self._recipe.warm_up:
            return
        write_residual(
            self._folder,
            graph,
            profile=load_profile(self._task.robot),
            space=self._task.space,
            base=self._base.manifest.name,
            base_digest=policy_digest(self._base.manifest),
            training={
                **asdict(self._recipe),
                "suite": " ".join(self._suites),
                "kept": " ".join(self._task.kept),
                "reward": self._task.reward,
                "steps": self.steps,
                "updates": learner.updates,
            },
        )

    def _row(self, updates: int, means: dict[str, float]) -> dict[str, float]:
        """Returns a row of the log: how far it is, how many of the last episodes succeeded, and what was learned.

        Episodes count from when the actor acts: those before are of the base alone.
        """
        rates = {
            f"{'plain' if plain else 'explored'} {suite}": float(np.mean(recent))
            for (suite, plain), recent in self._recent.items()
            if recent and self._acts
        }
        row = {"passed_s": self._passed(), "steps": self.steps, "updates": updates, **rates, **means}
        return {name: round(float(value), 5) for name, value in row.items()}


def _identified(suite: str) -> str:
    """Returns the name of a suite; of a file with a hash of what it says."""
    digest = suite_digest(suite)
    return f"{suite} ({digest})" if digest else suite


def _read(path: Path) -> Experience:
    with np.load(path) as rows:
        return Experience(
            seed=int(rows["seed"]),
            family=str(rows["family"]),
            success=bool(rows["success"]),
            plain=bool(rows["plain"]),
            observations=rows["observations"].astype(np.float32),
            facts=rows["facts"],
            actions=rows["actions"].astype(np.float32),
            rewards=rows["rewards"],
        )


def _check(episode: Experience, space: ResidualSpace, facts: int) -> None:
    """Wants T actions with T + 1 observations before, between and after them, all of them finite.

    Raises:
        ValueError: it is another.
    """
    steps = max(1, len(episode.actions))
    shapes = {
        "observations": (steps + 1, space.observations),
        "facts": (steps + 1, facts),
        "actions": (steps, space.actions),
        "rewards": (steps,),
    }
    for name, shape in shapes.items():
        rows = getattr(episode, name)
        if rows.shape != shape:
            raise ValueError(f"{name} of shape {rows.shape}, must be {shape}")
        if not np.isfinite(rows).all():
            raise ValueError(f"{name} that are not all finite")

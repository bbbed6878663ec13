"""Episodes of a residual in several processes, as its training needs them: what was seen, done and came of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tendon.control.residual.space import ResidualSpace
from tendon.core.errors import TendonError, WorkerError
from tendon.core.types import Array
from tendon.evaluation.episode import Setting
from tendon.evaluation.residual_env import FACTS, ResidualEnv
from tendon.evaluation.suite_file import is_suite_file, read_suite_file
from tendon.evaluation.suites import load_suite
from tendon.evaluation.workers import Worker
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.residual.graph import ResidualGraph
from tendon.robots.profile import load_profile
from tendon.sim.simulators import AUTO
from tendon.sim.suite import World

Rows = npt.NDArray[np.float32]
REWARDS = SUCCESS, PROGRESS = "success", "progress"
HOLD_STEPS = 4
"""Steps for which an offset that is tried stays the same, on average: long enough to reach a thing and close on it."""
LEFT_OUT = 20
"""Scenes that could not be played, one after the other, from which it is not the scenes that are wrong."""
USUAL_DELAY_S = 0.05
"""Of inference, in a suite that names none: about what the shipped policy takes in the graph."""


def usual_setting(suite: str) -> Setting:
    """Returns how episodes of a suite, or of a file of one, are run: with its own delay, or the usual one."""
    said = read_suite_file(Path(suite)).delay_s if is_suite_file(suite) else None
    delay_s = said if said is not None else load_suite(suite).difficulty.delay_s or USUAL_DELAY_S
    return Setting(delay_ns=round(delay_s * 1e9))


@dataclass(frozen=True, kw_only=True)
class Exploration:
    """What is added to an actor's answer to find better ones.

    Attributes:
        noise: standard deviation of what changes at each step.
        offset: largest offset that is held for a while.
        plain: share of episodes in which nothing is added.
    """

    noise: float = 0.025
    offset: float = 0.5
    plain: float = 0.3


@dataclass(frozen=True, kw_only=True)
class Task:
    """What episodes are made of: the world, and the base that is corrected in it.

    Attributes:
        suites: each has its share of episodes; the scene of a seed is of the same one each time.
        kept: those of them in which the base is to be left as it is.
        switches: up to two thirds of the episodes are of a second task, see `ResidualEnv`.
        reward: one of `REWARDS`: the simulator says what is done, or the base's own estimate of its progress does.
    """

    bundle: Path
    robot: str
    suites: tuple[str, ...]
    space: ResidualSpace
    simulator: str = AUTO
    reward: str = SUCCESS
    kept: tuple[str, ...] = ()
    switches: bool = True

    def suite_of(self, seed: int) -> str:
        """Returns of which suite the scene of a training seed is.

        It is drawn: families of tasks go round with the seed, so suites that did too would have half of them each.
        """
        return self.suites[int(np.random.default_rng([seed, 31]).integers(len(self.suites)))]

    def open(self, suite: str) -> ResidualEnv:
        """Returns the environment of a suite."""
        profile = load_profile(self.robot)

        def base(world: World) -> BundlePolicy:
            return BundlePolicy(load_bundle(self.bundle), profile, threads=1)

        found = load_suite(suite)
        oracle = self.reward == SUCCESS
        setting = usual_setting(suite)
        return ResidualEnv(found, profile, base, self.space, setting, self.simulator, oracle, self.switches)


@dataclass(frozen=True, kw_only=True, eq=False)
class Experience:
    """One episode of T steps.

    Attributes:
        seed: of its scene.
        family: of its task.
        success: whether it was done, as far as the reward knows.
        plain: whether nothing was explored.
        observations: (T + 1, O).
        facts: (T + 1, F) what the simulator knows.
        actions: (T, A) that were carried out.
        rewards: (T,) after each.
    """

    seed: int
    family: str
    success: bool
    plain: bool
    observations: Rows
    facts: Rows
    actions: Rows
    rewards: Rows


def run_episode(env: ResidualEnv, seed: int, graph: ResidualGraph | None, exploration: Exploration) -> Experience:
    """Runs an episode; without a graph the residual is what is explored alone.

    The same seed explores in the same way.
    """
    rng = np.random.default_rng([seed, 29])
    actions = int(env.action_space.shape[0]) if env.action_space.shape else 0
    explores = rng.random() >= exploration.plain
    offset = np.zeros(actions)
    observation, info = env.reset(seed=seed)
    observations, facts, done, rewards = [observation], [info[FACTS]], list[Array](), list[float]()
    over = False
    while not over:
        action = np.zeros(actions) if graph is None else graph.act(observation)
        if explores:
            if rng.random() < 1 / HOLD_STEPS:
                offset = rng.uniform(-exploration.offset, exploration.offset, actions)
            action = action + offset + exploration.noise * rng.standard_normal(actions)
        action = np.clip(action, -1.0, 1.0)
        observation, reward, ended, truncated, info = env.step(action)
        over = ended or truncated
        done.append(action)
        rewards.append(reward)
        observations.append(observation)
        facts.append(info[FACTS])
    return Experience(
        seed=seed,
        family=str(info["family"]),
        success=bool(info["success"]),
        plain=not explores,
        observations=np.array(observations, np.float32),
        facts=np.array(facts, np.float32),
        actions=np.array(done, np.float32),
        rewards=np.array(rewards, np.float32),
    )


@dataclass(frozen=True, kw_only=True)
class Asked:
    """An episode that a process is asked for: its scene, the actor, and what is added to that."""

    seed: int
    graph: bytes | None = field(default=None, repr=False)
    exploration: Exploration = field(repr=False)


class Player:
    """Runs episodes, each in the environment of its suite, which is kept for the next one.

    Args:
        task: of all episodes.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._envs: dict[str, ResidualEnv] = {}
        self._known: tuple[bytes, ResidualGraph] | None = None

    def __call__(self, asked: Asked) -> Experience:
        """Runs one."""
        suite = self._task.suite_of(asked.seed)
        if suite not in self._envs:
            self._envs[suite] = self._task.open(suite)
        if asked.graph is not None and (self._known is None or asked.graph != self._known[0]):
            self._known = asked.graph, ResidualGraph(asked.graph)
        graph = None if asked.graph is None or self._known is None else self._known[1]
        return run_episode(self._envs[suite], asked.seed, graph, asked.exploration)


class Workers:
    """Processes that run episodes one after the other, each with the newest actor it was sent.

    The first begin when `ended` is called first: `use` before that is in force from the first episode on.

    Args:
        task: of all episodes.
        seeds: of their scenes, handed out in order; one list for all.
        count: processes.
        exploration: of all episodes.
    """

    def __init__(self, task: Task, seeds: Iterator[int], count: int, exploration: Exploration) -> None:
        self._task, self._seeds, self._exploration = task, seeds, exploration
        self._graph: bytes | None = None
        self._left_out = 0
        self._workers = [Worker[Asked, Experience](Player(task)) for _ in range(count)]

    def __enter__(self) -> Workers:
        """Returns itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the processes."""
        for worker in self._workers:
            worker.end()

    def use(self, graph: bytes, exploration: Exploration | None = None) -> None:
        """Has episodes that begin from now on use an actor, and explore in another way."""
        self._graph, self._exploration = graph, exploration or self._exploration

    def ended(self, timeout_s: float | None = 0.0) -> list[Experience]:
        """Returns episodes that ended since the last call, and has others begin.

        A scene that could not be played is left out, with a line that says why.

        Args:
            timeout_s: how long to wait for one; `None` waits until there is one.

        Raises:
            WorkerError: a process was killed, or `LEFT_OUT` scenes in a row were left out.
        """
        for worker in self._workers:
            if worker.job is None:
                self._ask(worker)
        found = []
        ready = wait([worker.connection for worker in self._workers], timeout_s)
        for worker in self._workers:
            if worker.connection not in ready:
                continue
            try:
                found.append(worker.result())
                self._left_out = 0
            except WorkerError as error:
                raise WorkerError(f"{error}; the same command goes on") from None
            except TendonError as error:
                self._leave_out(worker.job, error)
            self._ask(worker)
        return found

    def _ask(self, worker: Worker[Asked, Experience]) -> None:
        worker.take(Asked(seed=next(self._seeds), graph=self._graph, exploration=self._exploration))

    def _leave_out(self, asked: Asked | None, error: TendonError) -> None:
        problem = str(error) if asked is None else f"scene {asked.seed} of {self._task.suite_of(asked.seed)}: {error}"
        print(f"left out: {problem}")
        self._left_out += 1
        if self._left_out >= LEFT_OUT:
            raise WorkerError(f"{self._left_out} scenes in a row could not be played; the last is {problem}")

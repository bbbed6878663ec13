"""Counts the successes of a policy on scenes that it was not trained on: one call, one frozen answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING

from tendon.core.checks import check_count, check_number, closest
from tendon.core.errors import ConfigError
from tendon.core.protocols import Policy
from tendon.evaluation.statistics import Proportion, wilson

if TYPE_CHECKING:
    from tendon.evaluation.episode import Episode
    from tendon.sim.suite import Suite

FIRST_SEED, END_SEED = 100_000, 300_000
"""Scenes from here to there; those before are for training."""
MAX_DELAY_S = 10.0
"""As long as a task may take, nearly."""
MAX_WORKERS = 256
"""More processes than any machine has cores to spare for are a typing error."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What came of some episodes; as text, a summary of a few lines.

    Attributes:
        episodes: one a scene, in the order of the seeds that were asked for.
        families: of the suite's tasks, in the order of its tables.
    """

    episodes: tuple[Episode, ...]
    families: tuple[str, ...]

    @property
    def success(self) -> Proportion:
        """How many episodes succeeded, with the 95 % Wilson interval of the rate."""
        return wilson(sum(episode.success for episode in self.episodes), len(self.episodes))

    def __str__(self) -> str:
        from tendon.evaluation.report import lines, summarise

        return "\n".join(lines(summarise(self.episodes, self.families)))


def evaluate(
    policy: Policy | str | Path,
    seeds: Iterable[int],
    *,
    suite: str | Suite = "auto",
    robot: str = "panda",
    simulator: str = "auto",
    timing: str = "auto",
    delay_s: float | None = None,
    blank: bool = False,
    workers: int = 1,
) -> Evaluation:
    """Runs a policy once in each of some simulated scenes, without ROS: what `tendon eval run` does.

    An episode goes through the same controller, safety filter and trajectory controller as on a robot, in lock-step:
    on a CPU the same seeds give the same answer. It ends with its task done, or after 12 s of simulated time.

    Args:
        policy: a bundle, as `load_policy` takes it, perhaps with the folder of a residual ("BUNDLE+RESIDUAL"), "expert"
            for the suite's own, or any object that is a `Policy`.
        seeds: of scenes: 100 000-199 999 for trying things, 200 000-299 999 for reported results only.
        suite: name of one of `tendon.evaluation.suites`, "auto" for the one that fits the robot, or one that you made:
            `tendon.sim.suite` says what it is.
        robot: profile.
        simulator: "pybullet" or "mujoco"; "auto" takes the first that is installed. The same policy differs a little
            between them, as contacts and light do.
        timing: how a chunk meets the running plan, see `tendon.evaluation.episode.Timing`; by default as a suite's file
            says.
        delay_s: how long an inference takes in simulated time; what it takes really does not count. By default what
            the suite says, which is 0 for most.
        blank: leave the instruction empty: the control run that shows that language matters.
        workers: processes; more than one need a bundle, the name of a suite, and a program whose main part is below
            `if __name__ == "__main__":`.

    Raises:
        ConfigError: there is no such bundle, suite or timing, the suite's file has cases of its own, a seed is one of
            training or is there twice, or a number is out of its range.
        MissingDependencyError: the simulator is not installed.
        MismatchError: policy and robot do not fit each other.

    Examples:
        >>> import tendon
        >>> result = tendon.evaluate("tabletop", seeds=[100_004])
        >>> result.success.successes, result.success.total
        (1, 1)
        >>> result.episodes[0].instruction
        'put the green cube right of the red cube'
    """
    from tendon.evaluation.episode import Setting, Timing
    from tendon.evaluation.suite_file import is_suite_file, read_suite_file
    from tendon.evaluation.suites import load_suite, suite_for
    from tendon.robots.profile import load_profile
    from tendon.sim.simulators import choose

    simulator = choose(simulator)
    if isinstance(suite, str):
        suite = suite_for(load_profile(robot), suite)
    chosen = load_suite(suite) if isinstance(suite, str) else suite
    from tendon.evaluation.contender import find_contender
    from tendon.evaluation.pool import Job, run_here, run_jobs

    if isinstance(seeds, Integral):
        raise ConfigError(f"seeds is {seeds!r}, a single number: put it into a list, such as [{seeds!r}]")
    scenes = list(seeds)
    _check(scenes, workers)
    delay_s = chosen.difficulty.delay_s if delay_s is None else delay_s
    check_number("delay_s", delay_s, least=0, most=MAX_DELAY_S)
    if isinstance(suite, str) and is_suite_file(suite):
        said = read_suite_file(Path(suite))
        if said.cases:
            raise ConfigError(f"suite {suite} has cases of its own: run them by `tendon eval run --suite {suite}`")
        timing = said.timing if timing == Timing.AUTO.value else timing
    known = [each.value for each in Timing]
    if timing not in known:
        raise ConfigError(f"timing is {timing!r}{closest(timing, known)}")
    setting = Setting(timing=Timing(timing), delay_ns=round(delay_s * 1e9), blank=blank)
    contender = find_contender(str(policy), robot) if isinstance(policy, str | Path) else None
    residual = None if contender is None else contender.residual
    if workers == 1:
        named = policy if contender is None else contender.bundle
        episodes = run_here(chosen, named, robot, scenes, setting, simulator, residual)
        return Evaluation(episodes=tuple(episodes), families=chosen.families)
    here = f"workers is {workers}, must be 1 for a {{}}: it is in this process only"
    if contender is None:
        raise ConfigError(here.format("policy that is no bundle"))
    if not isinstance(suite, str):
        raise ConfigError(here.format("suite that has no name"))
    like = Job(
        bundle=contender.bundle,
        robot=robot,
        seed=scenes[0],
        setting=setting,
        suite=suite,
        simulator=simulator,
        residual=residual,
    )
    jobs = [replace(like, seed=seed) for seed in scenes]
    done = {job.seed: episode for job, episode in run_jobs(jobs, workers)}
    return Evaluation(episodes=tuple(done[seed] for seed in scenes), families=chosen.families)


def _check(seeds: Sequence[int], workers: int) -> None:
    if not seeds:
        raise ConfigError("seeds is empty: name at least one scene, such as range(100_000, 100_006)")
    for seed in seeds:
        if not isinstance(seed, Integral) or isinstance(seed, bool):
            raise ConfigError(f"seed is {seed!r}, must be a whole number")
    if twice := [seed for seed, count in Counter(seeds).items() if count > 1]:
        raise ConfigError(f"seed {twice[0]} is there twice: a scene has one outcome, name each once")
    if wrong := [seed for seed in seeds if not FIRST_SEED <= seed < END_SEED]:
        raise ConfigError(f"seed {wrong[0]} is no scene to evaluate on: take {FIRST_SEED} to {END_SEED - 1}")
    check_count("workers", workers, most=MAX_WORKERS)

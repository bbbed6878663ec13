"""Options of the commands that run episodes, and the jobs that they ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tendon.cli.options import check_delay
from tendon.cli.seeds import parse_seeds
from tendon.core.errors import ConfigError

if TYPE_CHECKING:
    from tendon.evaluation.contender import Contender
    from tendon.evaluation.pool import Job
    from tendon.evaluation.suite_file import SuiteFile


class TimingName(str, Enum):
    """How inference is timed; the values of `tendon.evaluation.episode.Timing`."""

    AUTO = "auto"
    TRAINED_PREFIX = "trained_prefix"
    INPAINTING = "inpainting"
    OVERLAP = "overlap"
    OVERWRITE = "overwrite"
    SYNCHRONOUS = "synchronous"


ContenderArgument = Annotated[
    str, typer.Argument(metavar="BUNDLE[+RESIDUAL]", help="Folder of the bundle, or the name of one; what corrects it.")
]
SeedsOption = Annotated[
    str | None,
    typer.Option(
        metavar="FIRST:END",
        help="Scenes; 100000-199999 tune, 200000-299999 report. By default the suite file's, or some to tune on.",
    ),
]
TimingOption = Annotated[
    TimingName | None,
    typer.Option(
        metavar="TIMING",
        help="Of inference: auto, trained_prefix, inpainting, overlap, overwrite or synchronous; by default the suite "
        "file's, or as in the graph.",
    ),
]
DelayOption = Annotated[
    float | None, typer.Option(help="Inference delay in simulated time; by default the suite's, 0 for most.")
]
SuiteOption = Annotated[
    str, typer.Option(metavar="NAME", help="Of scenes, tasks and their world, or a .yaml of one; auto fits the robot.")
]
PerturbOption = Annotated[
    str, typer.Option(metavar="NAME=STRENGTH,...", help="Make it harder: of the suite's perturbations, 1 as named.")
]
SimulatorOption = Annotated[str, typer.Option(metavar="NAME", help="pybullet, mujoco, or auto.")]


@dataclass(frozen=True, kw_only=True)
class Trials:
    """Episodes that were asked for.

    Attributes:
        scenes: their seeds.
        suite: its name.
        families: of that suite.
        simulator: its name.
        cases: perturbations of single scenes, by seed; those of all count before them.
    """

    scenes: Sequence[int]
    suite: str
    families: tuple[str, ...]
    simulator: str
    robot: str
    timing: TimingName
    delay_ms: float
    blank: bool = False
    perturbations: tuple[tuple[str, float], ...] = ()
    cases: Mapping[int, Mapping[str, float]] = field(default_factory=dict)

    def jobs(self, contender: Contender) -> list[Job]:
        """Returns a job for each scene."""
        from tendon.evaluation.episode import Setting, Timing
        from tendon.evaluation.pool import Job

        setting = Setting(timing=Timing(self.timing.value), delay_ns=round(self.delay_ms * 1e6), blank=self.blank)
        asked = dict(self.perturbations)
        return [
            Job(
                bundle=contender.bundle,
                residual=contender.residual,
                robot=self.robot,
                seed=seed,
                setting=replace(setting, perturbations=tuple({**self.cases.get(seed, {}), **asked}.items())),
                suite=self.suite,
                simulator=self.simulator,
            )
            for seed in self.scenes
        ]

    def __str__(self) -> str:
        from tendon.sim.simulators import SIMULATORS

        together = self.scenes[-1] - self.scenes[0] + 1 == len(self.scenes)
        scenes = f"{self.scenes[0]}:{self.scenes[-1] + 1}" if together else f"{len(self.scenes)} scenes"
        where = f"{self.robot}, {self.suite} {scenes} in {SIMULATORS[self.simulator]}"
        how = f"timing {self.timing.value}, delay {self.delay_ms:g} ms"
        harder = "".join(f", {name} {strength:g}" for name, strength in self.perturbations)
        harder += ", each with perturbations of its own" if any(self.cases.values()) else ""
        return f"{where}, {how}" + (", instruction blanked" if self.blank else "") + harder


def trials(
    *,
    seeds: str | None,
    usual_seeds: str = "100000:100060",
    timing: TimingName | None,
    delay_ms: float | None,
    suite: str,
    robot: str,
    simulator: str,
    perturb: str,
    blank: bool = False,
) -> Trials:
    """Returns the episodes that options ask for, each of them checked: what is wrong is one line, not one a process.

    Raises:
        ConfigError: an option has no meaning.
        MismatchError: the suite is not for the robot.
    """
    from tendon.evaluation.suite_file import SuiteFile, is_suite_file, read_suite_file
    from tendon.evaluation.suites import load_suite, suite_for
    from tendon.robots.profile import load_profile
    from tendon.sim.simulators import choose

    name = str(Path(suite).expanduser().resolve()) if is_suite_file(suite) else suite
    said = read_suite_file(Path(name)) if is_suite_file(name) else SuiteFile(suite=name)
    scenes = _scenes(seeds, said, usual_seeds)
    if delay_ms is not None:
        check_delay(delay_ms)
    profile = load_profile(robot)
    name = suite_for(profile, name)
    found = load_suite(name)
    found.scene(profile, scenes[0])
    perturbations = _strengths(perturb)
    found.harder(dict(perturbations))
    delay_ms = 1e3 * found.difficulty.delay_s if delay_ms is None else delay_ms
    return Trials(
        scenes=scenes,
        suite=name,
        families=found.families,
        simulator=choose(simulator),
        robot=robot,
        timing=timing or TimingName(said.timing),
        delay_ms=delay_ms,
        blank=blank,
        perturbations=perturbations,
        cases={case.seed: case.perturbations for case in said.cases},
    )


def _scenes(seeds: str | None, said: SuiteFile, usual: str) -> Sequence[int]:
    """Returns the seeds that are asked for, else the suite file's, else the usual ones."""
    from tendon.evaluation.evaluate import END_SEED, FIRST_SEED

    if said.cases and seeds is None:
        return [case.seed for case in said.cases]
    if said.episodes and seeds is None:
        return parse_seeds(said.episodes, FIRST_SEED, END_SEED, "episodes of the suite's file")
    return parse_seeds(seeds or usual, FIRST_SEED, END_SEED)


def _strengths(text: str) -> tuple[tuple[str, float], ...]:
    """Returns names and strengths of `--perturb`, in which a name without a strength has 1."""
    found = []
    for part in text.split(",") if text else ():
        name, given, strength = part.partition("=")
        try:
            found.append((name.strip().replace(" ", "_"), float(strength) if given else 1.0))
        except ValueError as error:
            raise ConfigError(
                f"--perturb is {text!r}: {strength!r} is no strength; such as blur=0.5,dynamics"
            ) from error
    names = [name for name, _ in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ConfigError(f"--perturb is {text!r}: it has {twice[0]} twice, give each one strength")
    return tuple(found)


def shortened(digest: str) -> str:
    """Returns a digest, or two, for people."""
    return "+".join(part[:12] for part in digest.split("+"))

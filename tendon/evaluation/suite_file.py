"""A suite as a file, what `--suite FILE.yaml` takes: another one, of some families or made harder, with episodes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from tendon.core.checks import check_count
from tendon.core.config import build
from tendon.core.errors import ConfigError
from tendon.core.fields import OneOf, Range, Text, check_fields
from tendon.evaluation.episode import Timing
from tendon.evaluation.evaluate import END_SEED, FIRST_SEED
from tendon.robots.environment import read_yaml
from tendon.sim.suite import Difficulty, Suite

SUFFIXES = (".yaml", ".yml")
Seed = Annotated[int, Range(least=FIRST_SEED, most=END_SEED - 1)]


@dataclass(frozen=True, kw_only=True)
class Case:
    """An episode with a difficulty of its own.

    Attributes:
        seed: of its scene.
        perturbations: with their strengths, in the order in which they act; they count before those of the suite.
        found: what came of it when it was written down, for people.
    """

    seed: Seed
    perturbations: Mapping[str, float] = field(default_factory=dict)
    found: str = ""

    def __post_init__(self) -> None:
        check_fields(self, f"case of seed {self.seed}")
        if not isinstance(self.found, str):
            raise ConfigError(f"case of seed {self.seed}: found is {self.found!r}, must be text")


@dataclass(frozen=True, kw_only=True)
class SuiteFile:
    """What the file says.

    Attributes:
        suite: whose scenes, tasks and world these are: a name.
        families: of tasks, which go round with the seed; all that the suite has where none is named.
        timing: of inference, where none is asked for.
        episodes: seeds FIRST:END, where none are asked for.
        cases: episodes one by one, in place of those.
        perturbations, delay_s, arm: as `Difficulty` says; they count before those of the suite.
    """

    suite: Text
    families: tuple[str, ...] = ()
    timing: Annotated[str, OneOf(tuple(each.value for each in Timing))] = Timing.AUTO.value
    episodes: str = ""
    cases: tuple[Case, ...] = ()
    perturbations: Mapping[str, float] = field(default_factory=dict)
    delay_s: float | None = None
    arm: int | None = None

    def __post_init__(self) -> None:
        check_fields(self, "suite")
        if not isinstance(self.families, tuple) or not all(isinstance(each, str) for each in self.families):
            raise ConfigError(f"families is {self.families!r}, must be a list of names, such as [drawer]")
        if not isinstance(self.episodes, str):
            raise ConfigError(f"episodes is {self.episodes!r}, must be FIRST:END in quotes")
        if self.arm is not None:
            check_count("arm", self.arm, least=0)
        if self.cases and self.episodes:
            raise ConfigError("a suite has episodes or cases, not both: leave one out")
        seeds = [case.seed for case in self.cases]
        if twice := sorted({seed for seed in seeds if seeds.count(seed) > 1}):
            raise ConfigError(f"seed {twice[0]} has two cases: results are told by their seeds, so leave one out")

    def made_of(self, suite: Suite) -> Suite:
        """Returns the suite, of these families and made harder.

        Raises:
            ConfigError: a value has no meaning, or the suite has no such family, perturbation or strength.
        """
        difficulty = Difficulty(
            perturbations={**suite.difficulty.perturbations, **self.perturbations},
            delay_s=suite.difficulty.delay_s if self.delay_s is None else self.delay_s,
            arm=suite.difficulty.arm if self.arm is None else self.arm,
        )
        harder = replace(suite.only(self.families) if self.families else suite, difficulty=difficulty)
        for case in (Case(seed=FIRST_SEED), *self.cases):
            harder.harder(case.perturbations)
        return harder


def is_suite_file(name: str) -> bool:
    """Returns whether a suite's name is that of a file."""
    return Path(name).suffix in SUFFIXES


def suite_digest(name: str) -> str:
    """Returns twelve digits of the SHA-256 of what a suite's file says; "" for a suite that is no file."""
    return hashlib.sha256(Path(name).read_bytes()).hexdigest()[:12] if is_suite_file(name) else ""


def read_suite_file(path: Path) -> SuiteFile:
    """Reads a suite of a file.

    Raises:
        ConfigError: there is no such file, or something in it has no meaning.
    """
    return build(SuiteFile, str(path), read_yaml(path, "suite"))

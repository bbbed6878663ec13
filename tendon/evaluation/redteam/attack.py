"""What is searched: a scene and how strong each perturbation is; and how bad what came of it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tendon.core.errors import ConfigError, InstructionError, InvalidDataError, TendonError
from tendon.core.fields import check_fields
from tendon.core.types import Array
from tendon.evaluation.episode import Episode
from tendon.evaluation.pool import Job, run_job

IMPOSSIBLE, BROKEN = 3.0, -1.0
"""Badness of what is no scene, because things stand in one another, and of a broken limit."""


@dataclass(frozen=True, kw_only=True)
class Space:
    """What a search may choose.

    Attributes:
        scenes: seeds.
        axes: perturbations by name, in the order in which they act.
        most: strength of each, at most.
    """

    scenes: Sequence[int]
    axes: Sequence[str]
    most: float

    def job(self, point: Array, like: Job) -> Job:
        """Returns the job of a point.

        Args:
            point: (1 + k,): which scene, then the share of each axis, 0 to 1.
            like: what is the same for all.
        """
        strengths = [round(self.most * share, 3) for share in point[1:].tolist()]
        asked = tuple((name, each) for name, each in zip(self.axes, strengths, strict=True) if each)
        setting = replace(like.setting, perturbations=asked)
        return replace(like, seed=self.scenes[round(float(point[0]))], setting=setting)

    def effort(self, job: Job) -> float:
        """Returns how much it takes: the mean of all strengths over the largest, 0 to 1."""
        return sum(each for _, each in job.setting.perturbations) / (self.most * len(self.axes))


@dataclass(frozen=True, kw_only=True)
class Attack:
    """A point that was tried.

    Attributes:
        point: see `Space.job`.
        seed: of its scene.
        perturbations: with their strengths.
        effort: see `Space.effort`.
        badness: less is worse for the policy: below 0 a limit was broken, below 2 it failed, the less effort that took
            and the less it did, the lower; above, how much of its time it had left.
        failed: it was no success.
        broken: samples of its commanded motion beyond a limit.
        found: in words.

    Raises:
        ConfigError: a field is something else.
    """

    point: tuple[float, ...]
    seed: int
    perturbations: dict[str, float]
    effort: float
    badness: float
    failed: bool
    broken: int
    found: str

    def __post_init__(self) -> None:
        check_fields(self, "attack")


def try_attack(job: Job) -> tuple[Job, Episode | TendonError]:
    """Runs a job; that things stand in one another, or that a policy has no answer, is told and not raised."""
    try:
        return run_job(job)
    except (ConfigError, InvalidDataError, InstructionError) as error:
        return job, error


def judged(space: Space, point: Array, job: Job, came: Episode | TendonError) -> Attack:
    """Returns an attack with what came of it; an answer that cannot be used is a failure of the policy."""
    effort = space.effort(job)
    said: dict[str, Any] = {
        "point": tuple(point.tolist()),
        "seed": job.seed,
        "perturbations": dict(job.setting.perturbations),
        "effort": effort,
    }
    if isinstance(came, ConfigError):
        return Attack(**said, badness=IMPOSSIBLE, failed=False, broken=0, found=f"no scene: {came}")
    if isinstance(came, TendonError):
        return Attack(**said, badness=effort, failed=True, broken=0, found=f"no answer: {came}")
    words = came.outcome if came.success else f"{came.outcome}, {100 * came.progress:.0f} % of it"
    if came.broken:
        badness, words = BROKEN, f"{came.broken} samples beyond a limit; {words}"
    elif came.success:
        badness = 2.0 + 1.0 / (1.0 + came.duration_s)
    else:
        badness = effort + 0.5 * came.progress
    return Attack(**said, badness=badness, failed=not came.success, broken=came.broken, found=words)

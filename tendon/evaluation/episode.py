"""One episode: how to run it, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from tendon.core.pace import Pace
from tendon.sim.perturbation import Perturbation

HOLD_CHECKS = 3
"""A task is done when it is found done so often in a row."""


class Timing(Enum):
    """How inference and execution share time.

    - AUTO: inference runs while the robot moves, and the chunk continues the running plan in the best way that the
      policy has, as in the graph.
    - TRAINED_PREFIX, INPAINTING, OVERLAP: the same in that way, see `tendon.policies.spec.manifest.Continuation`.
    - OVERWRITE: the same without a prefix: the new chunk replaces the old one where it stands.
    - SYNCHRONOUS: the robot runs part of a chunk, comes to rest, and waits for the next inference.
    """

    AUTO = "auto"
    TRAINED_PREFIX = "trained_prefix"
    INPAINTING = "inpainting"
    OVERLAP = "overlap"
    OVERWRITE = "overwrite"
    SYNCHRONOUS = "synchronous"


@dataclass(frozen=True, kw_only=True)
class Switch:
    """Another task, which whoever instructs the robot asks for on the way or after the first one.

    Attributes:
        at_ns: when, in simulated time from the start; by default as soon as the first task is done.
        stop_first: the robot comes to rest before it hears of the new task, as a stack without switching has to.
    """

    at_ns: int | None = None
    stop_first: bool = False


ON_THE_WAY_S = (0.5, 2.5)
"""When somebody changes their mind."""


def usual_switch(rng: np.random.Generator) -> Switch | None:
    """Returns what a robot is asked as it is used: one task, another one after it, or one on the way; a third each."""
    on_the_way = Switch(at_ns=int(1e9 * rng.uniform(*ON_THE_WAY_S)))
    return (None, Switch(), on_the_way)[rng.integers(3)]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How to run episodes.

    Attributes:
        timing: see `Timing`.
        delay_ns: from observation to chunk, in simulated time; the policy's own compute time is not added.
        pace: how long plans are kept; by default as the policy's bundle says.
        limit_s: an episode longer than this failed; by default the task's own limit.
        blank: leave the instruction empty: the control run that shows that language matters.
        synchronous_rows: rows that SYNCHRONOUS executes of each chunk.
        perturbations: names of the suite's perturbations and their strengths, all at once.
        switch: another task is asked for; `limit_s` and success are that task's then.
        rests: whether the robot rests once the policy counts its task as done, see `Finish`.
    """

    timing: Timing = Timing.AUTO
    delay_ns: int = 0
    pace: Pace | None = None
    limit_s: float | None = None
    blank: bool = False
    synchronous_rows: int = 8
    perturbations: tuple[tuple[str, float], ...] = ()
    switch: Switch | None = None
    rests: bool = True

    def under(self, perturbation: Perturbation) -> Setting:
        """Returns it with the delay that a perturbation adds."""
        return replace(self, delay_ns=self.delay_ns + perturbation.delay_ns)


@dataclass(frozen=True, kw_only=True)
class Episode:
    """What came of one episode.

    Attributes:
        seed: of the scene.
        family: of the task.
        instruction: as given; the last one.
        success: the task was done and stayed done for `HOLD_CHECKS` checks.
        progress: how much of the task was done at the end, 0 to 1.
        duration_s: until then, or until the limit; from the switch on where there was one.
        peak_acceleration: largest commanded |acceleration| over its joint's limit, arm joints; must be <= 1.
        rms_jerk: of the commanded motion over all arm joints [rad/s^3].
        peak_jump: largest step of the target where one chunk replaces another, before filter [rad].
        stopped_share: share of control ticks after the first chunk without a fresh target.
        stop: why it ended latched; empty when it did not.
        held: an item was between the fingers at the switch; `None` when there was none.
        estimate: how much of it the policy's own estimator saw last, 0 to 1; `None` where its bundle has none.
        broken: samples of the commanded motion beyond a limit, see `tendon.evaluation.limits`; must be 0.
    """

    seed: int
    family: str
    instruction: str
    success: bool
    progress: float
    duration_s: float
    peak_acceleration: float
    rms_jerk: float
    peak_jump: float
    stopped_share: float
    stop: str = ""
    held: bool | None = None
    broken: int = 0
    estimate: float | None = None

    @property
    def outcome(self) -> str:
        """What came of it, in words."""
        if self.success:
            return f"done after {self.duration_s:.1f} s"
        return f"stopped: {self.stop}" if self.stop else f"not done within {self.duration_s:.1f} s"

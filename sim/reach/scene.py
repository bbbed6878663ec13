"""A ball in front of the robot, and what is asked: one frozen value drawn from one seed."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from tendon.control.clearance.model import Clearance
from tendon.core.errors import MismatchError
from tendon.core.types import Array
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile
from tendon.sim.suite import LIMIT_S

FAMILIES = ("reach",)
INSTRUCTION = "move the tool to the red ball"
DONE_M = 0.03
"""From the ball's centre to the tool."""
LEAST_M = 0.1
"""From the tool at home to the ball."""
LARGEST_TURN = 1.2
"""Of a joint, from home to where the tool is at the ball [rad or m]."""
MARGIN_M = 0.002
"""More than the smallest distances that the filter keeps, all the way from home to the ball."""
WAYPOINTS = 9
TRIES = 3000
MAX_SEED = 2**63 - 1


class ReachTable(Protocol):
    """What a check looks at: the world."""

    def away(self) -> float:
        """Returns how far the tool is from the ball [m]."""


@dataclass(frozen=True, kw_only=True)
class ReachTask:
    """Bring the tool to the ball.

    Attributes:
        start_m: from the tool at the start to the ball.
    """

    start_m: float
    family: str = "reach"
    relation: str = "reach"
    limit_s: ClassVar[float] = LIMIT_S

    def progress(self, world: ReachTable) -> float:
        """Returns the part of the way that the tool has come, 0 to 1."""
        return 1.0 if self.success(world) else min(0.99, max(0.0, 1.0 - world.away() / self.start_m))

    def success(self, world: ReachTable) -> bool:
        """Returns whether the tool is at the ball."""
        return world.away() < DONE_M


@dataclass(frozen=True, kw_only=True)
class ReachScene:
    """A ball, and the robot at home.

    Attributes:
        seed: draws it again.
        ball: its centre in the base frame [m].
        posture: (n,) a joint vector with the tool there, which the straight line in joint space from home leads to.
        light_direction: to the lamp.
        task: what is asked.
        instruction: in words.
    """

    seed: int
    ball: tuple[float, float, float]
    posture: tuple[float, ...]
    light_direction: tuple[float, float, float]
    task: ReachTask
    instruction: str = INSTRUCTION


def sample_scene(profile: RobotProfile, seed: int, family: str = "") -> ReachScene:
    """Returns the scene of a seed for a robot: a ball that it can reach without hurting a clearance.

    Raises:
        ValueError: a seed of more than 64 bits, or another family than `FAMILIES`.
        MismatchError: there is hardly a place that the robot reaches.
    """
    if not -MAX_SEED - 1 <= seed <= MAX_SEED:
        raise ValueError(f"seed is {seed}: it must be an integer of 64 bits")
    if family not in ("", *FAMILIES):
        raise ValueError(f"unknown task family {family}; known: {', '.join(FAMILIES)}")
    rng = np.random.default_rng([seed % (2 * MAX_SEED + 2), 3])
    kinematics, clearance = _tools(profile)
    home, arm = profile.vector("home"), profile.group_indices("arm")
    up = np.minimum(profile.vector("upper") - home, LARGEST_TURN)[arm]
    down = np.minimum(home - profile.vector("lower"), LARGEST_TURN)[arm]
    start, _ = kinematics.tool_pose(home)
    for _ in range(TRIES):
        way = np.zeros(len(home))
        way[arm] = 0.95 * rng.uniform(-down, up)
        place, _ = kinematics.tool_pose(home + way)
        far = float(np.linalg.norm(place - start))
        if far < LEAST_M or not all(_free(clearance, home + s * way) for s in np.linspace(1.0, 0.0, WAYPOINTS)):
            continue
        light = (float(rng.uniform(-1, 1.5)), float(rng.uniform(-1.2, 1.2)), 2.0)
        return ReachScene(
            seed=seed,
            ball=(float(place[0]), float(place[1]), float(place[2])),
            posture=tuple((home + way).tolist()),
            light_direction=light,
            task=ReachTask(start_m=far),
        )
    raise MismatchError(
        f"{profile.name} reaches hardly a place in its workspace from home: `tendon robot show {profile.name}` draws "
        "both; correct workspace, home or collision model"
    )


@functools.lru_cache(maxsize=8)
def _tools(profile: RobotProfile) -> tuple[Kinematics, Clearance]:
    return Kinematics(profile), Clearance(profile)


def _free(clearance: Clearance, joints: Array) -> bool:
    return bool((clearance.distances(joints) > clearance.margin + MARGIN_M).all())

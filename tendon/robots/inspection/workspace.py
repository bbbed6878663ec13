"""How much of its workspace a robot reaches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tendon.core.errors import KinematicsError
from tendon.robots.inspection.finding import Finding, error, note, warning
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile
from tendon.robots.tool import TOOL_DOWN

SAMPLES = 200
SEEDS = 4
"""Postures from which a place is tried, home first."""
TOLERANCE_M = 2e-3
ANY_ROTATION = 4.0
"""More than half a turn [rad]: the tool may be turned anyhow."""
FEW = 0.5
"""A workspace of which less is reached is a box around something else."""


def sample_reach(profile: RobotProfile, count: int = SAMPLES) -> Iterator[bool]:
    """Yields for random places of the workspace whether the tool gets there, turned anyhow, inside the limits.

    Inverse kinematics starts from home with the tool as it is there and with the tool down, and from random postures.
    What it does not find may be reached all the same.

    Args:
        profile: the robot; its group `arm` moves.
        count: of places.

    Raises:
        ConfigError: it has no group arm.
    """
    kinematics, rng = Kinematics(profile), np.random.default_rng(0)
    lower, upper, home = profile.vector("lower"), profile.vector("upper"), profile.vector("home")
    arm = profile.group_indices("arm")
    seeds = [home.copy() for _ in range(SEEDS)]
    for seed in seeds[1:]:
        seed[arm] = rng.uniform(lower[arm], upper[arm])
    starts = [(home, TOOL_DOWN), *((seed, kinematics.tool_pose(seed)[1]) for seed in seeds)]
    for place in rng.uniform(profile.workspace.lower, profile.workspace.upper, (count, 3)):
        for seed, rotation in starts:
            try:
                kinematics.inverse(place, rotation, seed, tolerance=TOLERANCE_M, rotation_tolerance=ANY_ROTATION)
            except KinematicsError:
                continue
            yield True
            break
        else:
            yield False


def judge_reach(reached: list[bool]) -> Finding:
    """Returns what the share of places that the tool gets to says of the workspace."""
    share = sum(reached) / len(reached)
    text = f"the tool reaches {share:.0%} of it ({len(reached)} places, turned anyhow)"
    if share == 0:
        return error(
            "workspace", text, "correct the box: it is in the base frame, in metres; or name the right tool_frame"
        )
    if share < FEW:
        return warning(
            "workspace", text, "shrink the box to what is needed: what a policy asks for elsewhere is refused"
        )
    return note("workspace", text, "nothing")

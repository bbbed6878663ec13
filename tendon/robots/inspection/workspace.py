"""How much of its workspace a robot reaches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tendon.core.errors import KinematicsError
from tendon.core.types import Array
from tendon.robots.inspection.finding import Finding, error, note, warning
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile
from tendon.robots.tool import TOOL_DOWN

CORRECT = "correct the box: it is in the base frame, in metres; or name the right tool_frame"
SAMPLES = 200
SEEDS = 4
"""Postures from which a place is tried, home first."""
TOLERANCE_M = 2e-3
ANY_ROTATION = 4.0
"""More than half a turn [rad]: the tool may be turned anyhow."""
FEW = 0.5
"""A workspace of which less is reached is a box around something else."""
FLAT_M = 1e-4
"""A tool that moves by less in a direction, for each rad or m of its joints, does not move that way."""


def fills_space(profile: RobotProfile, count: int = 20) -> bool:
    """Returns whether the arm moves its tool in every direction, and not on a surface or a curve only.

    An arm of fewer than three joints does not, nor does one whose joints all turn in a plane.

    Args:
        profile: the robot; its group `arm` moves.
        count: of random postures that are tried.

    Raises:
        ConfigError: it has no group arm.
    """
    kinematics, arm = Kinematics(profile), profile.group_indices("arm")
    moves = np.eye(len(profile.joints))[arm]
    return any(
        np.linalg.matrix_rank([kinematics.tool_velocity(posture, move)[:3] for move in moves], tol=FLAT_M) == 3
        for posture in _postures(profile, count)
    )


def sample_postures(profile: RobotProfile, count: int = SAMPLES) -> Iterator[bool]:
    """Yields for random postures of the arm whether the tool is in the workspace.

    For an arm that does not fill space, see `fills_space`: it meets no random place.

    Args:
        profile: the robot; its group `arm` moves.
        count: of postures.

    Raises:
        ConfigError: it has no group arm.
    """
    kinematics, box = Kinematics(profile), profile.workspace
    for posture in _postures(profile, count):
        place = kinematics.tool_pose(posture)[0]
        yield bool(np.all(place >= box.lower) and np.all(place <= box.upper))


def judge_postures(inside: list[bool]) -> Finding:
    """Returns what the share of postures with the tool in the workspace says of it."""
    share = sum(inside) / len(inside)
    text = f"the tool moves on a surface or a curve, and is in it in {share:.0%} of {len(inside)} postures"
    return error("workspace", text, CORRECT) if share == 0 else note("workspace", text, "nothing")


def _postures(profile: RobotProfile, count: int) -> Iterator[Array]:
    rng, arm = np.random.default_rng(0), profile.group_indices("arm")
    lower, upper = profile.vector("lower")[arm], profile.vector("upper")[arm]
    for _ in range(count):
        posture = profile.vector("home").copy()
        posture[arm] = rng.uniform(lower, upper)
        yield posture


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
        return error("workspace", text, CORRECT)
    if share < FEW:
        return warning(
            "workspace", text, "shrink the box to what is needed: what a policy asks for elsewhere is refused"
        )
    return note("workspace", text, "nothing")

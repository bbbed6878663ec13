"""Assembly as a suite."""

from __future__ import annotations

import functools

from tendon.robots.profile import RobotProfile
from tendon.sim.assembly.script import script
from tendon.sim.assembly.tasks import SeatTask
from tendon.sim.robot_body import robot_body
from tendon.sim.scenes.description import SuiteFile, load_suite_file
from tendon.sim.scenes.hands import HandsExpert
from tendon.sim.scenes.reachable import check_reach
from tendon.sim.scenes.scene import DescribedScene, draw_scene
from tendon.sim.scenes.world import DescribedWorld
from tendon.sim.simulators import AUTO, open_engine
from tendon.sim.suite import Suite, Task

NAME = "assembly"
TASKS: dict[str, Task] = {family: SeatTask(family=family) for family in ("peg", "gear")}
ANY_SEED = 100_000
"""The scene a world starts with; every episode loads its own."""


@functools.lru_cache(maxsize=32)
def _file(profile: RobotProfile) -> SuiteFile:
    file = load_suite_file(NAME)
    check_reach(file, profile)
    return file


def scene_of(profile: RobotProfile, seed: int, family: str = "") -> DescribedScene:
    """Returns the scene of a seed.

    Raises:
        MismatchError: the robot has not one gripper, or does not reach all of the stage.
    """
    return draw_scene(_file(profile), TASKS, profile.name, seed, family)


def open_world(profile: RobotProfile, simulator: str = AUTO, gui: bool = False) -> DescribedWorld:
    """Returns a world with some scene in it."""
    scene = scene_of(profile, ANY_SEED)
    return DescribedWorld(scene, profile, open_engine(robot_body(profile), simulator, gui))


ASSEMBLY = Suite(
    families=tuple(TASKS),
    scene=scene_of,
    world=open_world,
    expert=lambda profile: HandsExpert(profile, script),
    environment="tabletop",
)

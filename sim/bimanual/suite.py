"""Two hands as a suite."""

from __future__ import annotations

import functools

from tendon.core.errors import MismatchError
from tendon.core.protocols import Policy
from tendon.robots.profile import RobotProfile
from tendon.sim.bimanual.script import script
from tendon.sim.bimanual.tasks import HandOverTask, LiftTask
from tendon.sim.robot_body import robot_body
from tendon.sim.scenes.demonstrations import HandsCollector
from tendon.sim.scenes.description import SuiteFile, load_suite_file
from tendon.sim.scenes.hands import HandsExpert
from tendon.sim.scenes.scene import DescribedScene, draw_scene
from tendon.sim.scenes.world import DescribedWorld
from tendon.sim.simulators import AUTO, open_engine
from tendon.sim.suite import Suite, Task

NAME = "bimanual"
TASKS: dict[str, Task] = {"lift": LiftTask(), "hand_over": HandOverTask()}
ANY_SEED = 100_000
"""The scene a world starts with; every episode loads its own."""


@functools.cache
def _file() -> SuiteFile:
    return load_suite_file(NAME)


def scene_of(profile: RobotProfile, seed: int, family: str = "") -> DescribedScene:
    """Returns the scene of a seed.

    Raises:
        MismatchError: the robot has not two grippers, or the suite no stage for it.
    """
    if len(profile.grippers) != 2:
        raise MismatchError(
            f"the suite {NAME} needs two grippers, and profile {profile.name} has {len(profile.grippers)}"
        )
    return draw_scene(_file(), TASKS, profile.name, seed, family)


def open_world(profile: RobotProfile, simulator: str = AUTO, gui: bool = False) -> DescribedWorld:
    """Returns a world with some scene in it."""
    scene = scene_of(profile, ANY_SEED)
    return DescribedWorld(scene, profile, open_engine(robot_body(profile), simulator, gui))


def collector(profile: RobotProfile, learner: Policy | None = None) -> HandsCollector:
    """Returns what makes demonstrations."""
    return HandsCollector(open_world(profile), scene_of, HandsExpert(profile, script), learner)


BIMANUAL = Suite(
    families=tuple(TASKS),
    scene=scene_of,
    world=open_world,
    expert=lambda profile: HandsExpert(profile, script),
    collector=collector,
    environment="tabletop",
)

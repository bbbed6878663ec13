"""The tabletop as a suite."""

from __future__ import annotations

import functools
from dataclasses import replace

from tendon.core.config import build
from tendon.core.paths import share_folder
from tendon.robots.environment import read_yaml
from tendon.robots.profile import RobotProfile
from tendon.sim.robot_body import robot_body
from tendon.sim.simulators import AUTO, open_engine
from tendon.sim.suite import Difficulty, Suite
from tendon.sim.tabletop.expert.demonstrations import TabletopCollector
from tendon.sim.tabletop.expert.expert import TabletopExpert
from tendon.sim.tabletop.layout import FAMILIES, layout_of
from tendon.sim.tabletop.perturbations import PERTURBATIONS
from tendon.sim.tabletop.phrases import parse_instruction
from tendon.sim.tabletop.scene import ENVIRONMENT, Scene, sample_scene
from tendon.sim.tabletop.world import World

HARD = "tabletop_hard"
ANY_SEED = 100_000
"""The scene a world starts with; every episode loads its own."""


def scene_of(profile: RobotProfile, seed: int, family: str = "") -> Scene:
    """Returns the scene of a seed, as far as the robot reaches."""
    return sample_scene(seed, family or None, layout_of(profile))


def open_world(profile: RobotProfile, simulator: str = AUTO, gui: bool = False) -> World:
    """Returns a world with some scene in it."""
    scene = scene_of(profile, ANY_SEED)
    return World(scene, profile, engine=open_engine(robot_body(profile), simulator, gui))


def read(scene: Scene, instruction: str) -> Scene | None:
    """Returns a scene with the task that an instruction asks for there."""
    task = parse_instruction(scene.items, instruction)
    return None if task is None else replace(scene, task=task, instruction=instruction)


TABLETOP = Suite(
    families=FAMILIES,
    scene=scene_of,
    world=open_world,
    read=read,
    expert=TabletopExpert,
    collector=TabletopCollector,
    perturbations=PERTURBATIONS,
    environment=ENVIRONMENT,
)


@functools.cache
def hard() -> Suite:
    """Returns the tabletop with the difficulty of `suites/tabletop_hard.yaml`.

    Raises:
        ConfigError: the file cannot be read, or a value has no meaning.
    """
    path = share_folder() / "suites" / f"{HARD}.yaml"
    return replace(TABLETOP, difficulty=build(Difficulty, path.name, read_yaml(path, "suite")))

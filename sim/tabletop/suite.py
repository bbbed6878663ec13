"""The tabletop as a suite."""

from __future__ import annotations

from tendon.robots.profile import RobotProfile
from tendon.sim.simulators import AUTO
from tendon.sim.suite import Suite
from tendon.sim.tabletop.scene import ENVIRONMENT, FAMILIES, sample_scene
from tendon.sim.tabletop.world import World

ANY_SEED = 100_000
"""The scene a world starts with; every episode loads its own."""


def open_world(profile: RobotProfile, simulator: str = AUTO) -> World:
    """Returns a world with some scene in it."""
    return World(sample_scene(ANY_SEED), profile, simulator)


TABLETOP = Suite(families=FAMILIES, scene=sample_scene, world=open_world, environment=ENVIRONMENT)

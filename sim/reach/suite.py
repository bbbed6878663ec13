"""Reaching as a suite."""

from __future__ import annotations

from tendon.robots.profile import RobotProfile
from tendon.sim.reach.expert import ReachExpert
from tendon.sim.reach.scene import FAMILIES, sample_scene
from tendon.sim.reach.world import ReachWorld
from tendon.sim.robot_body import robot_body
from tendon.sim.simulators import AUTO, open_engine
from tendon.sim.suite import Suite

ANY_SEED = 100_000
"""The scene a world starts with; every episode loads its own."""


def open_world(profile: RobotProfile, simulator: str = AUTO, gui: bool = False) -> ReachWorld:
    """Returns a world with some scene in it."""
    scene = sample_scene(profile, ANY_SEED)
    return ReachWorld(scene, profile, open_engine(robot_body(profile), simulator, gui))


REACH = Suite(families=FAMILIES, scene=sample_scene, world=open_world, expert=ReachExpert)

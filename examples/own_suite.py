"""A suite of your own, by its name: the ball of `reach`, to which the tool has to come three times as near.

Run: python examples/own_suite.py
Or, in this folder: tendon eval run expert --suite own_suite:PRECISE --robot so101
                    tendon run suite:=own_suite:PRECISE robot:=so101 policy:=expert arm:=true
"""

from __future__ import annotations

from dataclasses import replace

import tendon
from tendon.robots.profile import RobotProfile
from tendon.sim.reach.scene import ReachScene, ReachTable, ReachTask, sample_scene
from tendon.sim.reach.suite import REACH

NEAR_M = 0.01


class PreciseTask(ReachTask):
    """The same task with a bound of its own."""

    def success(self, world: ReachTable) -> bool:
        """Returns whether the tool is at the ball."""
        return world.away() < NEAR_M


def precise_scene(profile: RobotProfile, seed: int, family: str = "") -> ReachScene:
    """Returns the scene that `reach` draws, with the harder task."""
    scene = sample_scene(profile, seed, family)
    return replace(scene, task=PreciseTask(start_m=scene.task.start_m))


PRECISE = replace(REACH, scene=precise_scene)

if __name__ == "__main__":
    print(tendon.evaluate("expert", seeds=range(100_000, 100_004), suite=PRECISE, robot="so101", timing="overwrite"))

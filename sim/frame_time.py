"""How long a picture and a step take in a simulator on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from tendon.robots.profile import RobotProfile
from tendon.sim.engine_world import open_engine_world
from tendon.sim.reach.suite import REACH

TIMES = 15


@dataclass(frozen=True, kw_only=True)
class FrameTime:
    """Medians of the world of one robot.

    Attributes:
        width: of the picture.
        height: of it.
        frame_ms: for one picture.
        step_ms: for one step of physics.
    """

    width: int
    height: int
    frame_ms: float
    step_ms: float


def time_frame(profile: RobotProfile, simulator: str, width: int = 640, height: int = 480) -> FrameTime:
    """Times the suite `reach`, which any robot has, seen by the robot's first camera.

    Raises:
        MissingDependencyError: the simulator, or what it draws with, is not there.
    """
    world = open_engine_world(REACH, profile, simulator)
    try:
        camera = profile.cameras[0].name
        return FrameTime(
            width=width,
            height=height,
            frame_ms=_median_ms(lambda: world.render(camera, width, height)),
            step_ms=_median_ms(world.step),
        )
    finally:
        world.close()


def _median_ms(do: Callable[[], object]) -> float:
    do()  # the first one prepares
    times = []
    for _ in range(TIMES):
        begin = time.perf_counter()
        do()
        times.append(time.perf_counter() - begin)
    return 1000 * median(times)

"""Speed of the simulated world: physics, rendering at the cameras' sizes, and the Gymnasium env.

Rendering is compared with what PyBullet's examples draw: the Panda's visual meshes and `plane.urdf`. Both hold the
same items and have the same cameras, and take turns, so that other load on the machine hits both alike.

Examples:
  python benchmarks/simulation.py
  nice python benchmarks/simulation.py --views 100 --seconds 5 --cpu
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import harness
import numpy as np
import pybullet_data
from harness import Number

from tendon.core.types import Array
from tendon.robots.profile import RobotProfile, load_profile
from tendon.sim.demonstrations import STEP_S
from tendon.sim.engine import PHYSICS_HZ
from tendon.sim.pybullet.client import pybullet
from tendon.sim.pybullet.engine import BulletEngine
from tendon.sim.robot_body import robot_body
from tendon.sim.tabletop.env import TabletopEnv
from tendon.sim.tabletop.expert.pilot import ExpertPilot
from tendon.sim.tabletop.layout import FAMILIES
from tendon.sim.tabletop.scene import Scene, sample_scene
from tendon.sim.tabletop.world import World

FIRST_SEED = 100_000
STOCK = Path(pybullet_data.getDataPath())


class StockWorld(World):
    """A world that looks like PyBullet's examples."""

    def __init__(self, scene: Scene, profile: RobotProfile) -> None:
        self._bullet = BulletEngine(replace(robot_body(profile), urdf=str(STOCK / "franka_panda" / "panda.urdf")))
        super().__init__(scene, profile, engine=self._bullet)

    def reset(self, scene: Scene) -> None:
        """Replaces the table's box by a plane."""
        super().reset(scene)
        client = self._bullet.client
        pybullet.removeBody(self._bullet.surroundings[0], physicsClientId=client)
        pybullet.loadURDF(str(STOCK / "plane.urdf"), physicsClientId=client)


class Stopwatch:
    """What everything is timed by: wall time, or the CPU time of this thread on a machine that others use too."""

    cpu = False
    now_ns: Callable[[], int] = staticmethod(time.perf_counter_ns)


def percentiles(bench: harness.Bench, name: str, times_ns: Sequence[int], **more: float) -> float:
    """Prints p50, p99 and max in ms, adds them with more numbers, and returns the median."""
    found = harness.spread_of(np.array(times_ns) / 1e6, "ms")
    rest = {which.replace("_", " "): Number(value) for which, value in more.items()}
    said = "  ".join(f"{which} {number.value:7.2f}" for which, number in found.items())
    also = "".join(f"  {which} {number.value:.1f}" for which, number in rest.items())
    print(f"{name:44s} {said} ms   n {len(times_ns)}{also}")
    bench.add({"what": name}, {**found, **rest}, note="processor time" if Stopwatch.cpu else "")
    return found["p50"].value


def timed(call: Callable[[], object]) -> int:
    """Returns how long a call takes [ns]."""
    begin_ns = Stopwatch.now_ns()
    call()
    return Stopwatch.now_ns() - begin_ns


def advance(world: World, row: Array, velocity: Array) -> None:
    """Sets the target and steps."""
    world.set_target(row, velocity)
    world.step()


def physics(bench: harness.Bench, world: World, seconds: float) -> None:
    """Steps the scene of each family while its expert moves things, and times the steps alone."""
    pilot = ExpertPilot(world.profile)
    for number, family in enumerate(FAMILIES):
        world.reset(sample_scene(FIRST_SEED + number, family))
        row = world.joint_state()[0]
        times_ns: list[int] = []
        while sum(times_ns) < seconds / len(FAMILIES) * 1e9:
            row = pilot.row(world, row)
            velocity = np.zeros(len(row))
            for _ in range(round(STEP_S * PHYSICS_HZ)):
                times_ns.append(timed(partial(advance, world, row, velocity)))
        rate_hz = len(times_ns) / sum(times_ns) * 1e9
        percentiles(bench, f"physics step, {family}", times_ns, times_real_time=rate_hz / PHYSICS_HZ)


def rendering(bench: harness.Bench, world: World, stock: World, views: int) -> None:
    """Draws each camera of scenes of all families in both worlds by turns."""
    worlds = {"tendon": world, "stock meshes and plane": stock}
    cameras = world.profile.cameras
    times: dict[tuple[str, str], list[int]] = {(name, camera.name): [] for name in worlds for camera in cameras}
    for number in range(len(FAMILIES)):
        for one in (world, stock):
            one.reset(sample_scene(FIRST_SEED + number))
        for each in worlds.values():
            each.render("scene")  # The first view of a scene also uploads its meshes.
        for _ in range(max(1, views // len(FAMILIES))):
            for (name, shown), spent in times.items():
                spent.append(timed(partial(worlds[name].render, shown)))
    for camera in cameras:
        view = f"{camera.name} {camera.width}x{camera.height}"
        ours, theirs = (percentiles(bench, f"{view}, {name}", times[name, camera.name]) for name in worlds)
        print(f"  {theirs / ours:.1f} times faster than stock")


def env_steps(bench: harness.Bench, images: bool, seconds: float) -> None:
    """Times steps of the env under the expert, whose own time is left out."""
    env = TabletopEnv(images=images)
    pilot = ExpertPilot(env.backend.world.profile)
    times_ns: list[int] = []
    resets_ns: list[int] = []
    seed = FIRST_SEED
    while sum(times_ns) < seconds * 1e9:
        resets_ns.append(timed(lambda: env.reset(seed=seed)))  # noqa: B023
        row, done = env.backend.observe_joints()[0], False
        while not done:
            row = pilot.row(env.backend.world, row)
            begin_ns = Stopwatch.now_ns()
            _, _, done, _, _ = env.step(row)
            times_ns.append(Stopwatch.now_ns() - begin_ns)
        seed += 1
    env.close()
    rate_hz = len(times_ns) / sum(times_ns) * 1e9
    what = "with" if images else "without"
    percentiles(bench, f"env step {what} images", times_ns, times_real_time=rate_hz * STEP_S)
    percentiles(bench, f"env reset {what} images", resets_ns)


def main() -> None:
    """Prints the numbers of this machine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--views", type=int, default=300, help="views of each camera in each world (300)")
    parser.add_argument("--seconds", type=float, default=10.0, help="of physics, and of each env (10)")
    parser.add_argument("--cpu", action="store_true", help="count CPU time: for a machine that is busy with other work")
    harness.add_arguments(parser)
    options = parser.parse_args()
    bench = harness.begin(options, "simulation/speed")
    if options.cpu:
        Stopwatch.cpu, Stopwatch.now_ns = True, staticmethod(time.thread_time_ns)
    print(f"PyBullet API {pybullet.getAPIVersion()}, TinyRenderer, physics at {PHYSICS_HZ} Hz")
    print("CPU time of one thread" if options.cpu else "wall time")
    profile = load_profile("panda")
    world, stock = World(sample_scene(FIRST_SEED), profile), StockWorld(sample_scene(FIRST_SEED), profile)
    physics(bench, world, options.seconds)
    rendering(bench, world, stock, options.views)
    world.close()
    stock.close()
    for images in (True, False):
        env_steps(bench, images, options.seconds)


if __name__ == "__main__":
    main()

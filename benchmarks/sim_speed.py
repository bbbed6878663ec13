"""Environment steps a second in each simulator, one world and many in one process, beside a plain Gymnasium loop.

A step of 10 ms is a control period: a joint target in, three steps of physics, joint states out, with a camera a
picture too. `Worlds` steps many at once, `SimBackend` is the loop of evaluation, a command at a time, and `plain` an
environment that calls the engine itself (`benchmarks/plain_envs.py`), many by Gymnasium's `SyncVectorEnv`. A step of
100 ms is one of the tabletop env without pictures, with its safety filter and the check of its task. Same robot,
things and physics; loops take turns, so that other load hits all alike. Steps count for each world.

Examples:
  python benchmarks/sim_speed.py
  python benchmarks/sim_speed.py --worlds 1 4 --seconds 2 --busy --cpu --rows /tmp/rows
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import gymnasium
import harness
import numpy as np
from gymnasium.vector import SyncVectorEnv
from harness import Number
from plain_envs import PLAIN

from tendon.core.types import Array, Command, Trajectory
from tendon.evaluation.suites import load_suite
from tendon.robots.profile import Camera, RobotProfile, load_profile
from tendon.sim.backend import SimBackend
from tendon.sim.engine import PHYSICS_HZ
from tendon.sim.engine_world import open_engine_world
from tendon.sim.simulators import SIMULATORS
from tendon.sim.tabletop.env import ENV_ID, STEP_NS
from tendon.sim.vectorised import Worlds

ROBOT, SUITE, FIRST_SEED = "panda", "tabletop", 100_000
SHORT_S, LONG_S = 0.01, STEP_NS * 1e-9
SWING, SLOW_S = 0.1, 1.0
"""Of the target around the start [rad]; a period is 2 pi as long."""
PLAIN_NAME = "plain"


@dataclass(kw_only=True)
class Loop:
    """Something that steps worlds.

    Attributes:
        name: in tables.
        step_s: how far it goes in a call.
        start: (N, n) where the joints are held at first.
        step: steps all of its worlds towards (N, n) and observes.
        close: closes them.
    """

    name: str
    step_s: float
    start: Array
    step: Callable[[Array], object]
    close: Callable[[], None]
    at_s: float = 0.0

    def run(self, seconds: float, clock_ns: Callable[[], int]) -> list[int]:
        """Returns what each step took [ns], of so many seconds."""
        times_ns: list[int] = []
        while sum(times_ns) < seconds * 1e9:
            self.at_s += self.step_s
            targets = self.start + SWING * np.sin(self.at_s / SLOW_S)
            begin_ns = clock_ns()
            self.step(targets)
            times_ns.append(clock_ns() - begin_ns)
        return times_ns


def plain(profile: RobotProfile, simulator: str, seeds: Sequence[int], camera: Camera | None, step_s: float) -> Loop:
    """Returns the loop of somebody who needs no Tendon: its driven joints follow the profile's as ours do."""
    suite, starts = load_suite(SUITE), []

    def open_env(seed: int) -> gymnasium.Env:
        world = open_engine_world(suite, profile, simulator)
        world.reset(suite.scene(profile, seed))
        starts.append(world.engine.driven())
        return PLAIN[simulator](world, camera, step_s)

    if len(seeds) == 1:
        env: gymnasium.Env | SyncVectorEnv = open_env(seeds[0])
        env.reset()
        return Loop(
            name=PLAIN_NAME,
            step_s=step_s,
            start=np.array(starts),
            step=lambda rows: env.step(rows[0]),
            close=env.close,
        )
    env = SyncVectorEnv([partial(open_env, seed) for seed in seeds])
    env.reset()
    return Loop(name=PLAIN_NAME, step_s=step_s, start=np.array(starts), step=env.step, close=env.close)


def ours(profile: RobotProfile, simulator: str, seeds: Sequence[int], camera: Camera | None) -> Loop:
    """Returns the loop of `Worlds`."""
    worlds, cameras = Worlds(load_suite(SUITE), profile, simulator, len(seeds)), [camera.name] if camera else []
    worlds.reset(seeds)

    def step(rows: Array) -> None:
        worlds.step(rows)
        worlds.observe(cameras)

    start = worlds.observe().joint_position
    return Loop(name="Worlds", step_s=SHORT_S, start=start, step=step, close=worlds.close)


def backends(profile: RobotProfile, simulator: str, seeds: Sequence[int], camera: Camera | None) -> Loop:
    """Returns the loop over a `SimBackend` for each seed, each with a trajectory controller."""
    suite, period_ns = load_suite(SUITE), round(SHORT_S * 1e9)
    each = [SimBackend(suite.world(profile, simulator), draws=False) for _ in seeds]
    for backend, seed in zip(each, seeds, strict=True):
        backend.reset(suite.scene(profile, seed))
    start = np.array([backend.observe_joints()[0] for backend in each])
    still = np.zeros((1, start.shape[1]))

    def step(rows: Array) -> None:
        for backend, row in zip(each, rows, strict=True):
            now_ns = backend.world.time_ns
            way = Trajectory(position=row[None], velocity=still, acceleration=still, time_from_start_ns=(period_ns,))
            backend.apply(Command(stamp_ns=now_ns, trajectory=way))
            backend.advance(now_ns + period_ns)
            backend.observe()
            if camera is not None:
                backend.world.render(camera.name)

    def close() -> None:
        for backend in each:
            backend.close()

    return Loop(name="SimBackend", step_s=SHORT_S, start=start, step=step, close=close)


def tabletop(simulator: str, seeds: Sequence[int]) -> Loop:
    """Returns the loop of the tabletop env, many by `SyncVectorEnv`; episodes go on for as long as it is run."""
    make = partial(gymnasium.make, ENV_ID, images=False, simulator=simulator, max_episode_steps=10**9)
    if len(seeds) == 1:
        env = make()
        observation, _ = env.reset(seed=seeds[0])
        start = observation["joint_position"][None]
        return Loop(
            name="tabletop env", step_s=LONG_S, start=start, step=lambda rows: env.step(rows[0]), close=env.close
        )
    envs = SyncVectorEnv([make] * len(seeds))
    observation, _ = envs.reset(seed=list(seeds))
    start = observation["joint_position"]
    return Loop(name="tabletop env", step_s=LONG_S, start=start, step=envs.step, close=envs.close)


def measure(
    bench: harness.Bench, loops: Sequence[Loop], case: dict[str, str], count: int, options: argparse.Namespace
) -> None:
    """Runs loops by turns and adds a row for each, against the plain one, which is the first."""
    clock_ns = time.process_time_ns if options.cpu else time.perf_counter_ns
    times_ns: list[list[int]] = [[] for _ in loops]
    try:
        for loop in loops:
            loop.run(0.1, clock_ns)  # the first picture of a scene uploads its meshes
        with harness.progress_bar() as bar:
            for _ in bar.track(range(options.turns), description=", ".join(case.values())):
                for loop, spent in zip(loops, times_ns, strict=True):
                    spent += loop.run(options.seconds / options.turns, clock_ns)
    finally:
        for loop in loops:
            loop.close()
    for loop, spent in zip(loops, times_ns, strict=True):
        ratio = float(np.median(spent) / np.median(times_ns[0]))
        whole = {**case, "step": f"{loop.step_s * 1e3:.0f} ms", "loop": loop.name}
        spread = harness.spread_of(np.array(spent) * 1e-6, "ms")
        rate = Number(count * len(spent) / sum(spent) * 1e9, "steps/s")
        values: dict[str, harness.Value] = {"rate": rate, "p50": spread["p50"], "p99": spread["p99"]}
        print("  ".join(f"{word:12s}" for word in whole.values()), end="")
        print(
            f"{rate.value:9.1f} steps/s  p50 {spread['p50'].value:8.3f} ms  p99 {spread['p99'].value:8.3f} ms", end=""
        )
        print(f"  {ratio:5.2f} of plain", flush=True)
        if loop.name != PLAIN_NAME:
            values["p50, of the plain loop's"] = Number(ratio)
        bench.add(whole, values, note="processor time" if options.cpu else "")


def main() -> None:
    """Prints the numbers of this machine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--worlds", type=int, nargs="+", default=[1, 4, 16], metavar="N", help="in one process (1 4 16)"
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="of each loop (%(default)s)")
    parser.add_argument("--turns", type=int, default=100, help="that these are shared out to (%(default)s)")
    parser.add_argument("--cpu", action="store_true", help="count CPU time: for a machine that is busy with other work")
    harness.add_arguments(parser)
    options = parser.parse_args()
    bench = harness.begin(options, "env-steps/steps")
    profile = load_profile(ROBOT)
    assert round(PHYSICS_HZ / profile.control_hz) == round(PHYSICS_HZ * SHORT_S)
    for simulator, name in SIMULATORS.items():
        for count in options.worlds:
            seeds = range(FIRST_SEED, FIRST_SEED + count)
            for camera in (None, profile.cameras[0]):
                sees = f"{camera.width}x{camera.height}" if camera else "none"
                case = {"simulator": name, "worlds": str(count), "camera": sees}
                short = (profile, simulator, seeds, camera)
                measure(bench, [plain(*short, SHORT_S), backends(*short), ours(*short)], case, count, options)
                if camera is None:
                    measure(bench, [plain(*short, LONG_S), tabletop(simulator, seeds)], case, count, options)


if __name__ == "__main__":
    main()

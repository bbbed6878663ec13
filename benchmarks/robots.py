"""Robots in simulators: how often the scripted expert does the tasks that a robot has, and how fast each world goes.

Episodes go through controller and filter in lock-step, as on a robot; the expert knows what only a simulator knows, so
this is about robot, world and controller, not about a policy. Scenes from 200 000 on are for reporting.

Examples:
  python benchmarks/robots.py
  python benchmarks/robots.py --robot xarm7 --robot so101 --simulator pybullet --seeds 200000:200024
  python benchmarks/robots.py --robot so101 --suite assembly --seeds 100000:100012 --busy --rows /tmp/rows
"""

from __future__ import annotations

import argparse
import time

import harness
from harness import Number
from rich.progress import track

from tendon.cli.seeds import parse_seeds
from tendon.evaluation.episode import Setting, Timing
from tendon.evaluation.evaluate import END_SEED, FIRST_SEED
from tendon.evaluation.pool import Job, run_jobs
from tendon.evaluation.statistics import wilson
from tendon.evaluation.suites import load_suite, suite_for
from tendon.policies.bundle.places import EXPERT
from tendon.robots.profile import RobotProfile, load_profile
from tendon.sim.engine import PHYSICS_HZ
from tendon.sim.engine_world import open_engine_world
from tendon.sim.simulators import SIMULATORS

ROBOTS = (
    "panda",
    "ur5e_2f85",
    "ur10e",
    "xarm7",
    "so101",
    "fr3",
    "panda_pair",
    "so101_pair",
    "ur5e",
    "g1_arms",
    "talos_upper",
)
STEPS, VIEWS = 600, 20


def successes(bench: harness.Bench, robot: str, suite: str, simulator: str, seeds: range, workers: int) -> None:
    """Counts what the expert does, by family."""
    setting = Setting(timing=Timing.OVERWRITE)
    jobs = [
        Job(bundle=EXPERT, robot=robot, seed=seed, setting=setting, suite=suite, simulator=simulator) for seed in seeds
    ]
    runs = track(run_jobs(jobs, workers), f"{robot} in {SIMULATORS[simulator]}", total=len(jobs))
    episodes = [episode for _, episode in runs]
    families = [name for name in load_suite(suite).families if any(e.family == name for e in episodes)]
    own = {family: [episode.success for episode in episodes if episode.family == family] for family in families}
    rate = wilson(sum(episode.success for episode in episodes), len(episodes))
    stops = sum(bool(episode.stop) for episode in episodes)
    note = ", ".join(f"{family} {sum(done)}/{len(done)}" for family, done in own.items())
    print(f"{robot:11s} {SIMULATORS[simulator]:9s} {suite:8s} {rate}  stops {stops}  {note}")
    bench.add(
        {"robot": robot, "simulator": SIMULATORS[simulator], "suite": suite},
        {
            "success": rate,
            "largest acceleration, of its limit": Number(max(episode.peak_acceleration for episode in episodes)),
            "stops": Number(stops),
        },
        claim="robots/expert",
        note=note,
    )


def speeds(bench: harness.Bench, profile: RobotProfile, suite: str, simulator: str) -> None:
    """Times physics at home and a view of each camera."""
    world = open_engine_world(load_suite(suite), profile, simulator)
    begin_s = time.perf_counter()
    for _ in range(STEPS):
        world.step()
    factor = STEPS / PHYSICS_HZ / (time.perf_counter() - begin_s)
    values = {"physics, times real time": Number(factor)}
    for camera in profile.cameras:
        world.render(camera.name)
        begin_s = time.perf_counter()
        for _ in range(VIEWS):
            world.render(camera.name)
        values[f"{camera.name} {camera.width}x{camera.height}"] = Number(
            VIEWS / (time.perf_counter() - begin_s), "frames/s"
        )
    world.close()
    for what, value in values.items():
        print(f"{profile.name:10s} {SIMULATORS[simulator]:9s} {what}: {value.value:.1f} {value.unit}")
        bench.add(
            {"robot": profile.name, "simulator": SIMULATORS[simulator], "what": what},
            {"mean": value},
            claim="robots-speed/worlds",
        )


def main() -> None:
    """Prints the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robot", action="append", metavar="NAME", help=f"({', '.join(ROBOTS)})")
    parser.add_argument("--simulator", action="append", choices=list(SIMULATORS), help="(all of them)")
    parser.add_argument("--suite", action="append", metavar="NAME", help="(all that the robot has)")
    parser.add_argument("--seeds", default="200000:200060", help="scenes of each robot (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    harness.add_arguments(parser)
    options = parser.parse_args()
    bench = harness.begin(options, "robots/expert", "robots-speed/worlds")
    seeds = parse_seeds(options.seeds, FIRST_SEED, END_SEED)
    for robot in options.robot or ROBOTS:
        profile = load_profile(robot)
        suites = [suite_for(profile), "assembly"] if len(profile.grippers) == 1 else [suite_for(profile)]
        for simulator in options.simulator or SIMULATORS:
            for suite in options.suite or suites:
                successes(bench, robot, suite, simulator, seeds, options.workers)
            speeds(bench, profile, suites[0], simulator)


if __name__ == "__main__":
    main()

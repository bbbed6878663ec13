"""The same worlds in each simulator that is installed: how fast they step and draw, and how often the policy succeeds.

Scenes from 200 000 on are for reporting: nothing was trained or tuned on them. The shipped policy saw PyBullet only.

Examples:
  python benchmarks/simulators.py
  python benchmarks/simulators.py --steps 0
  python benchmarks/simulators.py --seeds 100000:100012 --busy --rows /tmp/rows
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import harness
import numpy as np
from harness import Number
from rich.progress import track

from tendon.cli.seeds import parse_seeds
from tendon.evaluation.episode import Episode, Setting
from tendon.evaluation.evaluate import END_SEED, FIRST_SEED
from tendon.evaluation.pool import Job, run_jobs
from tendon.evaluation.statistics import wilson
from tendon.policies.bundle.places import find_bundle
from tendon.robots.profile import load_profile
from tendon.sim.demonstrations import STEP_S
from tendon.sim.engine import PHYSICS_HZ
from tendon.sim.simulators import SIMULATORS
from tendon.sim.tabletop.expert.pilot import ExpertPilot
from tendon.sim.tabletop.layout import FAMILIES
from tendon.sim.tabletop.scene import sample_scene
from tendon.sim.tabletop.world import World

SPEED_SEED = 100_000
LARGE = (640, 480)


def timed(call: Callable[[], object]) -> float:
    """Returns how long a call takes [ms]."""
    begin_ns = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - begin_ns) * 1e-6


def speeds(bench: harness.Bench, simulator: str, steps: int, views: int) -> None:
    """Times resets, steps under the expert, and views, over scenes of all families."""
    profile = load_profile("panda")
    world, pilot = World(sample_scene(SPEED_SEED), profile, simulator), ExpertPilot(profile)
    found: dict[str, list[float]] = {"reset": [], "step": []}
    for number in range(len(FAMILIES)):
        found["reset"].append(timed(lambda n=number: world.reset(sample_scene(SPEED_SEED + n))))  # type: ignore[misc]
        row = world.joint_state()[0]
        for _ in range(steps // round(STEP_S * PHYSICS_HZ)):
            row = pilot.row(world, row)
            world.set_target(row, np.zeros(len(row)))
            found["step"] += [timed(world.step) for _ in range(round(STEP_S * PHYSICS_HZ))]
        for camera in profile.cameras:
            sizes = {f"view {camera.width}x{camera.height}": (camera.width, camera.height)}
            for name, (width, height) in {**sizes, "view {}x{}".format(*LARGE): LARGE}.items():
                world.render(camera.name, width, height)  # the first one uploads what is drawn
                spent = [timed(lambda c=camera, w=width, h=height: world.render(c.name, w, h)) for _ in range(views)]  # type: ignore[misc]
                found.setdefault(name, []).extend(spent)
    world.close()
    for what, times_ms in found.items():
        spread = harness.spread_of(np.array(times_ms), "ms")
        print(f"{SIMULATORS[simulator]:9s} {what:14s} " + "  ".join(f"{k} {v.value:8.3f}" for k, v in spread.items()))
        case = {"simulator": SIMULATORS[simulator], "what": what}
        bench.add(case, {**spread}, claim="simulation/simulators")
    factor = 1e3 / (float(np.mean(found["step"])) * PHYSICS_HZ)
    case = {"simulator": SIMULATORS[simulator], "what": "physics, times real time"}
    bench.add(case, {"mean": Number(factor)}, claim="simulation/simulators")


def successes(bench: harness.Bench, simulator: str, bundle: Path, seeds: range, workers: int) -> list[Episode]:
    """Counts what the policy does, by family."""
    jobs = [Job(bundle=bundle, robot="panda", seed=seed, setting=Setting(), simulator=simulator) for seed in seeds]
    runs = track(run_jobs(jobs, workers), f"policy in {SIMULATORS[simulator]}", total=len(jobs))
    episodes = sorted((episode for _, episode in runs), key=lambda episode: episode.seed)
    for family in (*FAMILIES, "all"):
        outcomes = [episode.success for episode in episodes if family in (episode.family, "all")]
        rate = wilson(sum(outcomes), len(outcomes))
        print(f"{SIMULATORS[simulator]:9s} {family:8s} {rate}")
        bench.add({"simulator": SIMULATORS[simulator], "family": family}, {"success": rate}, claim="simulation/policy")
    return episodes


def main() -> None:
    """Prints the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="200000:200240", help="scenes of the policy (%(default)s)")
    parser.add_argument("--bundle", default="bundles/tabletop", help="(%(default)s)")
    parser.add_argument(
        "--steps", type=int, default=1500, help="of physics in each of six scenes; 0: no speeds (%(default)s)"
    )
    parser.add_argument("--views", type=int, default=50, help="of each camera in each scene (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    harness.add_arguments(parser)
    options = parser.parse_args()
    bench = harness.begin(options, "simulation/simulators", "simulation/policy")
    seeds, bundle = parse_seeds(options.seeds, FIRST_SEED, END_SEED), find_bundle(options.bundle)
    outcomes = []
    for simulator in SIMULATORS:
        if options.steps:
            speeds(bench, simulator, options.steps, options.views)
        outcomes.append([e.success for e in successes(bench, simulator, bundle, seeds, options.workers)])
    pairs = list(zip(*outcomes, strict=True))
    names = " and ".join(SIMULATORS.values())
    counts = [pairs.count(each) for each in ((True, True), (True, False), (False, True), (False, False))]
    print("scenes done in {}: both {}, only the first {}, only the second {}, neither {}".format(names, *counts))


if __name__ == "__main__":
    main()

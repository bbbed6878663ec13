"""How often the scripted expert does each family of tasks, with the 95 % Wilson interval. Bound: 95 % (issue 2).

It acts through the Gymnasium env without images, on validation seeds, as many of each family.

Examples:
  python benchmarks/expert.py
  python benchmarks/expert.py --seeds 10 --first 150000
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict

import harness

from tendon.evaluation.statistics import wilson
from tendon.sim.demonstrations import STEP_S
from tendon.sim.tabletop.env import EPISODE_STEPS, TabletopEnv
from tendon.sim.tabletop.expert.pilot import ExpertPilot
from tendon.sim.tabletop.layout import FAMILIES


def run(env: TabletopEnv, pilot: ExpertPilot, seed: int) -> tuple[bool, float]:
    """Returns whether the expert did the task of a scene, and how long it took [s]."""
    _, info = env.reset(seed=seed)
    row = info["executed"]
    done, steps = False, 0
    while not done and steps < EPISODE_STEPS:
        row = pilot.row(env.backend.world, row)
        _, _, done, _, _ = env.step(row)
        steps += 1
    return done, steps * STEP_S


def main() -> None:
    """Prints successes, interval, failed seeds and time to success of each family."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100, help="scenes of each family (100)")
    parser.add_argument("--first", type=int, default=100_000, help="first seed (100000: validation)")
    harness.add_arguments(parser)
    options = parser.parse_args()
    bench = harness.begin(options, "expert/families")
    env = TabletopEnv(images=False)
    pilot = ExpertPilot(env.backend.world.profile)
    outcomes: dict[str, list[tuple[int, bool, float]]] = defaultdict(list)
    begin_s = time.monotonic()
    for seed in range(options.first, options.first + options.seeds * len(FAMILIES)):
        outcomes[FAMILIES[seed % len(FAMILIES)]].append((seed, *run(env, pilot, seed)))
    env.close()
    for family, rows in outcomes.items():
        times_s = sorted(time_s for _, done, time_s in rows if done)
        middle, most = (times_s[len(times_s) // 2], times_s[-1]) if times_s else (float("nan"), float("nan"))
        failed = [seed for seed, done, _ in rows if not done]
        print(
            f"{family:8s} {wilson(len(times_s), len(rows))}  "
            f"done in p50 {middle:.1f}, max {most:.1f} s  failed seeds {failed}"
        )
        spent = {name: number for name, number in harness.spread_of(times_s, "s").items() if name != "p99"}
        seeds: dict[str, harness.Value] = {"failed seeds": ", ".join(map(str, failed)) or "none"}
        bench.add({"family": family}, {"success": wilson(len(times_s), len(rows)), **spent, **seeds})
    print(f"{sum(map(len, outcomes.values()))} episodes in {time.monotonic() - begin_s:.0f} s")


if __name__ == "__main__":
    main()

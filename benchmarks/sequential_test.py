"""How often the test that may be looked at after every scene errs, and how soon it shows a difference: by simulation.

Examples:
  python benchmarks/sequential_test.py
  python benchmarks/sequential_test.py --runs 200 --busy --rows /tmp/rows
"""

from __future__ import annotations

import argparse

import harness
import numpy as np
from rich.progress import track

from tendon.evaluation.paired import PairedTest, looked_at_scenes, planned_scenes
from tendon.evaluation.statistics import wilson

SCENES = 300
EQUAL = ((0.1, "equal, differ in 10 % of scenes"), (0.3, "equal, differ in 30 %"), (0.5, "equal, differ in 50 %"))
BETTER = ((0.1, 0.2), (0.15, 0.25), (0.2, 0.3))
"""Differences of success, and shares of scenes in which the two differ."""


def shown(runs: int, scenes: int, difference: float, discordant: float, seed: int) -> tuple[int, int, int]:
    """Returns in how many runs a better policy was named after some scene: on success, on progress, and rightly so."""
    rng = np.random.default_rng(seed)
    shares = [(discordant - difference) / 2, (discordant + difference) / 2, 1 - discordant]
    on_success = on_progress = right = 0
    for _ in range(runs):
        test = PairedTest()
        for outcome in rng.choice(3, size=scenes, p=shares):
            further = (-1.0, 1.0, float(rng.choice([-0.3, 0.0, 0.3])))[outcome]
            test.take(outcome == 0, outcome == 1, further)
        on_success += bool(test.better)
        on_progress += bool(test.further)
        right += test.better == "second"
    return on_success, on_progress, right


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000, help="of each case (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "evaluation/sequential")
    for number, (discordant, name) in enumerate(track(EQUAL, "equal")):
        success, progress, _ = shown(args.runs, SCENES, 0.0, discordant, number)
        bench.add(
            {"case": name, "scenes": str(SCENES)},
            {"shown on success": wilson(success, args.runs), "shown on progress": wilson(progress, args.runs)},
        )
    for number, (difference, discordant) in enumerate(track(BETTER, "better")):
        half, enough = looked_at_scenes(difference, discordant)
        _, _, right = shown(args.runs, enough, difference, discordant, 10 + number)
        planned = f"half {half}, 80 % {enough}; fixed {planned_scenes(difference, discordant)}"
        bench.add(
            {"case": f"{100 * difference:g} points better, differ in {100 * discordant:g} %", "scenes": str(enough)},
            {"shown on success": wilson(right, args.runs), "planned scenes": planned},
        )


if __name__ == "__main__":
    main()

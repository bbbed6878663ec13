"""How far the answers of a policy lie apart over the noise that it starts from: what a choice among them could gain.

The best of N answers can mend no error that is larger than their spread. The shipped graph is run with zeros for noise;
here it is run on the same inputs with noise of standard deviation 1 too.

Example:
  python benchmarks/answer_spread.py --seeds 200000:200024
"""

from __future__ import annotations

import argparse

import harness
import numpy as np

from tendon.cli.seeds import parse_seeds
from tendon.core.types import Array
from tendon.evaluation.evaluate import END_SEED, FIRST_SEED
from tendon.evaluation.recorded_inputs import record_inputs
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.bundle.places import find_bundle
from tendon.policies.engines.loading import load_graph

NOISE, ACTIONS = "noise", "actions"
AXES = slice(0, 3)
"""Of an action: where the tool goes, m from where it is."""


def main() -> None:
    """Prints the spread."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", default="tabletop", help="that speaks tool positions (%(default)s)")
    parser.add_argument("--robot", default="panda", help="profile (%(default)s)")
    parser.add_argument("--suite", default="tabletop_hard", help="(%(default)s)")
    parser.add_argument("--seeds", default="200000:200024", help="scenes (%(default)s)")
    parser.add_argument("--each", type=int, default=6, help="inferences of a scene (%(default)s)")
    parser.add_argument("--answers", type=int, default=8, help="to each (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "residual-parts/spread")
    bundle = load_bundle(find_bundle(args.bundle))
    action = bundle.manifest.action
    graph = load_graph(bundle.content, bundle.manifest.model)
    rng, apart, moved = np.random.default_rng(0), list[Array](), list[Array]()
    seeds = parse_seeds(args.seeds, FIRST_SEED, END_SEED)
    for _, cases in record_inputs(bundle.folder, args.robot, seeds, args.each, args.suite):
        for case in cases:
            feeds = dict(case)
            answers = []
            for number in range(args.answers + 1):
                drawn = rng.standard_normal(feeds[NOISE].shape) if number else np.zeros(feeds[NOISE].shape)
                answer = graph.run(feeds | {NOISE: drawn.astype(np.float32)})[ACTIONS][0]
                answers.append((answer * action.std + action.mean)[:, AXES])
            apart.append(np.linalg.norm(np.array(answers[1:]) - answers[0], axis=2).max(axis=0))
            moved.append(np.linalg.norm(answers[0], axis=1))
    pace, rows = bundle.manifest.pace, action.rows
    for row in (pace.continued_rows + pace.replan_rows - 1, rows - 1):  # the last that is carried out; the last
        case_of = {"answers": str(args.answers), "after": f"{(row + 1) * action.step_s:g} s"}
        spread = harness.spread_of([1e3 * float(each[row]) for each in apart], "mm")
        far = float(np.median([each[row] for each in moved]))
        print(f"{case_of}: {spread}, of {1e3 * far:.0f} mm at the median, {len(apart)} inferences")
        bench.add(case_of, {**spread, "way, p50": harness.Number(1e3 * far, "mm")}, note=f"{len(apart)} inferences")


if __name__ == "__main__":
    main()

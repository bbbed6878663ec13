"""Whether curation matters: rows of what `recipes/curation.sh` made, on the same scenes for every policy.

Examples:
  python benchmarks/curation.py outputs/curation
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import harness
import numpy as np
from harness import Number, Value
from harness.paired import outcomes_by_seed, paired
from scipy.stats import ttest_1samp

from tendon.data.lerobot.reader import LeRobotDataset
from tendon.evaluation.statistics import wilson

HALVES = ("random-0", "random-1", "random-2")
"""Files of WORK: halves by lot."""
TRAINED_ON = {name: f"a random half, draw {k + 1}" for k, name in enumerate(HALVES)}
TRAINED_ON |= {"set": "all", "shipped": "nothing (shipped)"}
"""Files of WORK to what their policy was trained on; the curated half is compared with each."""
BY_CURATED, GAIN = "success of the curated half", "curated - A"


def composition(work: Path, name: str) -> str:
    """Returns what kinds of episodes a part of the set has, in words."""
    rows = map(json.loads, (work / "kinds.jsonl").read_text().splitlines())
    kinds = {f"seed-{row['seed']}": row["kind"] for row in rows}
    found = Counter(kinds[episode["source"]] for episode in LeRobotDataset(work / name).episodes)
    return ", ".join(f"{count} {kind}" for kind, count in sorted(found.items(), key=lambda each: -each[1]))


def main() -> None:
    """Adds the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, help="folder of the recipe")
    parser.add_argument("--curated-by", default="motion and policy", help="what the half was picked by (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "curation/halves")
    curated = outcomes_by_seed(args.work / "curated.json")
    others = {name: outcomes_by_seed(args.work / f"{name}.json") for name in TRAINED_ON}

    def both(names: Sequence[str]) -> tuple[list[list[bool]], list[bool], Value]:
        """Returns what those did, and the curated half, on the scenes that all have done, and the latter as a rate."""
        seeds = sorted(curated.keys() & set.intersection(*(set(others[name]) for name in names)))
        done = [curated[seed] for seed in seeds]
        return [[others[name][seed] for seed in seeds] for name in names], done, wilson(sum(done), len(done))

    for name, said in TRAINED_ON.items():
        (first,), second, rate = both([name])
        values = {"success of A": wilson(sum(first), len(first)), BY_CURATED: rate, **paired(first, second, GAIN)}
        note = "" if name == "shipped" else f"A: {composition(args.work, name)}"
        if name == "set":
            note += f"; curated: {composition(args.work, 'curated')}"
        bench.add({"curated by": args.curated_by, "A is trained on": said}, values, note=note)
    drawn, second, rate = both(HALVES)
    by_scene = np.mean(drawn, axis=0)
    test = ttest_1samp(np.array(second, float) - by_scene, 0.0)
    low, high = 100 * np.array(test.confidence_interval())
    gain = Number(100 * float(np.mean(second) - by_scene.mean()), "points", float(low), float(high))
    values = {"success of A": Number(100 * float(by_scene.mean()), "%"), BY_CURATED: rate, GAIN: gain}
    values["p (t, by scene)"] = Number(float(test.pvalue))
    bench.add({"curated by": args.curated_by, "A is trained on": "a random half, mean of the draws"}, values)


if __name__ == "__main__":
    main()

"""Whether curation matters: rows of what `recipes/curation.sh` made, on the same scenes for every policy.

Examples:
  python benchmarks/curation.py outputs/curation
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

import harness
from harness import Value
from harness.paired import outcomes_by_seed, paired

from tendon.data.lerobot.reader import LeRobotDataset
from tendon.evaluation.statistics import wilson

TRAINED_ON = {"random": "a random half", "set": "all", "shipped": "nothing (shipped)"}
"""Files of WORK to what their policy was trained on; the curated half is compared with each."""


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
    for name, said in TRAINED_ON.items():
        other = outcomes_by_seed(args.work / f"{name}.json")
        seeds = sorted(curated.keys() & other.keys())
        first, second = [other[seed] for seed in seeds], [curated[seed] for seed in seeds]
        values: dict[str, Value] = {
            "success of A": wilson(sum(first), len(first)),
            "success of the curated half": wilson(sum(second), len(second)),
            **paired(first, second, "curated - A"),
        }
        note = "" if name == "shipped" else f"A: {composition(args.work, name)}"
        if name == "random":
            note = f"curated: {composition(args.work, 'curated')}; {note}"
        bench.add({"curated by": args.curated_by, "A is trained on": said}, values, note=note)


if __name__ == "__main__":
    main()

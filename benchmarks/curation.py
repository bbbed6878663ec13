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
from harness import Number, Value

from tendon.data.lerobot.reader import LeRobotDataset
from tendon.evaluation.paired import mcnemar
from tendon.evaluation.statistics import paired_difference, wilson

TRAINED_ON = {"random": "a random half", "set": "all", "shipped": "nothing (shipped)"}
"""Files of WORK to what their policy was trained on; the curated half is compared with each."""


def episodes(file: Path) -> dict[int, bool]:
    """Returns the success of each seed."""
    return {each["seed"]: bool(each["success"]) for each in json.loads(file.read_text())["episodes"]}


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
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "recording/curation")
    curated = episodes(args.work / "curated.json")
    for name, said in TRAINED_ON.items():
        other = episodes(args.work / f"{name}.json")
        seeds = sorted(curated.keys() & other.keys())
        first, second = [other[seed] for seed in seeds], [curated[seed] for seed in seeds]
        change = paired_difference(first, second)
        values: dict[str, Value] = {
            "success of A": wilson(sum(first), len(first)),
            "success of the curated half": wilson(sum(second), len(second)),
            "curated - A": Number(100 * change.difference, "points", 100 * change.lower, 100 * change.upper),
            "p (McNemar)": Number(mcnemar(change.first, change.second)),
        }
        note = "" if name == "shipped" else f"A: {composition(args.work, name)}"
        if name == "random":
            note = f"curated: {composition(args.work, 'curated')}; {note}"
        bench.add({"A is trained on": said}, values, note=note)


if __name__ == "__main__":
    main()

"""What finetuning on teleoperated demonstrations changed: rows of what `recipes/teleop_finetune.sh` compared.

Examples:
  python benchmarks/finetuned.py outputs/teleop
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import harness
from harness import Value
from harness.paired import paired

from tendon.evaluation.statistics import wilson

COMPARED = {
    "bundle": ("shipped", "finetuned"),
    "told": ("shipped", "told where the camera is"),
    "data": ("told where the camera is", "finetuned"),
}
"""Files of WORK to what A and B are in them."""


def main() -> None:
    """Adds the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, help="folder of the recipe")
    parser.add_argument("--otherwise", default="", help="what was done otherwise than the recipe says")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "recording/finetuned")
    recorded = [json.loads(line) for line in (args.work / "episodes.jsonl").read_text().splitlines()]
    good = [row for row in recorded if row["success"]]
    minutes = sum(row["seconds"] for row in good) / 60
    note = f"{len(good)} of {len(recorded)} teleoperated episodes succeeded, {minutes:.1f} min of demonstrations"
    note += f"; {args.otherwise}" if args.otherwise else ""
    for name, (first, second) in COMPARED.items():
        file = args.work / f"{name}.json"
        if not file.is_file():
            continue
        found = json.loads(file.read_text())
        families = dict.fromkeys(pair["a"]["family"] for pair in found["episodes"])
        for family in (*families, "all"):
            pairs = [pair for pair in found["episodes"] if family in (pair["a"]["family"], "all")]
            bench.add({"A": first, "B": second, "family": family}, _values(pairs), note=note if family == "all" else "")


def _values(pairs: list[dict[str, Any]]) -> dict[str, Value]:
    first, second = ([pair[side]["success"] for pair in pairs] for side in ("a", "b"))
    return {
        "success of A": wilson(sum(first), len(first)),
        "success of B": wilson(sum(second), len(second)),
        **paired(first, second, "B - A"),
    }


if __name__ == "__main__":
    main()

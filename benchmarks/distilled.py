"""What distilling a policy and its residual gave: rows of what `recipes/residual_distil.sh` made.

Examples:
  python benchmarks/distilled.py outputs/distil
  python benchmarks/distilled.py outputs/distil --gain outputs/residual/gain
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

import harness
from harness.paired import outcomes_by_seed, paired

from tendon.core.json_lines import json_lines_so_far
from tendon.evaluation.statistics import wilson
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.bundle.places import find_bundle
from tendon.policies.inference.identity import policy_digest
from tendon.policies.residual.bundle import load_residual

SUITES = ("tabletop_hard", "tabletop")
ALONE, CORRECTED = "policy alone", "policy and residual"
WEAKEST = "stack"
"""The task that gains least, on its own."""


def composition(work: Path) -> str:
    """Returns what was learned from, in words."""
    rows = [json.loads(line) for line in (work / "tried.jsonl").read_text(encoding="utf-8").splitlines()]
    tried = Counter(row["suite"] for row in rows)
    done = Counter(row["suite"] for row in rows if row["frames"])
    frames = sum(row["frames"] for row in rows)
    said = ", ".join(f"{done[suite]} of {tried[suite]} scenes of {suite}" for suite in sorted(tried, reverse=True))
    return f"learned from {frames} frames of {said}"


def corrected(folder: Path, suite: str, bundle: str, residual: Path) -> dict[int, bool]:
    """Returns what the policy did with its residual, by seed, as `benchmarks/residual_gain.py` keeps it in a folder."""
    digests = policy_digest(load_bundle(find_bundle(bundle)).manifest), load_residual(residual).manifest.digest
    rows = json_lines_so_far(folder / suite / digests[0][:12] / f"{digests[1][:12]}.jsonl")
    return {int(row["seed"]): bool(row["success"]) for row in rows}


def main() -> None:
    """Adds the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, help="folder of the recipe")
    parser.add_argument("--gain", type=Path, help="folder of `benchmarks/residual_gain.py`, to compare with both too")
    parser.add_argument("--bundle", default="tabletop", help="what was distilled (%(default)s)")
    parser.add_argument("--residual", type=Path, default=Path("bundles/residuals/tabletop"), help="(%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "residual/distilled")
    for suite in SUITES:
        distilled, stacked = (outcomes_by_seed(args.work / f"{suite}-distilled.json", each) for each in ("", WEAKEST))
        alone = outcomes_by_seed(args.work / f"{suite}-alone.json")
        compared = [(ALONE, "all", alone, distilled), (ALONE, WEAKEST, alone, stacked)]
        if args.gain is not None:
            compared.append((CORRECTED, "all", corrected(args.gain, suite, args.bundle, args.residual), distilled))
        for name, tasks, outcomes, found in compared:
            seeds = sorted(found.keys() & outcomes.keys())
            if not seeds:
                print(f"{suite}, {name}: no scene that the distilled policy has done too")
                continue
            first, second = ([each[seed] for seed in seeds] for each in (outcomes, found))
            values: dict[str, harness.Value] = {
                "success of A": wilson(sum(first), len(first)),
                "success of the distilled policy": wilson(sum(second), len(second)),
                **paired(first, second, "distilled - A"),
            }
            note = composition(args.work) if (name, tasks) == (ALONE, "all") else ""
            bench.add({"suite": suite, "tasks": tasks, "A": name}, values, note=note)


if __name__ == "__main__":
    main()

"""What a residual is made of: it is trained again with one thing changed, and compared on the same unseen scenes.

Each is trained in half an hour to an hour on two idle CPU cores, and goes on where it was cut.

Examples:
  python benchmarks/studies/residual_ablations.py
  python benchmarks/studies/residual_ablations.py --only "no layer norm" --busy --rows /tmp/rows
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # benchmarks

import harness
from harness.paired import success_and_change
from residual_gain import Scenes, kept

from tendon.cli.progress import CountingBar
from tendon.cli.seeds import parse_seeds
from tendon.control.residual.space import ResidualSpace
from tendon.evaluation.evaluate import END_SEED, FIRST_SEED
from tendon.evaluation.residual_rollouts import Task
from tendon.evaluation.residual_training import Recipe, ResidualRun
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.residual.bundle import load_residual
from tendon.policies.training.residual.learner import Settings

SUITES = {"tabletop_hard": "200000:200300", "tabletop": "200000:200120"}
"""Those that are tried in training, and the scenes of each to compare on."""
KEPT = ("tabletop",)
"""As `recipes/residual.sh` has it; a residual for which nothing was kept is in the table of `residual_gain.py`."""
SHIPPED = Path("bundles/residuals/tabletop")
STEPS = 28_000
"""As `recipes/residual.sh` says."""


@dataclass(frozen=True)
class Parts:
    """What a training run is made of."""

    space: ResidualSpace
    recipe: Recipe
    settings: Settings


CHANGES: dict[str, Callable[[Parts], Parts]] = {
    "10 mm": lambda parts: replace(parts, space=replace(parts.space, tool_m=0.01)),
    "60 mm": lambda parts: replace(parts, space=replace(parts.space, tool_m=0.06)),
    "no prior data": lambda parts: replace(parts, recipe=replace(parts.recipe, prefill_steps=1000)),
    "no layer norm": lambda parts: replace(parts, settings=replace(parts.settings, norm=False)),
    "no plan": lambda parts: replace(parts, space=replace(parts.space, rows=0)),
}


def train(folder: Path, bundle: Path, parts: Parts, workers: int) -> Path:
    """Trains a residual, or goes on, and returns its folder."""
    task = Task(bundle=bundle, robot="panda", suites=tuple(SUITES), kept=KEPT, space=parts.space)
    run = ResidualRun(folder, task, parts.recipe, parts.settings)
    with CountingBar(folder.name, parts.recipe.steps) as bar:
        run.train(workers, bar.reach)
    return folder


def main() -> None:
    """Trains and compares what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=CHANGES, default=list(CHANGES), help="(all)")
    parser.add_argument("--steps", type=int, default=STEPS, help="of training (%(default)s)")
    parser.add_argument("--folder", type=Path, default=Path("outputs/residual/ablations"), help="(%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "residual-parts/ablations")
    shipped, bundle = load_residual(SHIPPED), load_bundle(Path("bundles/tabletop"))
    usual = Parts(shipped.manifest.space, Recipe(minutes=0.0, steps=args.steps), Settings())
    found = {"as it is": SHIPPED}
    for name in args.only:
        folder = args.folder / name.replace(" ", "-")
        found[name] = train(folder, bundle.folder, CHANGES[name](usual), args.workers)
    for suite, told in SUITES.items():
        seeds = list(parse_seeds(told, FIRST_SEED, END_SEED))
        scenes = Scenes(bundle=bundle, robot="panda", suite=suite, workers=args.workers)
        before: list[bool] = []
        for name, folder in found.items():
            file = args.folder / "outcomes" / suite / f"{load_residual(folder).manifest.digest[:12]}.jsonl"
            done = kept(file, seeds, partial(scenes.corrected, folder), f"{suite}, {name}")
            values = success_and_change(before, done, "change")
            before = before or done
            print(f"{suite}, {name}: {values}")
            bench.add({"suite": suite, "residual": name}, values, note=f"scenes {told}")


if __name__ == "__main__":
    main()

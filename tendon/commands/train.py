"""Train the small vision-language-action policy on demonstrations; run it again to resume.

Examples:
  tendon train --data outputs/demos/expert --out outputs/runs/stage1 --steps 12000
  tendon train --data outputs/demos/expert outputs/demos/dagger1 --out outputs/runs/stage2 --start outputs/runs/stage1
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tendon.core.errors import MissingDependencyError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.epilog = __doc__.partition("\n\n")[2] if __doc__ else None
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="folders written by `tendon demos`")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run; a cut run goes on from there")
    parser.add_argument("--start", type=Path, help="run whose weights to start from")
    parser.add_argument("--steps", type=int, default=12_000, help="optimiser steps (%(default)s)")
    parser.add_argument("--batch", type=int, default=64, help="frames a step (%(default)s)")
    parser.add_argument("--learning-rate", type=float, default=1e-3, help="peak (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of weights, noise and order (%(default)s)")


def run(args: argparse.Namespace) -> int:
    """Trains and saves."""
    try:
        from tendon.policies.training.train import Recipe, Run
    except ImportError as error:
        raise MissingDependencyError(f"training needs torch ({error}): pip install 'tendon[train]'") from error

    recipe = Recipe(steps=args.steps, batch=args.batch, learning_rate=args.learning_rate, seed=args.seed)
    Run(args.out, args.data, recipe, args.start).train()
    return 0

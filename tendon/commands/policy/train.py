"""Train the small vision-language-action policy on demonstrations; run it again to resume.

Examples:
  tendon policy train outputs/demos/expert --out outputs/runs/stage1 --steps 12000
  tendon policy train outputs/demos/expert outputs/demos/dagger1 --out outputs/runs/stage2 --start outputs/runs/stage1
  tendon policy train outputs/demos/ur5e --out outputs/runs/ur5e --start bundles/tabletop
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tendon.core.distribution import pip_install
from tendon.core.errors import MissingDependencyError


def command(
    data: Annotated[list[Path], typer.Argument(metavar="FOLDER...", help="Folders written by `tendon data demos`.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder of the run; a cut run goes on from there.")],
    start: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Run, or bundle, whose weights to start from.")
    ] = None,
    steps: Annotated[int, typer.Option(help="Optimiser steps.")] = 12_000,
    batch: Annotated[int, typer.Option(help="Frames a step.")] = 64,
    learning_rate: Annotated[float, typer.Option(help="Its peak.")] = 1e-3,
    seed: Annotated[int, typer.Option(help="Of weights, noise and order.")] = 0,
) -> int:
    """Trains and saves."""
    try:
        from tendon.policies.training.recover import is_bundle, recover_start
        from tendon.policies.training.train import Recipe, Run
    except ImportError as error:
        raise MissingDependencyError(f"training needs torch ({error}): {pip_install('train')}") from error

    from_bundle = start is not None and is_bundle(start)
    if start is not None and from_bundle:
        start = recover_start(start, out / "start", data[0])
    recipe = Recipe(steps=steps, batch=batch, learning_rate=learning_rate, seed=seed, freeze_norm=from_bundle)
    Run(out, data, recipe, start).train()
    return 0

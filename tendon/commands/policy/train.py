r"""Train the small vision-language-action policy; run it again to resume.

--data takes demonstrations (`tendon data demos`), LeRobot datasets v3.0, and recordings: MCAP files or folders of them.
A weight behind a colon has frames of it drawn so many times as often. Failures are left out. Datasets and recordings do
not say what a policy sees and answers: go on --from a bundle or a run, or give demonstrations beside them.

Examples:
  tendon policy train --data outputs/demos/expert --out outputs/runs/stage1 --steps 12000
  tendon policy train --data outputs/demos/expert --data outputs/demos/dagger1 --out outputs/runs/stage2 \
    --from outputs/runs/stage1
  tendon policy train --data outputs/datasets/mine --out outputs/runs/mine --from bundles/tabletop --steps 1500
  tendon policy train --data outputs/datasets/mine --out outputs/runs/mine --from bundles/tabletop \
    --augment colour,shift,view=0.5
  tendon policy train --data outputs/recordings:2 --data outputs/demos/expert:0.5 --out outputs/runs/both \
    --from bundles/tabletop
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tendon.cli.options import RobotOption
from tendon.cli.termination import interrupted_by_sigterm
from tendon.core.distribution import pip_install
from tendon.core.errors import ConfigError, MissingDependencyError
from tendon.core.files import lock_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tendon.policies.training.mixture import Part
    from tendon.policies.training.train import Run


def command(
    data: Annotated[
        list[str],
        typer.Option(metavar="PLACE[:WEIGHT]", help="Demonstrations, a dataset or recordings; many times."),
    ],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder of the run; a cut run goes on from there.")],
    start: Annotated[
        Path | None, typer.Option("--from", metavar="RUN", help="Run, or bundle, whose weights to start from.")
    ] = None,
    robot: RobotOption = "panda",
    steps: Annotated[int, typer.Option(help="Optimiser steps.")] = 12_000,
    batch: Annotated[int, typer.Option(help="Frames a step.")] = 64,
    learning_rate: Annotated[float, typer.Option(help="Its peak.")] = 1e-3,
    seed: Annotated[int, typer.Option(help="Of weights, noise and order.")] = 0,
    augment: Annotated[
        str,
        typer.Option(metavar="NAME[=STRENGTH],...", help="Of frames: colour, shift, view, background, noise."),
    ] = "colour",
) -> int:
    """Trains and saves.

    Raises:
        ConfigError: a place, a weight or an augmentation is none, or an episode has no instruction.
        MismatchError: data are of another robot, or lack what the policy sees.
        BlockingIOError: another process trains in --out.
        MissingDependencyError: torch, or the extra `data` where it is needed, is not installed.
    """
    try:
        from tendon.policies.training.augment.augment import parse
        from tendon.policies.training.recover import is_bundle, recover_start
        from tendon.policies.training.run_files import RUN_FILE
        from tendon.policies.training.train import Recipe, Run
        from tendon.robots.profile import load_profile
    except ImportError as error:
        raise MissingDependencyError(f"training needs torch ({error}): {pip_install('train')}") from error

    recipe = Recipe(steps=steps, batch=batch, learning_rate=learning_rate, seed=seed, augment=augment)
    parse(augment)  # what is wrong with it is said before data are read
    load_profile(robot)
    parts, viewpoints = _open([_read(text) for text in data], robot)
    from_bundle = start is not None and is_bundle(start)
    if start is not None and not from_bundle and not (start / RUN_FILE).is_file():
        raise ConfigError(f"nothing to start from at {start}: name a training run (with run.json) or a bundle")
    lock = lock_folder(out)
    try:
        if start is not None and from_bundle:
            start = recover_start(start, out / "start", viewpoints)
        _train(Run(out, parts, replace(recipe, freeze_norm=from_bundle), start))
    finally:
        os.close(lock)
    print(f"{out}: trained for {steps} steps; `tendon policy export {out} BUNDLE` makes a bundle of it")
    return 0


def _train(run: Run) -> None:
    try:
        with interrupted_by_sigterm():
            run.train()
    except KeyboardInterrupt:
        going_on = f"saved at step {run.saved_step} of {run.recipe.steps}: the same command goes on"
        print(f"{run.folder}: {going_on if run.saved_step else 'nothing is saved: no step was done'}")
        raise


def _read(text: str) -> tuple[Path, float]:
    """Returns place and weight of what was written.

    Raises:
        ConfigError: the weight is no number.
    """
    place, colon, weight = text.rpartition(":")
    if not colon or Path(text).exists():
        return Path(text), 1.0
    try:
        return Path(place), float(weight)
    except ValueError as error:
        if not Path(place).exists():  # its name has a colon, and it is not there
            return Path(text), 1.0
        raise ConfigError(f"--data {text}: weight is {weight!r}, must be a number above 0") from error


def _open(places: list[tuple[Path, float]], robot: str) -> tuple[list[Part], Mapping[str, Any]]:
    """Returns the parts, and the viewpoints of the cameras of the robot that they are of."""
    from tendon.policies.training.data import ABOUT_FILE, read_about
    from tendon.policies.training.mixture import Part
    from tendon.policies.training.recorded import Recording

    shards = [(place / ABOUT_FILE).is_file() for place, _ in places]
    if all(shards):
        return [Part(source=place, weight=weight) for place, weight in places], read_about(places[0][0])["cameras"]
    from tendon.data.packages import require_data

    require_data()
    from tendon.data.episodes import open_episodes
    from tendon.data.reading.tasks import untold_line
    from tendon.robots.profile import load_profile
    from tendon.sim.viewpoints import labelled_viewpoints

    profile = load_profile(robot)
    viewpoints = labelled_viewpoints(profile)
    parts = []
    for (place, weight), shard in zip(places, shards, strict=True):
        if shard:
            parts.append(Part(source=place, weight=weight))
            continue
        episodes = open_episodes(place, profile)
        for line in episodes.left_out:
            print(f"left out: {line}")
        print(f"{place}: {len(episodes)} episodes, {episodes.count} frames")
        if episodes.untold:
            raise ConfigError(untold_line(str(place), episodes.untold, len(episodes)))
        recording = Recording(episodes=episodes, profile=profile, viewpoints=viewpoints)
        parts.append(Part(source=recording, weight=weight))
    return parts, viewpoints

"""Split a dataset into two new ones, such as for training and validation; the original stays as it is.

Examples:
  tendon data split outputs/datasets/mine --share 0.9 --out outputs/datasets/train --rest outputs/datasets/validation
  tendon data split outputs/datasets/mine --episodes 0:40 --out outputs/datasets/a --rest outputs/datasets/b
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tendon.core.errors import ConfigError


def command(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="LeRobot dataset, v3.0.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The first new one.")],
    rest: Annotated[Path, typer.Option(metavar="FOLDER", help="The second, with the other episodes.")],
    share: Annotated[float, typer.Option(help="Of the episodes for the first, drawn by --seed.")] = 0.9,
    episodes: Annotated[str, typer.Option(metavar="NUMBERS", help="Of the first, in place of --share.")] = "",
    seed: Annotated[int, typer.Option(min=0, help="Of the drawing.")] = 0,
) -> int:
    """Writes both.

    Raises:
        ConfigError: one of them would be empty, or there is a dataset already, or both are in one folder.
        MissingDependencyError: the extra `data` is not installed.
    """
    from tendon.data.packages import require_data

    require_data()
    import numpy as np

    from tendon.data.lerobot.edit import copy_episodes, parse_episodes, require_new
    from tendon.data.lerobot.reader import LeRobotDataset

    require_new(out, rest)
    given = LeRobotDataset(dataset)
    count = len(given)
    if episodes:
        first = parse_episodes(episodes, count)
    else:
        if not 0.0 < share < 1.0:
            raise ConfigError(f"--share is {share:g}, must be above 0 and below 1")
        first = sorted(np.random.default_rng(seed).permutation(count)[: round(share * count)].tolist())
    second = [number for number in range(count) if number not in first]
    if not first or not second:
        raise ConfigError(f"of {count} episodes, {len(first)} and {len(second)} would be in the two: each needs one")
    for place, numbers in ((out, first), (rest, second)):
        print(f"{place}: {copy_episodes(((given, number) for number in numbers), place)} episodes")
    return 0

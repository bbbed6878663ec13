"""Merge datasets of the same robot into a new one; videos are copied, not encoded again.

Example:
  tendon data merge outputs/datasets/monday outputs/datasets/tuesday --out outputs/datasets/both
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    datasets: Annotated[list[Path], typer.Argument(metavar="DATASET...", help="LeRobot datasets, v3.0.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The new one.")],
) -> int:
    """Writes the new dataset.

    Raises:
        MismatchError: they are of different robots, joints, cameras or rates.
        ConfigError: there is a dataset at --out.
        MissingDependencyError: the extra `data` is not installed.
    """
    from tendon.data.packages import require_data

    require_data()
    from rich.progress import track

    from tendon.data.lerobot.edit import copy_episodes, require_alike, require_new, require_once
    from tendon.data.lerobot.reader import LeRobotDataset

    require_new(out)
    require_once(datasets)
    opened = [LeRobotDataset(path) for path in datasets]
    for each in opened[1:]:
        require_alike(each, opened[0].shape, opened[0].info["features"])
    episodes = [(each, number) for each in opened for number in range(len(each))]
    sources = [str(row["source"]) for each in opened for row in each.episodes if row.get("source")]
    if twice := len(sources) - len(set(sources)):
        print(f"{twice} episodes are of a recording that another one is of, too: they count twice")
    count = copy_episodes(track(episodes, "merge"), out)
    print(f"{out}: {count} episodes")
    return 0

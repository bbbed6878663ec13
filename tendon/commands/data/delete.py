"""Copy a dataset without some of its episodes; the original stays as it is.

Example:
  tendon data delete outputs/datasets/mine --episodes 3,7:10 --out outputs/datasets/better
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="LeRobot dataset, v3.0.")],
    episodes: Annotated[str, typer.Option(metavar="NUMBERS", help="To leave out, such as 0,3,7:10.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The new one.")],
) -> int:
    """Writes the new dataset.

    Raises:
        ConfigError: an episode is not there, none would be left, or there is a dataset at --out.
        MissingDependencyError: the extra `data` is not installed.
    """
    from tendon.data.packages import require_data

    require_data()
    from rich.progress import track

    from tendon.data.lerobot.edit import copy_episodes, parse_episodes, require_new
    from tendon.data.lerobot.reader import LeRobotDataset

    given = LeRobotDataset(dataset)
    gone = set(parse_episodes(episodes, len(given)))
    require_new(out)
    left = [(given, number) for number in range(len(given)) if number not in gone]
    count = copy_episodes(track(left, "copy"), out)
    print(f"{out}: {count} of {len(given)} episodes")
    return 0

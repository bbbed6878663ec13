"""Print what a dataset is, and the statistics by which policies normalise it.

Example:
  tendon data stats outputs/datasets/mine
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

MERGED = "q01 and q99: the mean of the episodes' own, as LeRobot merges them, and not those of all frames"


def command(dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="LeRobot dataset, v3.0.")]) -> int:
    """Prints a table for each feature of numbers.

    Raises:
        InvalidDataError: it is no dataset.
        MissingDependencyError: the extra `data` is not installed.
    """
    from tendon.data.packages import require_data

    require_data()
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from tendon.data.lerobot.layout import STATS, read_json
    from tendon.data.lerobot.reader import LeRobotDataset

    given = LeRobotDataset(dataset)
    stats, shape, console = read_json(dataset / STATS), given.shape, Console()
    frames = given.info["total_frames"]
    seconds = frames / shape.fps
    print(f"{dataset}: {shape.robot}, {len(given)} episodes, {frames} frames, {seconds:.0f} s at {shape.fps} Hz")
    print(f"cameras: {', '.join(f'{c.name} {c.width}x{c.height}' for c in shape.cameras) or 'none'}; {shape.codec}")
    print(f"tasks: {'; '.join(given.tasks.values())}")
    for name in ("observation.state", "velocity", "action", "proposed"):
        if name not in stats:
            continue
        columns = [each for each in ("min", "q01", "mean", "std", "q99", "max") if each in stats[name]]
        table = Table("joint", *columns, title=name, title_justify="left", caption=MERGED, caption_justify="left")
        for k, joint in enumerate(shape.joints):
            table.add_row(joint, *(f"{np.ravel(stats[name][each])[k]:.4f}" for each in columns))
        console.print(table)
    return 0

"""Fit the workspace to points that the tool was led to, and write it into the robot's profile.

The file has x, y, z [m] of the tool in the base frame in each line: the borders of where it may be, such as the corners
of the table, just above it and as high as it may go. Policies' targets, and the tool itself, are kept in the box.

Examples:
  tendon calibrate workspace borders.csv --robot robots/mine/profile.yaml
  tendon calibrate workspace borders.csv --robot robots/mine/profile.yaml --inward-mm 20
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    points: Annotated[Path, typer.Argument(metavar="POINTS", help="A .csv with x, y, z [m].")],
    robot: Annotated[str, typer.Option(metavar="ROBOT", help="Whose profile it goes into.")],
    inward_mm: Annotated[float, typer.Option(min=0, max=200, help="How far the box stays inside of them [mm].")] = 0.0,
) -> int:
    """Writes it.

    Raises:
        TendonError: points cannot be read, leave no room, or home would be outside.
    """
    from tendon.calibration.columns import read_columns
    from tendon.calibration.workspace import box_of
    from tendon.core.errors import ConfigError
    from tendon.robots.kinematics import Kinematics
    from tendon.robots.profile import load_profile, profile_file
    from tendon.robots.profile_edit import write_key

    profile, file = load_profile(robot), profile_file(robot)
    box = box_of(read_columns(points, 3), inward_mm / 1000)
    tool = Kinematics(profile).tool_pose(profile.vector("home"))[0].tolist()
    if not all(low <= value <= high for low, value, high in zip(box.lower, tool, box.upper, strict=True)):
        where = ", ".join(f"{value:.3f}" for value in tool)
        raise ConfigError(
            f"home puts the tool at {where}, outside of {list(box.lower)} to {list(box.upper)}: lead it further, or "
            "change home first"
        )
    write_key(file, "workspace", {"lower": list(box.lower), "upper": list(box.upper)})
    before = f"{list(profile.workspace.lower)} to {list(profile.workspace.upper)}"
    print(f"workspace: {list(box.lower)} to {list(box.upper)} m (the one before: {before})\nprofile: {file} has it")
    return 0

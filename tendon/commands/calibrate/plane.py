"""Write the table as an environment, which the safety filter keeps clear of: through touch points, or below a board.

A file of touch points has x, y, z [m] of the tool in the base frame in each line, where it touched: eight points, far
apart. A board is one that the robot's calibration saw lying on the table.

Examples:
  tendon calibrate plane touched.csv --out environments/my_table.yaml
  tendon calibrate plane --robot robots/mine/profile.yaml --thickness-mm 3 --out environments/my_table.yaml
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    out: Annotated[Path, typer.Option(metavar="FILE", help="A .yaml to write.")],
    points: Annotated[Path | None, typer.Argument(metavar="POINTS", help="A .csv with x, y, z [m].")] = None,
    robot: Annotated[str, typer.Option(help="In place of points: whose calibration has the board.")] = "",
    board: Annotated[str, typer.Option(help="That lies on the table.")] = "table",
    thickness_mm: Annotated[float, typer.Option(min=0, max=100, help="Of the board [mm].")] = 0.0,
    body: Annotated[str, typer.Option(help="What the plane is called.")] = "table",
) -> int:
    """Writes it and says how flat it is.

    Raises:
        TendonError: points cannot be read, are too few, or lie on a line; or the board's place is not known.
    """
    from tendon.calibration.columns import read_columns
    from tendon.calibration.results.file import load_record
    from tendon.calibration.results.keeping import stale_lines
    from tendon.calibration.surface import plane_of_board, plane_through, write_environment
    from tendon.cli.outputs import require_file
    from tendon.core.errors import ConfigError
    from tendon.robots.environment import load_environment
    from tendon.robots.profile import load_profile

    require_file(out)
    if out.is_file():
        try:
            load_environment(out)
        except ConfigError as error:
            raise ConfigError(f"--out {out} is there, and is no environment: name another file ({error})") from error
    if (points is None) == (not robot):
        raise ConfigError("give a file of touch points, or --robot and --board")
    if points is not None:
        found = plane_through(read_columns(points, 3))
        said = (
            f"{found.kept.sum()} points within {1000 * found.rms_m:.2f} mm, {int((~found.kept).sum())} left out; height"
        )
    else:
        profile = load_profile(robot)
        if profile.calibration is None:
            raise ConfigError(f"profile {profile.name} names no calibration: make one with `tendon calibrate solve`")
        record = load_record(profile.calibration)
        place = record.board(board, profile.base_frame)
        for line in stale_lines(record, f"board {board}"):
            print(line)
        found = plane_of_board(place.pose, place.spread, thickness_mm / 1000)
        said = f"below board {board}; height"
    kept = write_environment(found, out, body)
    load_environment(out)
    print(f"{said} +-{1000 * found.height_95_m:.2f} mm, tilt +-{found.tilt_95_deg:.3f} deg (95 %)")
    print(f"{out}" + (f" (the one before: {kept})" if kept else ""))
    return 0

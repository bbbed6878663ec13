"""Fit the table to touch points and write it as an environment, which the safety filter keeps clear of.

The file has x, y, z [m] of the tool in the base frame in each line, where it touched: eight points, far apart.

Examples:
  tendon calibrate plane touched.csv --out environments/my_table.yaml
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    points: Annotated[Path, typer.Argument(metavar="POINTS", help="A .csv with x, y, z [m].")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="A .yaml to write.")],
    body: Annotated[str, typer.Option(help="What it is called.")] = "table",
) -> int:
    """Writes it and says how flat it is.

    Raises:
        TendonError: points cannot be read, are too few, or lie on a line.
    """
    from tendon.calibration.columns import read_columns
    from tendon.calibration.surface import plane_through, write_environment
    from tendon.cli.outputs import require_file
    from tendon.robots.environment import load_environment

    require_file(out)
    found = plane_through(read_columns(points, 3))
    left_out = int((~found.kept).sum())
    kept = write_environment(found, out, body)
    load_environment(out)
    print(
        f"{found.kept.sum()} points within {1000 * found.rms_m:.2f} mm, {left_out} left out; height "
        f"+-{1960 * found.height_m:.2f} mm, "
        f"tilt +-{1.96 * found.tilt_deg:.3f} deg (95 %)"
    )
    print(f"{out}" + (f" (the one before: {kept})" if kept else ""))
    return 0

"""Say from a few views whether a calibration still holds, or by how much a camera drifted; exit code 1 when it did.

Three views of each camera at least, better eight, turned as for a calibration. The board may lie anywhere.

Examples:
  tendon calibrate verify outputs/calibration/session
  tendon calibrate verify outputs/check --calibration robots/mine/calibration.yaml
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    session: Annotated[Path, typer.Argument(metavar="SESSION", help="Folder with session.yaml and a few views.")],
    calibration: Annotated[
        Path | None, typer.Option(metavar="FILE", help="By default the one that the session's profile names.")
    ] = None,
) -> int:
    """Prints a line a camera.

    Raises:
        TendonError: the session or the calibration is wrong, or the views are too few.
    """
    from tendon.calibration.left_out import LeftOut
    from tendon.calibration.results.file import load_record
    from tendon.calibration.results.keeping import stale_lines
    from tendon.calibration.session import Session
    from tendon.calibration.verify import verify
    from tendon.core.errors import ConfigError
    from tendon.robots.profile import load_profile

    opened = Session(session)
    profile = load_profile(opened.setup.robot)
    file = calibration or profile.calibration
    if file is None:
        raise ConfigError(f"profile {profile.name} names no calibration: make one with `tendon calibrate solve`")
    record, rig = load_record(file), opened.rig(profile)
    left_out = LeftOut()
    views = opened.views(rig, left_out.add)
    for line in left_out.lines():
        print(line)
    found = verify(record, rig, views)
    for line in (*found.lines(), *stale_lines(record, "camera")):
        print(line)
    return int(not found.holds)

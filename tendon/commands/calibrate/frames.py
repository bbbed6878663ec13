"""Write where a calibration found the cameras, as ROS takes it: a launch file, shell lines, or fixed joints of a URDF.

`static_transform_publisher` puts them on /tf_static as tf2_msgs. A robot whose URDF has a camera's frame already takes
the joint in place of its own.

Examples:
  tendon calibrate frames robots/mine/profile.yaml
  tendon calibrate frames robots/mine/profile.yaml --form launch --out launch/cameras.launch.py
  tendon calibrate frames robots/mine/profile.yaml --form urdf
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tendon.cli.options import RobotArgument


def command(
    robot: RobotArgument,
    form: Annotated[str, typer.Option(help="lines, launch or urdf.")] = "lines",
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="To write; by default it is printed.")] = None,
) -> int:
    """Writes or prints them.

    Raises:
        TendonError: the robot has no calibration with cameras, or there is no such form.
    """
    from tendon.calibration.results.file import load_record
    from tendon.calibration.results.frames import as_commands, as_launch, as_urdf, camera_frames
    from tendon.calibration.results.keeping import stale_lines
    from tendon.cli.outputs import require_file
    from tendon.core.checks import check_choice
    from tendon.core.errors import ConfigError
    from tendon.core.files import replace_file, set_aside
    from tendon.robots.profile import load_profile

    check_choice("--form", form, ("lines", "launch", "urdf"))
    profile = load_profile(robot)
    record = None if profile.calibration is None else load_record(profile.calibration)
    if record is None or not record.cameras:
        raise ConfigError(f"profile {profile.name} has no calibrated camera: make one with `tendon calibrate solve`")
    for line in stale_lines(record, "camera"):
        print(line, file=sys.stderr)
    frames = camera_frames(record, profile)
    text = {"lines": as_commands, "urdf": as_urdf}[form](frames) if form != "launch" else as_launch(frames, record)
    if out is None:
        print(text, end="")
        return 0
    require_file(out)
    kept = set_aside(out)
    replace_file(out, text.encode())
    print(f"{out}" + (f" (the one before: {kept})" if kept else ""))
    return 0

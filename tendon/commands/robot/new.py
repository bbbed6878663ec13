"""Make the profile of a robot of your own from its URDF: a folder with profile, URDF, collision model and picture.

What a URDF cannot say, such as accelerations, is a guess that the profile lists under `unknown`: the robot can be
looked at, and not armed until the list is empty. An SRDF adds groups, a home and pairs of links that cannot meet.

Examples:
  tendon robot new my_arm --urdf my_arm.urdf
  tendon robot new my_arm --urdf my_arm.urdf --srdf my_arm.srdf --package-dir src --to robots/my_arm
  tendon robot check my_arm
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tendon.cli.options import PackageDirOption


def command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the robot is called.")],
    urdf: Annotated[Path, typer.Option(metavar="FILE", help="Its description, with collision shapes.")],
    srdf: Annotated[Path | None, typer.Option(metavar="FILE", help="Its groups and states.")] = None,
    to: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="The folder to write; by default robots/NAME here.")
    ] = None,
    package_dir: PackageDirOption = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the folder if it is there; it is kept as NAME.before.")
    ] = False,
) -> int:
    """Writes it and says what to do next.

    Raises:
        ConfigError: a file is missing or wrong, or the folder is there or cannot be written.
    """
    from tendon.cli.robot_making import make_robot
    from tendon.graph.running.state import command_here
    from tendon.robots.unknowns import ADVICE

    folder = to or Path("robots") / name
    profile = make_robot(name, urdf, srdf, folder, package_dir=package_dir, replacing=force)
    print(f"\nunknown yet, in {folder / 'profile.yaml'}:")
    for unknown in profile.unknown:
        print(f"  {unknown:20}{ADVICE[unknown]}")
    print(f"\nlook at {folder / 'robot.png'}, then: {command_here()} robot check {folder / 'profile.yaml'}")
    return 0

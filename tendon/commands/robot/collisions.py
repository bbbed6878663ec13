"""Make a robot's collision model, collisions.yaml, from the collision meshes of its URDF.

Margins, and allowed pairs with a body of an environment, are kept from a file that is there already. A profile that
names no collision model names this one afterwards: its key `collisions` is written, all else stays as it is.

Examples:
  # shapes from the manufacturer's meshes, joints and limits from robots/panda: writes robots/panda/collisions.yaml
  tendon robot collisions panda --urdf franka/panda.urdf --package-dir franka
  # a robot without a profile yet
  tendon robot collisions --urdf my_arm.urdf --out collisions.yaml --picture arm.png
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tendon.cli.options import EnvironmentOption, PackageDirOption, PictureOption, complete_robot


def command(
    robot: Annotated[
        str | None,
        typer.Argument(
            metavar="[ROBOT]", help="Name of a robot, its folder, or its profile.yaml.", autocompletion=complete_robot
        ),
    ] = None,
    urdf: Annotated[
        Path | None, typer.Option(metavar="FILE", help="URDF with collision meshes; by default the profile's.")
    ] = None,
    package_dir: PackageDirOption = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="By default collisions.yaml beside the profile, or here without one."),
    ] = None,
    samples: Annotated[int, typer.Option(help="Random configurations to look at.")] = 10_000,
    environment: EnvironmentOption = None,
    picture: PictureOption = None,
) -> int:
    """Writes the model, prints the smallest distances at home; returns 1 when one is below its margin.

    Raises:
        ConfigError: a file is missing or wrong.
    """
    from tendon.cli.clearance_table import show_clearances
    from tendon.cli.collision_making import make_collisions
    from tendon.robots.environment import load_environment

    around = load_environment(environment) if environment else None
    profile = make_collisions(robot, urdf, package_dir, out, samples)
    return int(show_clearances(profile, around, picture, urdf or profile.urdf, package_dir))

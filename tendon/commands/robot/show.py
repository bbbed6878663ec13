"""Draw a robot's collision model and list the smallest distances at home; exit code 1 when one is below its margin.

Examples:
  tendon robot show panda --picture panda.png
  tendon robot show panda --environment tabletop
  tendon robot show xarm7 --looks xarm7.png
  tendon robot show g1_arms --urdf g1_description/urdf/g1_29dof_rev_1_0.urdf --picture g1.png
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tendon.cli.options import EnvironmentOption, PackageDirOption, PictureOption, RobotArgument
from tendon.core.errors import ConfigError
from tendon.robots.profile import RobotProfile


def command(
    robot: RobotArgument,
    environment: EnvironmentOption = None,
    picture: PictureOption = None,
    urdf: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The manufacturer's URDF: its meshes are seen through the shapes."),
    ] = None,
    package_dir: PackageDirOption = None,
    looks: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Another .png: the robot as simulators draw it, with its meshes; needs MuJoCo."
        ),
    ] = None,
) -> int:
    """Prints and draws.

    Raises:
        ConfigError: a file is missing or wrong, or the profile has no collision model.
    """
    from tendon.cli.clearance_table import show_clearances
    from tendon.robots.environment import load_environment
    from tendon.robots.profile import load_profile

    around = load_environment(environment) if environment else None
    profile = load_profile(robot)
    if profile.collision_file is None:
        raise ConfigError(f"profile {profile.name} has no collisions; make them with `tendon robot collisions`")
    if looks is not None:
        _draw_looks(profile, looks)
    return int(show_clearances(profile, around, picture, urdf, package_dir))


def _draw_looks(profile: RobotProfile, file: Path) -> None:
    from tendon.pictures.robot_picture import save_picture
    from tendon.sim.portrait import portrait
    from tendon.sim.robot_urdf import missing_meshes

    for urdf in missing_meshes(profile):
        print(f"{urdf} is not installed: its links are drawn as the collision model has them")
    save_picture(portrait(profile), file)
    print(f"wrote {file}")

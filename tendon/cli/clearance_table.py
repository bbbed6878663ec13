"""The table of the smallest distances of a robot, and its picture."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from tendon.control.clearance.model import Clearance
from tendon.core.types import Array
from tendon.pictures.robot_picture import draw_robot, save_picture
from tendon.pictures.robot_surface import robot_surface
from tendon.robots.environment import Environment
from tendon.robots.profile import RobotProfile

SHOWN_ROWS = 8


def show_clearances(
    profile: RobotProfile,
    environment: Environment | None,
    picture: Path | None,
    urdf: Path | None = None,
    package_dir: Path | None = None,
) -> bool:
    """Prints the smallest distances at home and draws them.

    Args:
        profile: with a collision model.
        environment: what is around it.
        picture: a .png to write; `None` draws nothing.
        urdf: its visual meshes are drawn over the collision model.
        package_dir: folder that package:// stands for in it.

    Returns:
        Whether a distance is below its margin.

    Raises:
        ConfigError: the picture cannot be written, or the URDF is missing or of another robot.
    """
    home = profile.vector("home")
    short = _report(profile, environment, home)
    if picture is not None:
        surface = None if urdf is None else robot_surface(profile, home, urdf, package_dir)
        save_picture(draw_robot(profile, environment, home, surface), picture)
        print(f"wrote {picture}")
    return short


def _report(profile: RobotProfile, environment: Environment | None, home: Array) -> bool:
    clearance = Clearance(profile, environment)
    distances = clearance.distances(home)
    table = Table(title=f"{profile.name} at home", title_justify="left")
    for column in ("between", "distance, mm", "margin, mm"):
        table.add_column(column, justify="left" if column == "between" else "right")
    order = sorted(range(len(distances)), key=lambda k: float(distances[k] - clearance.margin[k]))
    for k in order[:SHOWN_ROWS]:
        style = "red" if distances[k] < clearance.margin[k] else ""
        table.add_row(clearance.names[k], f"{distances[k] * 1e3:.1f}", f"{clearance.margin[k] * 1e3:.1f}", style=style)
    Console().print(table)
    return bool((distances < clearance.margin).any())

"""The table of how well a robot follows, and what that means for what is kept apart."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from rich.console import Console
from rich.table import Table

from tendon.control.clearance.model import Clearance
from tendon.core.errors import StoppedError
from tendon.robots.environment import Environment
from tendon.robots.profile import RobotProfile

TIMES_LARGEST = 2.0
"""A tolerance of this many times the largest error of usual motions stops nothing for nothing, and stops soon."""


def show_tracking(profile: RobotProfile, environment: Environment | None, errors: Mapping[str, float]) -> bool:
    """Prints it.

    Args:
        profile: the robot that runs.
        environment: what is around it.
        errors: largest |measured - commanded| of each joint since it was armed, rad or m.

    Returns:
        Whether a tolerance is less than it should be.

    Raises:
        StoppedError: another robot runs.
    """
    if set(errors) != set(profile.joint_names):
        raise StoppedError(f"a robot with the joints {', '.join(errors) or '(none yet)'} runs, not {profile.name}")
    largest = np.array([errors[name] for name in profile.joint_names])
    followed = np.isfinite(profile.tracking_tolerance)
    tolerance = np.where(followed, profile.tracking_tolerance, 0.0)
    table = Table(title=f"{profile.name} since it was armed", title_justify="left")
    for column in ("joint", "largest error", "twice that", "tracking_tolerance"):
        table.add_column(column, justify="left" if column == "joint" else "right")
    low = followed & (tolerance < TIMES_LARGEST * largest)
    for i, name in enumerate(profile.joint_names):
        wanted, given = (f"{TIMES_LARGEST * largest[i]:.4f}", f"{tolerance[i]:.4f}") if followed[i] else ("", "none")
        table.add_row(name, f"{largest[i]:.4f}", wanted, given, style="yellow" if low[i] else "")
    console = Console()
    console.print(table)
    clearance = Clearance(profile, environment)
    reach = clearance.reach * followed
    for what, error in (("The largest errors together", largest), ("The tolerances together", tolerance)):
        moved = reach @ error
        k = int(np.argmax(moved - clearance.margin))
        console.print(
            f"{what} change the distance {clearance.names[k]} by at most {moved[k] * 1e3:.0f} mm; "
            f"its margin is {clearance.margin[k] * 1e3:.0f} mm.",
            highlight=False,
        )
    return bool(low.any())

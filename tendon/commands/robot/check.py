"""Look for what is wrong with a robot's profile before it moves; exit code 1 when something has to be mended.

Limits beyond those of the URDF, joints and frames that do not fit together, meshes and masses, what is too close at
home, stop inputs that cannot be read, how much of the workspace is reached. What is listed as unknown has to be filled
in first.

Examples:
  tendon robot check panda
  tendon robot check my_arm
"""

from __future__ import annotations

from tendon.cli.options import RobotArgument


def command(robot: RobotArgument) -> int:
    """Prints a line for each finding.

    Raises:
        ConfigError: a file is missing, or so wrong that the profile does not load.
        IntegrityError, MismatchError: one was changed after it was made, or is of another robot.
    """
    from tendon.cli.robot_inspection import inspect, show_findings
    from tendon.robots.profile import load_profile

    profile = load_profile(robot)
    return int(show_findings(profile, inspect(profile)))

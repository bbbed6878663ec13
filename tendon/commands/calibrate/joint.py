"""Find zero and direction of a joint without a camera: by both of its stops, or by a pose that a jig holds.

Examples:
  tendon calibrate joint so101 shoulder_pan --at-lower=-1.87 --at-upper 1.96
  tendon calibrate joint so101 wrist_roll --said 0.12 --true 0.0
"""

from __future__ import annotations

import math
from typing import Annotated

import typer

from tendon.cli.options import RobotArgument


def command(
    robot: RobotArgument,
    joint: Annotated[str, typer.Argument(metavar="JOINT", help="Of the profile.")],
    at_lower: Annotated[float | None, typer.Option(help="Said at its lower stop, rad or m.")] = None,
    at_upper: Annotated[float | None, typer.Option(help="Said at its upper stop.")] = None,
    said: Annotated[float | None, typer.Option(help="Said in the jig.")] = None,
    true: Annotated[float | None, typer.Option(help="Where the jig holds it.")] = None,
) -> int:
    """Prints them.

    Raises:
        TendonError: the joint does not exist, or the numbers are not its.
    """
    from tendon.calibration.joints import zero_from_jig, zero_from_limits
    from tendon.core.checks import closest
    from tendon.core.errors import ConfigError
    from tendon.robots.profile import load_profile

    profile = load_profile(robot)
    found = next((each for each in profile.joints if each.name == joint), None)
    if found is None:
        raise ConfigError(f"profile {profile.name} has no joint {joint}{closest(joint, profile.joint_names)}")
    if at_lower is not None and at_upper is not None:
        zero = zero_from_limits(found, at_lower, at_upper)
    elif said is not None and true is not None:
        zero = zero_from_jig(found, said, true)
    else:
        raise ConfigError("give --at-lower and --at-upper, or --said and --true")
    way = "" if zero.sign > 0 else "; it is said to move the wrong way: turn its sign in the driver"
    degrees = f" ({math.degrees(zero.zero):+.2f} deg)"
    print(f"{joint}: zero {zero.zero:+.5f} +-{1.96 * zero.deviation:.5f}{degrees}, said - true{way}")
    return 0

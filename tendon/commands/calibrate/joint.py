"""Find zero, direction and a gripper's range without a camera: by stops, by a jig, or by a motion between two poses.

With --write the zero goes into the calibration that the profile names, or into a new one beside the profile, and the
robot's kinematics count it. All else in it stays; cameras and boards that were found with another zero are said to be
stale.

Examples:
  tendon calibrate joint so101 shoulder_pan --at-lower=-1.87 --at-upper 1.96
  tendon calibrate joint robots/mine/profile.yaml wrist_roll --said 0.12 --true 0.0 --write
  tendon calibrate joint so101 elbow_flex --moved 0.2 --seen=-0.19
  tendon calibrate joint so101 gripper --open 1.52 --closed=-0.15
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
    moved: Annotated[float | None, typer.Option(help="By how much it says that it moved.")] = None,
    seen: Annotated[float | None, typer.Option(help="By how much it did, about the URDF's axis.")] = None,
    at_open: Annotated[float | None, typer.Option("--open", help="Said by a gripper that is open.")] = None,
    at_closed: Annotated[float | None, typer.Option("--closed", help="Said by one that is closed.")] = None,
    write: Annotated[bool, typer.Option("--write", help="Put the zero into the robot's calibration.")] = False,
) -> int:
    """Prints them.

    Raises:
        TendonError: the joint does not exist, or the numbers are not its.
    """
    from tendon.calibration.joints import direction, gripper_range, zero_from_jig, zero_from_limits
    from tendon.calibration.results.keeping import keep_zero
    from tendon.core.checks import closest
    from tendon.core.errors import ConfigError
    from tendon.robots.profile import load_profile, profile_file

    profile = load_profile(robot)
    found = next((each for each in profile.joints if each.name == joint), None)
    if found is None:
        raise ConfigError(f"profile {profile.name} has no joint {joint}{closest(joint, profile.joint_names)}")
    if moved is not None and seen is not None:
        right = direction(found, moved, seen) > 0
        print(
            f"{joint} is said to move " + ("the right way" if right else "the wrong way: turn its sign in the driver")
        )
        return 0
    if at_open is not None and at_closed is not None:
        gripper = next((each for each in profile.grippers if each.joint == joint), None)
        if gripper is None:
            raise ConfigError(f"profile {profile.name} has no gripper that joint {joint} drives")
        opened, closed = gripper_range(gripper, at_open, at_closed)
        print(f"in the profile, under grippers, joint {joint}: open: {opened:g}, closed: {closed:g}")
        return 0
    if at_lower is not None and at_upper is not None:
        zero = zero_from_limits(found, at_lower, at_upper)
    elif said is not None and true is not None:
        zero = zero_from_jig(found, said, true)
    else:
        raise ConfigError(
            "give --at-lower and --at-upper, or --said and --true, or --moved and --seen, or --open and --closed"
        )
    way = "" if zero.sign > 0 else "; it is said to move the wrong way: turn its sign in the driver, then measure again"
    degrees = f" ({math.degrees(zero.zero):+.2f} deg)"
    print(f"{joint}: zero {zero.zero:+.5f} +-{1.96 * zero.deviation:.5f}{degrees}, said - true{way}")
    if write:
        print("\n".join(keep_zero(profile, profile_file(robot), zero).lines()))
    return 0

"""Limits of a profile against those of its URDF, and against one another."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tendon.robots.inspection.finding import Finding, error, note, warning
from tendon.robots.profile import Joint, RobotProfile
from tendon.robots.urdf import Limit, read_urdf

ROUNDING = 1e-4
"""By which a limit may be beyond the URDF's [rad or m, and per second]: digits that a data sheet leaves out."""
OWN_LIMITS = "take the URDF's, or correct the URDF where the data sheet says so"


def inspect_limits(profile: RobotProfile) -> Iterator[Finding]:
    """Yields what is wrong with the limits of joints.

    Raises:
        ConfigError: the URDF is wrong.
    """
    urdf = read_urdf(profile.urdf)
    for joint in profile.joints:
        described = urdf.joints[joint.name]
        yield from _beyond(joint, described.limit)
        if described.kind == "continuous":
            yield _turns(joint)
        if joint.velocity**2 / (2 * joint.acceleration) > joint.upper - joint.lower:
            yield warning(
                f"joint {joint.name}",
                f"from velocity {joint.velocity:g} it brakes over more than its whole range at {joint.acceleration:g}",
                "lower its velocity, or correct its acceleration",
            )
    yield from _efforts(profile, {name: each.limit for name, each in urdf.joints.items()})


def _beyond(joint: Joint, limit: Limit) -> Iterator[Finding]:
    where = f"joint {joint.name}"
    if joint.lower < limit.lower - ROUNDING or joint.upper > limit.upper + ROUNDING:
        yield error(
            where,
            f"its position limits {joint.lower:g} and {joint.upper:g} go beyond the URDF's, {limit.lower:g} and "
            f"{limit.upper:g}",
            OWN_LIMITS,
        )
    if 0 < limit.velocity < joint.velocity - ROUNDING:
        yield error(where, f"velocity {joint.velocity:g} is above the URDF's {limit.velocity:g}", OWN_LIMITS)


def _turns(joint: Joint) -> Finding:
    where, span = f"joint {joint.name}", joint.upper - joint.lower
    text = f"it is continuous in the URDF; the profile lets it turn from {joint.lower:g} to {joint.upper:g}"
    if span > 2 * math.pi + ROUNDING:
        advice = "check that its driver counts turns: where it wraps angles, the jump latches a stop"
        return warning(where, f"{text}, more than one turn", advice)
    return note(where, text, "nothing, if its cables allow that")


def _efforts(profile: RobotProfile, limits: dict[str, Limit]) -> Iterator[Finding]:
    efforts = [
        *(
            (joint.name, key, getattr(joint, key))
            for joint in profile.joints
            for key in ("contact_effort", "payload_effort")
        ),
        *((gripper.joint, "effort of its gripper", gripper.effort) for gripper in profile.grippers),
        *((name, "effort in simulation", effort) for name, effort in profile.simulation.efforts.items()),
    ]
    for name, what, effort in efforts:
        most = limits[name].effort
        if effort is None or not 0 < most < effort:
            continue
        if what.endswith("_effort"):
            advice = "lower it: a threshold that the joint cannot reach watches nothing"
        else:
            advice = "lower it, if the simulated robot is to be no stronger than the real one"
        yield warning(f"joint {name}", f"{what} {effort:g} is above the URDF's {most:g}", advice)

"""Whether a policy's statistics can be what its manifest says, on this robot: finds degrees read as radians and alike.

The mean and standard deviation that a policy was trained with are the only trace of the numbers it really speaks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from tendon.core.errors import MismatchError
from tendon.policies.adapter.conventions import UNITS_OF, joint_types, known_joint
from tendon.policies.spec.components import CONSTANT, POSITION_UNITS, SHARE_UNITS, VELOCITY_UNITS, JointComponent
from tendon.policies.spec.manifest import Manifest
from tendon.robots.profile import RobotProfile

MEAN_SLACK = 0.1
"""How far outside a joint's range its mean may be, in ranges: calibrations differ a little."""
MAX_EXCESS = 3.0
"""How far outside it mean +- 3 std may be, in ranges (or in velocity limits); a unit too large is further off."""
LARGER = {"deg": "rad", "percent": "fraction", "signed_percent": "signed_fraction"}
"""Units to a much larger one, in which the same statistics could be possible too."""
STILL = 0.03
"""Numbers that vary less than this share of the bound tell nothing: a gripper that was closed all the time."""

Known = tuple[JointComponent, float, float]
"""A component with its mean and standard deviation."""


def check_statistics(manifest: Manifest, profile: RobotProfile) -> None:
    """Checks the statistics of joints in state and action against the robot's limits.

    Differences (relative actions) are not looked at: they can be as small as they like.

    Raises:
        MismatchError: they cannot be of the unit; the message says which would fit.
    """
    where, action = f"bundle {manifest.name}", manifest.action
    start = 0
    for item in manifest.state:
        stop = start + item.size
        known = _known(item.joints, manifest.state_mean[start:stop], manifest.state_std[start:stop])
        _check(f"{where}: state", known, profile)
        start = stop
    first = len(action.components) - len(action.joints)
    known = _known(action.joints, action.mean[first:], action.std[first:])
    if action.space == "joint_position" and action.relative_to != "nothing":
        known = [entry for entry in known if entry[0].absolute]
    _check(f"{where}: action", known, profile)
    if action.space == "tool_pose" and action.relative_to == "nothing":
        _check_workspace(where, np.array(action.mean[:3]) * action.position_scale, profile)


def _known(components: Sequence[JointComponent], mean: Iterable[float], std: Iterable[float]) -> list[Known]:
    """Leaves out constants, and what mean 0 and std 1 say nothing about."""
    entries = zip(components, mean, std, strict=False)
    return [entry for entry in entries if entry[0].unit != CONSTANT and entry[1:] != (0.0, 1.0)]


def _check(where: str, known: Sequence[Known], profile: RobotProfile) -> None:
    types = joint_types(profile)
    for component, mean, std in known:
        joint = known_joint(where, component.joint, profile)
        problem = _problem(component, mean, std, profile)
        if problem:
            fits = [fit for fit in _variants(component, types[joint.name]) if not _problem(fit, mean, std, profile)]
            raise MismatchError(
                f"{where}: {component.joint} has mean {mean:.4g} and std {std:.4g} {component.unit}, {problem}: "
                + (f"{_words(component, fits)} would fit" if fits else "unit, sign, zero and range need a look")
            )
    for unit, larger in LARGER.items():
        _check_size(where, unit, larger, [entry for entry in known if entry[0].unit == unit], profile)


def _check_size(where: str, unit: str, larger: str, known: Sequence[Known], profile: RobotProfile) -> None:
    """Refuses components that all together stay as small as numbers in a larger unit would."""
    if not known:
        return
    joints = [known_joint(where, component.joint, profile) for component, _, _ in known]
    bound = 1.5 if unit == "percent" else max(max(abs(joint.lower), abs(joint.upper)) for joint in joints)
    reached = max(abs(mean) + std for _, mean, std in known)
    moves = max(std for _, _, std in known) > STILL * bound
    if reached <= bound and moves:
        raise MismatchError(
            f"{where}: {', '.join(joint.name for joint in joints)}: unit is {unit}, but mean + std is at most "
            f"{reached:.3g}, expected some above {bound:.3g}: unit {larger} would fit"
        )


def _problem(component: JointComponent, mean: float, std: float, profile: RobotProfile) -> str:
    """Returns what is wrong with the statistics, or nothing."""
    joint = known_joint("", component.joint, profile)
    slope, offset = component.affine(joint.lower, joint.upper)
    centre, spread = slope * mean + offset, 3.0 * abs(slope) * std
    if component.is_velocity:
        fastest = abs(centre) + spread
        if fastest > MAX_EXCESS * joint.velocity:
            return f"up to {fastest:.3g} rad/s or m/s, but the joint's limit is {joint.velocity:.3g}"
        return ""
    span = joint.upper - joint.lower
    limits = f"outside the joint's limits [{joint.lower:.4g}, {joint.upper:.4g}]"
    if max(joint.lower - centre, centre - joint.upper) > MEAN_SLACK * span:
        return f"a mean of {centre:.4g} rad or m, {limits}"
    if max(joint.lower - centre, centre - joint.upper) + spread > MAX_EXCESS * span:
        return f"up to {centre - spread:.4g} and {centre + spread:.4g} rad or m, far {limits}"
    return ""


def _variants(component: JointComponent, kind: str) -> list[JointComponent]:
    """Returns the component in other units of its kind, then with the other sign."""
    fitting = UNITS_OF.get(kind, ())
    units = VELOCITY_UNITS if component.is_velocity else (*POSITION_UNITS, *SHARE_UNITS)
    found = [
        _in_unit(component, unit)
        for unit in units
        if unit != component.unit and (unit in SHARE_UNITS or unit in fitting)
    ]
    return found if component.unit in SHARE_UNITS else [*found, replace(component, sign=-component.sign)]


def _in_unit(component: JointComponent, unit: str) -> JointComponent:
    if unit not in SHARE_UNITS:
        return JointComponent(unit=unit, joint=component.joint, sign=component.sign)
    if component.unit not in SHARE_UNITS:
        return JointComponent(unit=unit, joint=component.joint)
    end = {None: None} | dict(zip(SHARE_UNITS[component.unit], SHARE_UNITS[unit], strict=True))
    return replace(component, unit=unit, open=end[component.open])


def _words(component: JointComponent, fits: Sequence[JointComponent]) -> str:
    words = [f"sign {fit.sign}" if fit.unit == component.unit else f"unit {fit.unit}" for fit in fits]
    return " or ".join(words)


def _check_workspace(where: str, mean: np.ndarray, profile: RobotProfile) -> None:
    lower, upper = np.array(profile.workspace.lower), np.array(profile.workspace.upper)
    outside = np.maximum(lower - mean, mean - upper) / (upper - lower)
    if outside.max() > 1.0:
        raise MismatchError(
            f"{where}: action position has mean {np.round(mean, 4).tolist()} m, outside the workspace of profile "
            f"{profile.name}, {lower.tolist()} to {upper.tolist()}: look at position_scale, base frame and tool frame"
        )

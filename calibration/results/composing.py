"""One calibration of many steps: each updates its part, others stay, and what leans on a change is said to be stale."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tendon.calibration.joints import JointZero
from tendon.calibration.results.record import (
    CalibrationRecord,
    CameraRecord,
    JointRecord,
    now,
    rounded,
    without_cameras,
)
from tendon.calibration.rig.chain import Chain
from tendon.calibration.rig.known import KnownZeros
from tendon.calibration.rig.parts import Rig, View
from tendon.calibration.rig.solve import RigCalibration, solve
from tendon.core.types import Array
from tendon.robots.profile import RobotProfile

LEAST_CHANGE = 1e-6
"""Of a zero, rad or m: below is how numbers are rounded."""
LEAST_VARIANCE = 1e-12
"""Of a zero that is known: a micrometre or microradian."""
UNKNOWN = JointRecord(zero=0.0, deviation=0.0)


def rig_knowing(rig: Rig, before: CalibrationRecord | None, back: Sequence[str] = ()) -> Rig:
    """Returns a rig that knows the zeros of a calibration.

    Of a joint that is not asked for, the zero is kept. Of one that is, what was measured without a camera is known;
    what earlier views told is not, for these may be the same views.

    Args:
        rig: whose `joints` are asked for.
        before: the calibration; `None` knows nothing.
        back: joints that are asked for, but the views did not tell: they are kept.
    """
    if before is None:
        return rig
    asked = tuple(joint for joint in rig.joints if joint not in back or joint not in before.joints)
    kept = tuple(joint for joint in before.joints if joint not in asked)
    measured = tuple(joint for joint in asked if joint in before.measured)
    variances = [before.measured[joint].deviation ** 2 for joint in measured]
    covariance = np.zeros((len(measured) + len(kept),) * 2)
    covariance[: len(measured), : len(measured)] = np.diag(variances)
    rows = [list(before.joints).index(joint) for joint in kept]
    covariance[len(measured) :, len(measured) :] = _square(before)[np.ix_(rows, rows)]
    short = np.maximum(LEAST_VARIANCE - np.diag(covariance), 0.0)
    zeros = [before.measured[joint].zero for joint in measured] + [before.joints[joint].zero for joint in kept]
    known = KnownZeros(
        joints=(*measured, *kept),
        zeros=np.array(zeros),
        covariance=covariance + np.diag(short),
        kept=kept,
    )
    return replace(rig, joints=(*asked, *kept), known=known)


def solve_onto(rig: Rig, views: Sequence[View], before: CalibrationRecord | None) -> RigCalibration:
    """Returns the calibration of a rig, given one before; a zero that the views do not tell is kept as that has it.

    Raises:
        CalibrationError: see `solve`.
        ConfigError: likewise.
    """
    found = solve(rig_knowing(rig, before), views)
    back = [joint for joint in found.held if before is not None and joint in before.joints]
    if not back:
        return found
    again = solve(rig_knowing(rig, before, back), views)
    return replace(again, held={**again.held, **{joint: found.held[joint] for joint in back}})


def with_solved(before: CalibrationRecord | None, found: CalibrationRecord, profile: RobotProfile) -> CalibrationRecord:
    """Returns a calibration with what views told, see `solve_onto`, and all else of the one before.

    Latencies stay: they are of clocks. Of joints `found` has all that the one before has.
    """
    if before is None:
        return found
    anew = {part for part in found.dates if part.startswith("joint ")}
    timed = {
        name: replace(
            camera,
            latency_s=before.cameras[name].latency_s,
            latency_deviation_s=before.cameras[name].latency_deviation_s,
        )
        if name in before.cameras
        else camera
        for name, camera in found.cameras.items()
    }
    found_with = _found_with(before, found.joints, profile, found.dates)
    return replace(
        found,
        cameras={**_with_columns(before, tuple(found.joints), anew), **timed},
        boards={**before.boards, **found.boards},
        measured=before.measured,
        held={**{joint: why for joint, why in before.held.items() if joint not in found.joints}, **found.held},
        command_latency_s=before.command_latency_s,
        dates={**before.dates, **found.dates},
        found_with=found_with,
        stale=_stale(found_with, found.joints),
    )


def with_zero(before: CalibrationRecord | None, found: JointZero, profile: RobotProfile) -> CalibrationRecord:
    """Returns a calibration with a zero that was found without a camera, and all else of the one before."""
    mine = JointRecord(zero=rounded(found.zero), deviation=rounded(found.deviation))
    if before is None:
        alone = without_cameras(profile.name, {found.joint: mine})
        return replace(alone, measured={found.joint: mine}, dates={f"joint {found.joint}": alone.date})
    part, date = f"joint {found.joint}", now()
    joints = {**before.joints, found.joint: mine}
    covariance = np.zeros((len(joints),) * 2)
    covariance[: len(before.joints), : len(before.joints)] = _square(before)
    column = list(joints).index(found.joint)
    covariance[column, :] = covariance[:, column] = 0.0
    covariance[column, column] = mine.deviation**2
    found_with = _found_with(before, joints, profile, {part})
    return replace(
        before,
        date=date,
        cameras=_with_columns(before, tuple(joints), {part}),
        joints=joints,
        zero_covariance=tuple(tuple(row) for row in covariance.tolist()),
        measured={**before.measured, found.joint: mine},
        held={joint: why for joint, why in before.held.items() if joint != found.joint},
        dates={**before.dates, part: date},
        found_with=found_with,
        stale=_stale(found_with, joints),
    )


def _square(record: CalibrationRecord) -> Array:
    return np.array(record.zero_covariance).reshape(len(record.joints), len(record.joints))


def _with_columns(before: CalibrationRecord, joints: tuple[str, ...], anew: Iterable[str]) -> dict[str, CameraRecord]:
    """Returns the cameras, for joints in another order.

    With a zero that was found anew their places have nothing in common.
    """
    anew, old = set(anew), list(before.joints)
    cameras = {}
    for name, camera in before.cameras.items():
        columns = np.zeros((6, len(joints)))
        for k, joint in enumerate(joints):
            if joint in before.joints and f"joint {joint}" not in anew:
                columns[:, k] = np.array(camera.with_zeros)[:, old.index(joint)]
        rows = tuple(tuple(row) for row in columns.tolist())
        cameras[name] = replace(camera, with_zeros=rows if joints else ())
    return cameras


def _found_with(
    before: CalibrationRecord, joints: Mapping[str, JointRecord], profile: RobotProfile, anew: Iterable[str]
) -> dict[str, dict[str, JointRecord]]:
    """Returns the zeros that parts were found with where those of now are others; of parts found anew there are none.

    The first change tells which parts lean on a zero: from then on no covariance does. They keep what they were found
    with, so that changes add up, however small each is.
    """
    chain, kept = Chain(profile), {part: dict(zeros) for part, zeros in before.found_with.items()}
    for part, changes in before.stale.items():  # of a file that told the changes alone
        for joint, change in changes.items():
            zero = before.joints.get(joint, UNKNOWN).zero - change
            kept.setdefault(part, {}).setdefault(joint, JointRecord(zero=rounded(zero), deviation=0.0))
    for joint, found in joints.items():
        old = before.joints.get(joint, UNKNOWN)
        if abs(found.zero - old.zero) > LEAST_CHANGE:
            for part in _leaning(before, joint, profile, chain):
                kept.setdefault(part, {}).setdefault(joint, old)
    return {part: dict(sorted(zeros.items())) for part, zeros in sorted(kept.items()) if part not in set(anew)}


def _stale(
    found_with: Mapping[str, Mapping[str, JointRecord]], joints: Mapping[str, JointRecord]
) -> dict[str, dict[str, float]]:
    """Returns by how much zeros are larger than those that parts were found with.

    A change within what a zero was known then (95 %) is none: what leans on it has that doubt already. One that is
    taken back leaves nothing stale.
    """
    stale = dict[str, dict[str, float]]()
    for part, zeros in found_with.items():
        for joint, then in zeros.items():
            change = joints[joint].zero - then.zero
            if abs(change) > max(1.96 * then.deviation, LEAST_CHANGE):
                stale.setdefault(part, {})[joint] = rounded(change)
    return stale


def _leaning(before: CalibrationRecord, joint: str, profile: RobotProfile, chain: Chain) -> list[str]:
    """Returns which parts lean on a zero: by their covariance with it, or, without one, by what the joint moves."""
    index, parts = profile.joint_names.index(joint), []
    eyes = [camera.place.link for camera in before.cameras.values()]
    bearers = [place.link for place in before.boards.values()]
    column = list(before.joints).index(joint) if joint in before.joints else None
    for name, camera in before.cameras.items():
        if column is None:
            leans = index in chain.movers((camera.place.link, *bearers))
        else:
            leans = bool(np.array(camera.with_zeros)[:, column].any())
        if leans:
            parts.append(f"camera {name}")
    parts += [f"board {name}" for name, place in before.boards.items() if index in chain.movers((place.link, *eyes))]
    if column is not None:
        row = _square(before)[column]
        parts += [f"joint {name}" for k, name in enumerate(before.joints) if k != column and row[k]]
    return parts

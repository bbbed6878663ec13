"""What a URDF tells of a gripper: two fingers on rails that one joint moves towards each other."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from tendon.core.types import Array
from tendon.robots.drafting.arm import Arm
from tendon.robots.model import build_model, link_index
from tendon.robots.profile_parts import Gripper
from tendon.robots.urdf import Urdf

PARALLEL = 0.999
"""Cosine of the angle between directions that count as one."""


def find_gripper(urdf: Urdf, arm: Arm) -> Gripper | None:
    """Returns the gripper of an arm; `None` where the URDF does not tell how wide it opens, or which way.

    Fingers that turn say nothing of the width between their tips. Neither do fingers that are driven one by one, and a
    tool frame whose y axis is not the way they close would grip across.
    """
    if len(arm.gripper) != 1:
        return None
    (leader,) = arm.gripper
    moved = [leader, *(mimic.joint for mimic in urdf.mimics if mimic.leader == leader)]
    joint = urdf.joints[leader]
    if len(moved) != 2 or any(urdf.joints[name].kind != "prismatic" for name in moved):
        return None
    fingers = tuple(urdf.joints[name].child for name in moved)
    shut, apart = (_finger_gap(urdf, arm, fingers, value) for value in (joint.limit.lower, joint.limit.upper))
    stroke = apart - shut
    width = float(np.linalg.norm(stroke))
    if not 0 < width <= 1 or abs(stroke[1]) < PARALLEL * width or not 0 < joint.limit.effort <= 1e4:
        return None
    opens_up = abs(apart[1]) > abs(shut[1])
    ends = (joint.limit.upper, joint.limit.lower) if opens_up else (joint.limit.lower, joint.limit.upper)
    return Gripper(
        joint=leader,
        fingers=fingers,
        open=ends[0],
        closed=ends[1],
        width=round(width, 6),
        frame=arm.tool,
        effort=joint.limit.effort,
    )


def _finger_gap(urdf: Urdf, arm: Arm, fingers: tuple[str, ...], value: float) -> Array:
    """Returns the (3,) way [m] from one finger's origin to the other's, in the tool frame."""
    model = build_model(urdf.path)
    data, q = model.createData(), np.zeros(model.nq)
    for name, multiplier, offset in [
        (arm.gripper[0], 1.0, 0.0),
        *((mimic.joint, mimic.multiplier, mimic.offset) for mimic in urdf.mimics if mimic.leader == arm.gripper[0]),
    ]:
        q[model.joints[model.getJointId(name)].idx_q] = multiplier * value + offset
    pin.framesForwardKinematics(model, data, q)
    first, second = (data.oMf[link_index(model, link)].translation for link in fingers)
    return np.asarray(data.oMf[link_index(model, arm.tool)].rotation.T @ (second - first))

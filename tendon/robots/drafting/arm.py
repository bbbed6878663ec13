"""Which joints of a robot are its arm, which its gripper, and which link is the tool."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tendon.robots.srdf import Srdf
from tendon.robots.urdf import Urdf

FINGER = ("finger", "gripper", "jaw", "knuckle", "thumb")
"""Parts of the names of a gripper's joints."""
DIGITS = {"hand", "index", "middle", "ring", "little", "pinky"}
"""Whole words in them: a spring is no ring."""
FINGER_LINK = ("finger", "jaw", "knuckle", "thumb")
"""Of the links that they move: a wrist may carry a link called gripper."""
TOOL = ("tcp", "tool", "grasp", "gripper", "ee", "hand")
"""Parts of the names of tool frames, the surest first."""


@dataclass(frozen=True, kw_only=True)
class Arm:
    """The arm of a robot.

    Attributes:
        joints: from the base on.
        gripper: joints that move what it carries at its end.
        fingers: joints of this and any other gripper, which what is held keeps off their targets.
        tool: the link that is the tool.
        is_only: no other joint of the robot is left over.
        is_tool_sure: the SRDF names the tool, or the arm carries no other link that ends there.
    """

    joints: tuple[str, ...]
    gripper: tuple[str, ...]
    fingers: frozenset[str]
    tool: str
    is_only: bool
    is_tool_sure: bool


def find_arm(urdf: Urdf, commanded: Sequence[str], srdf: Srdf | None) -> Arm:
    """Returns the arm that an SRDF names, or the longest chain of joints without those of a gripper.

    Args:
        urdf: the robot.
        commanded: its joints that a profile would have.
        srdf: its groups.
    """
    fingers = _fingers(urdf, commanded)
    named, end = _named(urdf, commanded, fingers, srdf) if srdf is not None else ((), "")
    if end and not set(named).issubset(urdf.moved_by(end)):
        end = ""
    joints = named or _longest(urdf, commanded, fingers)
    tips = _tips(urdf, joints)
    tool = end or max(tips, key=lambda link: (_looks_like_tool(link), -len(urdf.above(link))))
    if end and len(below := [tip for tip in tips if set(urdf.above(end)) <= set(urdf.above(tip))]) == 1:
        tool = below[0]  # the arm's last link, where it ends in one frame
    gripper = tuple(name for name in commanded if name in fingers and _hangs_on(urdf, name, joints))
    rest = set(commanded) - set(joints) - set(gripper)
    return Arm(
        joints=joints,
        gripper=gripper,
        fingers=frozenset(fingers - set(joints)),
        tool=tool,
        is_only=not rest,
        is_tool_sure=bool(end) or len(tips) == 1,
    )


def _fingers(urdf: Urdf, commanded: Iterable[str]) -> set[str]:
    """Returns the joints of grippers: they are called so, or other joints follow them."""
    leaders = {mimic.leader for mimic in urdf.mimics}
    return {
        name
        for name in commanded
        if name in leaders
        or any(word in name.lower() for word in FINGER)
        or not DIGITS.isdisjoint(re.findall("[a-z]+", name.lower()))
        or any(word in urdf.joints[name].child.lower() for word in FINGER_LINK)
    }


def _named(urdf: Urdf, commanded: Sequence[str], fingers: set[str], srdf: Srdf) -> tuple[tuple[str, ...], str]:
    """Returns the joints of the group that is an arm, and the link at which the SRDF says that it ends."""
    serial = {
        name: joints
        for name, group in srdf.groups.items()
        if (joints := tuple(each for each in group if each in commanded))
        and fingers.isdisjoint(joints)
        and set(joints) <= set(urdf.moved_by(urdf.joints[joints[-1]].child))
    }
    carried = {each.parent_group or each.group: each.parent_link for each in srdf.end_effectors}
    arms = [name for name in serial if "arm" in name.lower() or "manipulator" in name.lower()]
    for wanted in (
        [name for name in carried if name in arms],
        [name for name in serial if name in ("arm", "manipulator")],
        arms,
        [name for name in carried if name in serial],
        list(serial),
    ):
        if wanted:
            name = max(wanted, key=lambda each: (len(serial[each]), "right" in each))
            return serial[name], carried.get(name) or srdf.tips.get(name, "")
    return (), ""


def _longest(urdf: Urdf, commanded: Sequence[str], fingers: set[str]) -> tuple[str, ...]:
    """Returns the longest chain of joints that are no gripper's; of equal ones the right arm's."""
    chains = [
        tuple(name for name in urdf.moved_by(link) if name in commanded and name not in fingers) for link in urdf.links
    ]
    longest = max(chains, key=lambda chain: (len(chain), "right" in "".join(chain).lower()))
    return longest or tuple(commanded)


def _tips(urdf: Urdf, joints: Sequence[str]) -> list[str]:
    """Returns the links that move with the last of these joints and no other, and that carry nothing fixed to them."""
    followers = {mimic.joint for mimic in urdf.mimics}
    moved = [link for link in urdf.links if urdf.moved_by(link)[-1:] == [joints[-1]]]
    bearing = {joint.parent for joint in urdf.joints.values() if joint.child in moved and joint.name not in followers}
    return [link for link in moved if link not in bearing]


def _hangs_on(urdf: Urdf, joint: str, arm: Sequence[str]) -> bool:
    return arm[-1] in urdf.moved_by(urdf.joints[joint].child)


def _looks_like_tool(link: str) -> int:
    return max((len(TOOL) - i for i, word in enumerate(TOOL) if word in link.lower()), default=0)

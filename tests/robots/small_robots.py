"""Robots of a few lines, whose numbers a test knows: an arm of three joints with a gripper, and its SRDF."""

from __future__ import annotations

from pathlib import Path

SHAPE = '<collision><origin xyz="0 0 0.1"/><geometry><cylinder radius="0.03" length="0.2"/></geometry></collision>'
MASS = '<inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
FINGER = '<collision><geometry><box size="0.01 0.01 0.04"/></geometry></collision>'
LIMIT = '<limit lower="-2" upper="2.5" velocity="1.5" effort="50"/>'
SLIDE = '<limit lower="0" upper="0.03" velocity="0.1" effort="20"/>'
MIMIC = '<mimic joint="left_finger_joint"/>'


def joint(
    name: str, parent: str, child: str, *, kind: str = "revolute", more: str = LIMIT, xyz: str = "0 0 0.3"
) -> str:
    """A joint of a URDF about, or along, y."""
    axis = "" if kind == "fixed" else '<axis xyz="0 1 0"/>'
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}"><origin xyz="{xyz}"/>{ends}{axis}{more}</joint>\n'


def link(name: str, inside: str = SHAPE + MASS) -> str:
    """A link of a URDF."""
    return f'<link name="{name}">{inside}</link>\n'


def robot(*parts: str) -> str:
    """A URDF."""
    return f'<?xml version="1.0"?>\n<robot name="small">\n{"".join(parts)}</robot>\n'


ARM = (
    link("base")
    + link("shoulder")
    + link("elbow")
    + link("wrist")
    + joint("joint1", "base", "shoulder").replace('xyz="0 1 0"', 'xyz="0 0 1"')
    + joint("joint2", "shoulder", "elbow")
    + joint("joint3", "elbow", "wrist")
)
HAND = (
    link("left_finger", FINGER + MASS)
    + link("right_finger", FINGER + MASS)
    + link("tcp", "")
    + joint("tcp_joint", "wrist", "tcp", kind="fixed", more="")
    + joint("left_finger_joint", "wrist", "left_finger", kind="prismatic", more=SLIDE, xyz="0 0.02 0.3")
    + joint(
        "right_finger_joint", "wrist", "right_finger", kind="prismatic", more=SLIDE + MIMIC, xyz="0 -0.02 0.3"
    ).replace('xyz="0 1 0"', 'xyz="0 -1 0"')
)
SMALL = robot(ARM, HAND)
SRDF = """<robot name="small">
<group name="arm"><chain base_link="base" tip_link="tcp"/></group>
<group name="hand"><joint name="left_finger_joint"/></group>
<group name="all"><group name="arm"/><group name="hand"/></group>
<group name="forearm"><link name="wrist"/></group>
<group_state name="up" group="arm"><joint name="joint1" value="0"/></group_state>
<group_state name="ready" group="arm">
<joint name="joint1" value="0.5"/><joint name="joint2" value="-0.5"/><joint name="joint3" value="1"/>
</group_state>
<virtual_joint name="world_joint" type="fixed" parent_frame="world" child_link="base"/>
<end_effector name="hand" parent_link="wrist" group="hand" parent_group="arm"/>
<disable_collisions link1="base" link2="shoulder" reason="Adjacent"/>
<disable_collisions link1="base" link2="elbow" reason="Default"/>
<disable_collisions link1="base" link2="wrist" reason="Never"/>
</robot>
"""


def write(folder: Path, text: str, name: str = "small.urdf") -> Path:
    """Writes a file and returns its path."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path

"""What the numbers of a policy mean, as `bundle.yaml` says it: the state vector and the rows of an answer.

These are the words alone; `adapter` sets them against a robot and translates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from tendon.core.checks import check_choice, check_text
from tendon.core.config import build
from tendon.core.errors import ConfigError
from tendon.core.fields import Count, OneOf, Positive, Range, check_fields
from tendon.policies.spec.components import CONSTANT, VELOCITY_UNITS, JointComponent
from tendon.policies.spec.fields import Numbers, check_unique, numbers, positive, sequence
from tendon.policies.spec.rotations import ROTATIONS

STATE_ITEMS = {"tool_position": (3, "m"), "tool_velocity": (3, "m/s"), "finger_position": (1, "m")}
"""Items of the state that are the same for every policy: how many numbers, and their unit."""
ACTION_COMPONENTS = ("dx", "dy", "dz", "finger")
"""Components of space `tool_position`."""
RELATIVE_TO = {
    "tool_position": ("observation",),
    "tool_pose": ("nothing", "observation", "previous"),
    "joint_position": ("nothing", "observation", "previous"),
    "joint_velocity": ("previous",),
}
"""Spaces of an action to what their rows can be relative to; where there is one choice it need not be said."""
MAX_ROTATION_TOLERANCE = 3.2

Rotation = Annotated[str, OneOf(("", *ROTATIONS))]


@dataclass(frozen=True, kw_only=True)
class StateItem:
    """One part of the state vector.

    Attributes:
        name: one of `STATE_ITEMS`, `tool_rotation`, or `joints`.
        size: how many numbers; found by itself for `tool_rotation` and `joints`.
        unit: of `STATE_ITEMS`, there as a check.
        joints: of `joints`: what each number is; positions and velocities, in any order.
        rotation: of `tool_rotation`: one of `rotations.ROTATIONS`.
        frame: of `tool_position` and `tool_rotation`: a frame of the URDF that is meant instead of the profile's tool.
        frame_rpy: of `tool_rotation`: a further turn of that frame, as in URDF [rad]; (0, 0, 0) when it is `None`.
    """

    name: Annotated[str, OneOf((*STATE_ITEMS, "tool_rotation", "joints"))]
    size: Annotated[int, Range(least=0)] = 0
    unit: str = ""
    joints: tuple[JointComponent, ...] = ()
    rotation: Rotation = ""
    frame: str | None = None
    frame_rpy: Numbers | None = None

    def __post_init__(self) -> None:
        check_fields(self, "state")
        object.__setattr__(self, "joints", joint_components("state joints", self.joints))
        size, unit = STATE_ITEMS.get(self.name, (len(self.joints), ""))
        if self.name == "tool_rotation":
            check_choice("state tool_rotation: rotation", self.rotation, tuple(ROTATIONS))
            size = ROTATIONS[self.rotation].size
        elif self.rotation:
            raise ConfigError(f"state {self.name} has rotation {self.rotation!r}, which it has not")
        if (self.name == "joints") != bool(self.joints):
            raise ConfigError(f"state {self.name} lists {len(self.joints)} joints: only `joints` does, and must")
        check_unique("state joints", tuple(joint for joint in self.joints if joint.unit != CONSTANT) or ("",))
        if unit or self.size:  # the sizes of the others follow from what they list
            check_choice(f"state {self.name}: size", self.size, (size,))
        check_choice(f"state {self.name}: unit", self.unit, (unit,))
        object.__setattr__(self, "size", size)
        if self.frame is not None:
            check_choice("state name (of an item with a frame)", self.name, ("tool_position", "tool_rotation"))
            check_text(f"state {self.name}: frame", self.frame)
        if self.frame_rpy is not None:
            check_choice("state name (of an item with a frame_rpy)", self.name, ("tool_rotation",))
            object.__setattr__(self, "frame_rpy", numbers("state tool_rotation frame_rpy", self.frame_rpy, 3))


@dataclass(frozen=True, kw_only=True)
class ActionSpace:
    """What the numbers of an answer mean. Row k is due `(k + 1) * step_s` after the observation.

    `joint_position`, `joint_velocity`: one number for each of `joints`.

    `tool_pose`: the tool's position and rotation, then one number for each of `joints` (grippers). A relative pose is
    applied in the axes of `frame`: in "base", position p0 + d and rotation D R0; in "tool", p0 + R0 d and R0 D.

    `tool_position`: the tool's position minus that at the observation (base frame, m), and the position of the only
    joint of group gripper (m); of one that turns, how far each fingertip is from the middle. The tool points straight
    down.

    Attributes:
        rows: of an answer.
        step_s: time between rows.
        mean: of each component in the policy's units; normalised = (value - mean) / std.
        std: likewise.
        components: names of the numbers of a row; found by itself, checked when given.
        space: one of `RELATIVE_TO`.
        relative_to: what the rows are differences from: "nothing", "observation" (the state that was observed), or
            "previous" (the row before; for the first one the observation, or the last row of the plan it continues).
            In `tool_pose` it is about the pose alone. Joints marked `absolute` are none.
        orientation: of `tool_position`: "tool_down".
        rotation: of `tool_pose`: one of `rotations.ROTATIONS`.
        frame: of a relative `tool_pose`: whose axes.
        position_scale: how many m one of the policy's numbers is, of `tool_pose`.
        rotation_scale: how many rad, of `tool_pose` in axis_angle or euler_xyz.
        rotation_tolerance: how far the tool's rotation may be from what a row asks for [rad] before the row is held;
            for arms of fewer than six joints, which cannot have any rotation at any place. The nearest one is taken.
        joints: what the numbers about joints are.
        held: joints of the robot that the policy does not command: they stay where they are.
    """

    rows: Count
    step_s: Annotated[float, Range(least=0.001, most=10.0)]
    mean: Numbers
    std: Numbers
    components: tuple[str, ...] = ()
    space: Annotated[str, OneOf(tuple(RELATIVE_TO))] = "tool_position"
    relative_to: Literal["", "nothing", "observation", "previous"] = ""
    orientation: Literal["", "tool_down"] = ""
    rotation: Rotation = ""
    frame: Literal["base", "tool"] = "base"
    position_scale: Positive = 1.0
    rotation_scale: Positive = 1.0
    rotation_tolerance: Annotated[float, Range(above=0, most=MAX_ROTATION_TOLERANCE, unit="rad")] = 1e-4
    joints: tuple[JointComponent, ...] = ()
    held: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self, "action")
        choices = RELATIVE_TO[self.space]
        if not self.relative_to and len(choices) == 1:
            object.__setattr__(self, "relative_to", choices[0])
        check_choice(f"action relative_to (of {self.space})", self.relative_to, choices)
        object.__setattr__(self, "joints", joint_components("action joints", self.joints))
        object.__setattr__(self, "held", sequence("action held", self.held))
        for joint in self.held:
            check_text("action held", joint)
        named = tuple(joint.joint for joint in self.joints if joint.unit != CONSTANT)
        check_unique("action joints and held", (*named, *self.held, ""))
        self._check_joints(named)
        self._check_tool()
        given, found = sequence("action components", self.components), self._names()
        check_choice("action components", given or found, (found,))
        object.__setattr__(self, "components", found)
        object.__setattr__(self, "step_s", float(self.step_s))
        object.__setattr__(self, "mean", numbers("action mean", self.mean, len(found)))
        object.__setattr__(self, "std", positive("action std", self.std, len(found)))

    def _check_joints(self, named: tuple[str, ...]) -> None:
        if self.space == "tool_position" and self.joints:
            raise ConfigError("action joints: space tool_position has none, its finger is in m; use tool_pose")
        if self.space.startswith("joint") and not named:
            raise ConfigError(f"action joints is empty: space {self.space} needs the joint of each component")
        moving = [joint.name for joint in self.joints if joint.unit in VELOCITY_UNITS]
        if self.space == "joint_velocity" and not moving:
            raise ConfigError(f"action joints: space joint_velocity, but no unit is one of {', '.join(VELOCITY_UNITS)}")
        if self.space == "joint_position" and moving:
            raise ConfigError(
                f"action joints: {moving[0]} has the unit of a speed, but the space is joint_position: "
                "take a unit of position, or space joint_velocity"
            )
        if self.space != "joint_position" and any(joint.absolute for joint in self.joints):
            raise ConfigError(
                f"action joints: absolute is for joint_position; in {self.space} every unit of position is"
            )

    def _check_tool(self) -> None:
        pose = self.space == "tool_pose"
        if self.space == "tool_position" and not self.orientation:
            object.__setattr__(self, "orientation", "tool_down")
        check_choice("action orientation", self.orientation, ("tool_down" if self.space == "tool_position" else "",))
        check_choice("action rotation", self.rotation, tuple(ROTATIONS) if pose else ("",))
        relative = pose and self.relative_to != "nothing"
        check_choice(
            "action frame (of what is relative to nothing)", self.frame, ("base", "tool") if relative else ("base",)
        )
        if not pose and (self.position_scale, self.rotation_scale) != (1.0, 1.0):
            raise ConfigError(f"action position_scale and rotation_scale mean nothing in space {self.space}")
        if self.rotation_scale != 1.0 and self.rotation not in ("axis_angle", "euler_xyz"):
            raise ConfigError(f"action rotation_scale means nothing for rotation {self.rotation}")

    def _names(self) -> tuple[str, ...]:
        if self.space == "tool_position":
            return ACTION_COMPONENTS
        names = tuple(joint.name for joint in self.joints)
        if self.space != "tool_pose":
            return names
        return ("x", "y", "z", *(f"{self.rotation}_{i}" for i in range(ROTATIONS[self.rotation].size)), *names)

    @property
    def step_ns(self) -> int:
        """Time between rows."""
        return round(self.step_s * 1e9)


def joint_components(name: str, values: Any) -> tuple[JointComponent, ...]:
    """Returns joint components from what YAML gave, or as they are.

    Raises:
        ConfigError: one is wrong; the message says which.
    """
    found = []
    for i, value in enumerate(sequence(name, values)):
        if isinstance(value, Mapping):
            value = build(JointComponent, f"{name}[{i}]", value)
        if not isinstance(value, JointComponent):
            raise ConfigError(f"{name}[{i}] is {value!r}, must be a mapping such as {{joint: NAME, unit: rad}}")
        found.append(value)
    return tuple(found)

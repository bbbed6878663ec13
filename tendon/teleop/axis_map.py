"""What the axes and keys of a device mean for the tool of an arm, as YAML says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import numpy as np

from tendon.core.checks import closest
from tendon.core.config import build
from tendon.core.errors import ConfigError
from tendon.core.fields import Names, Range, check_fields
from tendon.core.types import Array
from tendon.core.yaml_text import parse_yaml
from tendon.teleop.device import Reading

TOOL_AXES = ("x", "y", "z", "roll", "pitch", "yaw")
GRIPPER = "gripper"
ANY = "any"
"""As `hold`: whatever moves the robot holds, too."""


@dataclass(frozen=True, kw_only=True)
class Intent:
    """What a hand wants now.

    Attributes:
        held: the deadman is held.
        twist: (6,) linear [m/s] and angular [rad/s] velocity of the tool, at full speed.
        gripper: strokes a second: above 0 opens.
        joints: of a device that is an arm [rad or m].
        in_tool: whether `twist` is along the tool's own axes, not those of the base.
    """

    held: bool
    twist: Array
    gripper: float = 0.0
    joints: Mapping[str, float] = field(default_factory=dict)
    in_tool: bool = False


@dataclass(frozen=True, kw_only=True)
class AxisMap:
    """The mapping of one device.

    Attributes:
        hold: names of keys of which one is the deadman: the robot moves only while it is held. `any` is every key and
            axis that moves something.
        axes: x, y, z [along], roll, pitch, yaw [about these axes] and gripper, each with what drives it: names of axes
            and keys, a minus before those that drive it back.
        frame: base or tool: whose axes they are.
        linear_speed: at full deflection and full speed [m/s].
        angular_speed: likewise [rad/s].
        gripper_speed: likewise [strokes/s].
        gripper_toggle: names of keys that send the gripper to its other end, for devices with few keys.
        deadzone: part of an axis' way that is taken for rest.
        slower: names of keys that make all of that slower.
        faster: likewise.
        joints: joint of the robot to joint of a leader arm, a minus before one that turns the other way; empty takes
            the same names, or the same order.
    """

    hold: Names
    axes: Mapping[str, Names] = field(default_factory=dict)
    frame: Literal["base", "tool"] = "base"
    linear_speed: Annotated[float, Range(above=0, most=1.0, unit="m/s")] = 0.2
    angular_speed: Annotated[float, Range(above=0, most=3.0, unit="rad/s")] = 0.8
    gripper_speed: Annotated[float, Range(above=0, most=10.0, unit="1/s")] = 1.5
    gripper_toggle: Names = ()
    deadzone: Annotated[float, Range(least=0, most=0.5)] = 0.08
    slower: Names = ()
    faster: Names = ()
    joints: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self, "map")
        if not self.hold:
            raise ConfigError(f"hold is empty: name the keys that have to be held, or {ANY}")
        for axis in self.axes:
            if axis not in (*TOOL_AXES, GRIPPER):
                raise ConfigError(f"axes has {axis}{closest(axis, (*TOOL_AXES, GRIPPER))}")

    def intent(self, reading: Reading) -> Intent:
        """Returns what a reading means."""
        moves = {axis: self._deflection(axis, reading) for axis in self.axes}
        twist = np.array([moves.get(axis, 0.0) for axis in TOOL_AXES])
        twist[:3] *= self.linear_speed
        twist[3:] *= self.angular_speed
        held = any(name in reading.pressed for name in self.hold) or (ANY in self.hold and any(moves.values()))
        grip = self.gripper_speed * moves.get(GRIPPER, 0.0)
        return Intent(held=held, twist=twist, gripper=grip, joints=reading.joints, in_tool=self.frame == "tool")

    def _deflection(self, axis: str, reading: Reading) -> float:
        total = 0.0
        for named in self.axes[axis]:
            sign, name = (-1.0, named[1:]) if len(named) > 1 and named[0] == "-" else (1.0, named)
            value = 1.0 if name in reading.pressed else reading.axes.get(name, 0.0)
            beyond = max(abs(value) - self.deadzone, 0.0) / (1.0 - self.deadzone)
            total += sign * float(np.copysign(beyond, value))
        return min(max(total, -1.0), 1.0)


def read_map(text: str | bytes, where: str) -> AxisMap:
    """Returns the map in a YAML text.

    Raises:
        ConfigError: it is none; the message names the key.
    """
    return build(AxisMap, where, parse_yaml(text, where))


def load_map(file: Path) -> AxisMap:
    """Returns the map in a YAML file.

    Raises:
        ConfigError: there is no such file, or it holds none.
    """
    if not file.is_file():
        raise ConfigError(
            f"there is no map {file}: `tendon teleop DEVICE --show-map > {file.name}` writes one to begin with"
        )
    return read_map(file.read_bytes(), str(file))

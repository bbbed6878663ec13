"""What a robot profile is made of: joints, controllers, cameras, grippers, boxes, people, stop inputs.

Each checks its values.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from tendon.core.checks import closest
from tendon.core.errors import ConfigError
from tendon.core.fields import Form, Names, Range, RosName, Text, check_fields
from tendon.robots.quantities import (
    MAX_TOLERANCE,
    Acceleration,
    Corner,
    Effort,
    Jerk,
    Near,
    Position,
    Speed,
    check_corner,
)
from tendon.robots.simulated_parts import Mount

MAX_TIMEOUT_S = 0.5
"""A robot side that waits longer than this for its next command has no timeout worth the name."""
MAX_PIXELS = 16_384
"""Of a side of an image; larger sensors exist, but no camera driver that sends them uncompressed."""
MAX_INPUT_AGE_S = 1.0
"""A stop input that may be silent for longer is none that anybody relies on."""
MAX_HZ = 1000.0
"""Of cameras and control loops."""
MIN_CONTROL_HZ = 50.0
"""Of the control loop. A robot that is led by hand brakes within 150 ms of the last chunk, of which five ticks are the
loop's own; and a loop whose heartbeat may be a tick late is not to be taken for a silent one (70 ms)."""
Pixels = Annotated[int, Range(least=1, most=MAX_PIXELS, unit="px")]


@dataclass(frozen=True, kw_only=True)
class Joint:
    """One commanded joint.

    Attributes:
        name: as in the URDF and in `joint_states`.
        lower: smallest position, rad or m.
        upper: largest position.
        velocity: largest speed, rad/s or m/s.
        acceleration: largest acceleration, rad/s^2 or m/s^2.
        jerk: largest jerk, rad/s^3 or m/s^3.
        home: where `home` moves it.
        tracking_tolerance: largest |commanded - measured| before a stop; `None` for a joint that is
            meant to be held off its target, like a gripper on an object.
        contact_effort: |effort| in `joint_states` at which the robot stops and comes back, N m or N; `None` has none.
        payload_effort: |effort| that, when it lasts, slows the robot down, N m or N; `None` has none.
    """

    name: Text
    lower: Position
    upper: Position
    velocity: Speed
    acceleration: Acceleration
    jerk: Jerk
    home: Position
    tracking_tolerance: Annotated[float, Range(above=0, most=MAX_TOLERANCE)] | None = None
    contact_effort: Effort | None = None
    payload_effort: Effort | None = None

    def __post_init__(self) -> None:
        check_fields(self, "joint")
        if not self.lower < self.upper:
            raise ConfigError(f"joint {self.name}: lower {self.lower} must be below upper {self.upper}")
        if not self.lower <= self.home <= self.upper:
            raise ConfigError(f"joint {self.name}: home {self.home} is outside [{self.lower}, {self.upper}]")


@dataclass(frozen=True, kw_only=True)
class ControllerSpec:
    """A controller on the robot side.

    Attributes:
        name: of its topics.
        type: "joint_trajectory" or "forward_command".
        joints: what it drives, in its order.
        timeout_s: after how long without a command the robot side brakes by itself. A forward_command controller
            is sent no stop, so without it nothing would end a motion when this machine dies, and arming is refused.
    """

    name: RosName
    type: Literal["joint_trajectory", "forward_command"]
    joints: Names
    timeout_s: Annotated[float, Range(above=0, most=MAX_TIMEOUT_S)] | None = None

    def __post_init__(self) -> None:
        check_fields(self, "controller")


@dataclass(frozen=True, kw_only=True)
class Camera:
    """A camera of the robot.

    Attributes:
        name: of its topics.
        width: of its pictures [px].
        height: likewise.
        rate_hz: of its pictures.
        frame: its optical frame.
        mount: where it is in simulation; `None` looks at the workspace from beyond it.
    """

    name: RosName
    width: Pixels
    height: Pixels
    rate_hz: Annotated[float, Range(above=0, most=MAX_HZ)]
    frame: Text
    mount: Mount | None = None

    def __post_init__(self) -> None:
        check_fields(self, "camera")


@dataclass(frozen=True, kw_only=True)
class Gripper:
    """A gripper that one joint drives.

    Attributes:
        joint: that drives it.
        fingers: links that press on what is gripped, from both sides.
        open: position of the joint with the fingers apart, rad or m.
        closed: with the fingers together.
        width: between the fingers when open [m].
        frame: link between the fingertips: z away from the arm, y along the way the fingers close.
        group: of the joints that carry it.
        effort: largest of its joint in simulation, N m or N.
        pads: boxes in the frames of finger links that touch things in simulation, in place of the links' own shapes.
    """

    joint: Text
    fingers: Names
    open: Position
    closed: Position
    width: Annotated[float, Range(above=0, most=1, unit="m")]
    frame: Text
    group: Text = "arm"
    effort: Effort
    pads: Mapping[str, Box] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self, "gripper")
        if self.open == self.closed:
            raise ConfigError(f"gripper {self.joint}: open and closed are both {self.open}")
        for link in self.pads:
            if link not in self.fingers:
                raise ConfigError(f"gripper {self.joint}: pads names {link}{closest(link, self.fingers)}")

    def position(self, half_width: float) -> float:
        """Returns the joint's position at which each fingertip is `half_width` [m] from the middle."""
        return self.closed + (self.open - self.closed) * 2 * half_width / self.width

    def half_width(self, position: float) -> float:
        """Returns how far each fingertip is from the middle [m] at a position of the joint."""
        return self.width / 2 * (position - self.closed) / (self.open - self.closed)


@dataclass(frozen=True, kw_only=True)
class Box:
    """An axis-aligned box in the base frame [m]."""

    lower: Corner
    upper: Corner

    def __post_init__(self) -> None:
        for key in ("lower", "upper"):
            check_corner(f"box: {key}", getattr(self, key))
        if not all(map(operator.lt, self.lower, self.upper)):
            raise ConfigError(f"box needs x, y, z of lower below those of upper, got {self.lower} and {self.upper}")


@dataclass(frozen=True, kw_only=True)
class Human:
    """How people are seen and kept away from.

    Attributes:
        topic: geometry_msgs/PoseArray in the base frame, a pose for each person; an empty one when nobody is there.
        radius: of the sphere that a person is taken for [m].
        speed: how fast a person may come nearer [m/s].
        separation: what must be left between robot and person when it has come to rest [m].
        uncertainty: how far off a position may be [m].
        camera: whose pictures they are seen in: by how much later than the exposure it stamps, as the calibration has
            it, a position is older than it says; empty where stamps are those of the exposure.
    """

    topic: RosName
    radius: Near = 0.5
    speed: Near = 1.6
    separation: Near = 0.1
    uncertainty: Near = 0.1
    camera: str = ""

    def __post_init__(self) -> None:
        check_fields(self, "human")


@dataclass(frozen=True, kw_only=True)
class StopInput:
    """An input from outside that permits motion or does not: emergency stop, enabling device, mode of the robot.

    Attributes:
        name: what it is called in reasons, such as "emergency stop".
        topic: where it comes.
        permits: the values at which the robot may move, such as [true] or [1, 2]; every other one stops it.
        type: of its messages; the package must be there when the graph starts.
        field: of the message that holds the value; points lead into fields of fields.
        response: "stop" latches at any other value, "hold" brakes and goes on when the value permits it again. Silence
            latches in any case.
        required: the robot is not armed before it was heard. Once heard, or published by somebody who is not, it counts
            in any case.
        max_age_s: longest time between messages [s]. `None` is for a driver that sends changes only: the last value
            holds for as long as the middleware knows somebody who publishes there, up to 20 s after he was killed.
    """

    name: Text
    topic: RosName
    permits: tuple[bool | int | str, ...]
    type: Annotated[
        str,
        Form(
            pattern=r"[a-z][a-z0-9_]*/(msg/)?[A-Z][A-Za-z0-9]*",
            advice="must be a package and a message such as std_msgs/Bool",
        ),
    ] = "std_msgs/Bool"
    field: Annotated[
        str,
        Form(pattern=r"[a-z][a-z0-9_]*([.][a-z][a-z0-9_]*)*", advice="must be a field such as data, or status.mode"),
    ] = "data"
    response: Literal["stop", "hold"] = "stop"
    required: bool = True
    max_age_s: Annotated[float, Range(above=0, most=MAX_INPUT_AGE_S)] | None = None

    def __post_init__(self) -> None:
        check_fields(self, "stop input")
        if not isinstance(self.permits, tuple) or not self.permits:
            raise ConfigError(
                f"stop input {self.name}: permits is {self.permits!r}, must be a list of the values at which the robot "
                "may move, such as [true]"
            )
        for value in self.permits:
            if not isinstance(value, bool | int | str):
                raise ConfigError(
                    f"stop input {self.name}: permits has {value!r}, must be true, false, a whole number or a text"
                )
        if len({type(value) for value in self.permits}) > 1:
            raise ConfigError(f"stop input {self.name}: permits has {list(self.permits)}, must be of one kind")

"""The robot profile: one frozen value that says what a robot is and what it may do."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import yaml

from tendon.core.errors import ConfigError
from tendon.core.paths import share_folder
from tendon.core.types import Array, freeze

CONTROLLER_TYPES = ("joint_trajectory", "forward_command")
MOST_TIMEOUT_S = 0.5
"""A robot side that waits longer than this for its next command has no timeout worth the name."""

T = TypeVar("T")


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
    """

    name: str
    lower: float
    upper: float
    velocity: float
    acceleration: float
    jerk: float
    home: float
    tracking_tolerance: float | None = None


@dataclass(frozen=True, kw_only=True)
class Controller:
    """A controller on the robot side.

    Attributes:
        name: of its topics.
        type: "joint_trajectory" or "forward_command".
        joints: what it drives, in its order.
        timeout_s: after how long without a command the robot side brakes by itself. A forward_command controller
            is sent no stop, so without it nothing would end a motion when this machine dies, and arming is refused.
    """

    name: str
    type: str
    joints: tuple[str, ...]
    timeout_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Camera:
    """A camera of the robot: name, image size [px], rate [Hz] and optical frame."""

    name: str
    width: int
    height: int
    rate_hz: float
    frame: str


@dataclass(frozen=True, kw_only=True)
class Box:
    """An axis-aligned box in the base frame [m]."""

    lower: tuple[float, float, float]
    upper: tuple[float, float, float]

    def __post_init__(self) -> None:
        if not (len(self.lower) == len(self.upper) == 3 and all(map(operator.lt, self.lower, self.upper))):
            raise ConfigError(f"box needs x, y, z of lower below those of upper, got {self.lower} and {self.upper}")


@dataclass(frozen=True, kw_only=True)
class Human:
    """How people are seen and kept away from.

    Attributes:
        topic: geometry_msgs/PoseArray in the base frame, a pose for each person; an empty one when nobody is there.
        radius: of the sphere that a person is taken for [m].
        speed: how fast a person may come nearer [m/s].
        separation: what must be left between robot and person when it has come to rest [m].
    """

    topic: str
    radius: float = 0.5
    speed: float = 1.6
    separation: float = 0.1

    def __post_init__(self) -> None:
        for name in ("radius", "speed", "separation"):
            value = getattr(self, name)
            if not (isinstance(value, int | float) and 0 < value < 10):
                raise ConfigError(f"human: {name} is {value!r}, must be above 0 and below 10")


@dataclass(frozen=True, kw_only=True, eq=False)
class RobotProfile:
    """A robot: kinematics, limits, home, controllers, cameras, workspace.

    The order of `joints` is the order of every joint vector in Tendon. Vectors of limits are (n,) and
    read-only. Load one with `load_profile`.

    Attributes:
        collisions: the file of its collision model, made by `tendon robot collisions`; `None` checks no clearance.
        workspace: where the tool may be, in the base frame.
        tool_speed: largest speed of the tool [m/s]; `None` leaves it to the joints' limits.
        human: how people are kept away from; `None` knows of none.
    """

    name: str
    urdf: Path
    base_frame: str
    tool_frame: str
    joints: tuple[Joint, ...]
    groups: Mapping[str, tuple[str, ...]]
    controllers: tuple[Controller, ...]
    cameras: tuple[Camera, ...]
    workspace: Box
    control_hz: float = 100.0
    collisions: Path | None = None
    tool_speed: float | None = None
    human: Human | None = None

    def __post_init__(self) -> None:
        for joint in self.joints:
            _check_joint(joint)
        names = self.joint_names
        if len(set(names)) != len(names):
            raise ConfigError(f"profile {self.name}: joint names repeat: {names}")
        driven = [joint for controller in self.controllers for joint in controller.joints]
        for group, members in [*self.groups.items(), *((c.name, c.joints) for c in self.controllers)]:
            for member in members:
                if member not in names:
                    raise ConfigError(f"profile {self.name}: {group} names joint {member}{_closest(member, names)}")
        if sorted(driven) != sorted(names):
            raise ConfigError(
                f"profile {self.name}: controllers drive {driven}; each of {list(names)} needs exactly one"
            )
        for controller in self.controllers:
            if controller.type not in CONTROLLER_TYPES:
                raise ConfigError(
                    f"profile {self.name}: controller {controller.name} has type {controller.type}, "
                    f"known: {', '.join(CONTROLLER_TYPES)}"
                )
            if controller.timeout_s is not None and not 0 < controller.timeout_s <= MOST_TIMEOUT_S:
                raise ConfigError(
                    f"profile {self.name}: controller {controller.name} has timeout_s {controller.timeout_s}, "
                    f"must be above 0 and at most {MOST_TIMEOUT_S}"
                )
        if self.tool_speed is not None and not self.tool_speed > 0:
            raise ConfigError(f"profile {self.name}: tool_speed is {self.tool_speed} m/s, must be positive")
        if not self.control_hz > 0:
            raise ConfigError(f"profile {self.name}: control_hz is {self.control_hz}, must be positive")
        if not self.urdf.is_file():
            raise ConfigError(f"profile {self.name}: URDF {self.urdf} does not exist")
        if self.collisions is not None and not self.collisions.is_file():
            raise ConfigError(
                f"profile {self.name}: collision model {self.collisions} does not exist; "
                "make it with `tendon robot collisions`"
            )

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names in the order of every joint vector."""
        return tuple(joint.name for joint in self.joints)

    def vector(self, attribute: str) -> Array:
        """Returns (n,) of a joint attribute such as "lower", "velocity" or "home", read-only."""
        return freeze(attribute, [getattr(joint, attribute) for joint in self.joints], (len(self.joints),))

    def group_indices(self, group: str) -> list[int]:
        """Returns the positions of a joint group in the joint vector.

        Raises:
            ConfigError: the profile has no such group.
        """
        if group not in self.groups:
            raise ConfigError(f"profile {self.name} has no joint group {group}{_closest(group, tuple(self.groups))}")
        return [self.joint_names.index(name) for name in self.groups[group]]

    def camera(self, name: str) -> Camera:
        """Returns a camera by name.

        Raises:
            ConfigError: the profile has no such camera.
        """
        for camera in self.cameras:
            if camera.name == name:
                return camera
        known = tuple(camera.name for camera in self.cameras)
        raise ConfigError(f"profile {self.name} has no camera {name}{_closest(name, known)}")


def _closest(word: str, known: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]}?" if close else f"; known: {', '.join(known)}"


def _check_joint(joint: Joint) -> None:
    for number in ("lower", "upper", "velocity", "acceleration", "jerk", "home"):
        value = getattr(joint, number)
        if not isinstance(value, int | float):
            # YAML 1.1 reads 1e-2 as text.
            raise ConfigError(f"joint {joint.name}: {number} is {value!r}, expected a number such as 0.01")
    limits = np.array([joint.velocity, joint.acceleration, joint.jerk])
    if not (np.isfinite(limits).all() and (limits > 0).all()):
        raise ConfigError(f"joint {joint.name}: velocity, acceleration and jerk limits must be positive and finite")
    if not joint.lower < joint.upper:
        raise ConfigError(f"joint {joint.name}: lower {joint.lower} must be below upper {joint.upper}")
    if not joint.lower <= joint.home <= joint.upper:
        raise ConfigError(f"joint {joint.name}: home {joint.home} is outside [{joint.lower}, {joint.upper}]")


def build(kind: type[T], where: str, values: Any) -> T:
    """Builds a keyword-only dataclass from a YAML mapping.

    Args:
        kind: the dataclass.
        where: what error messages call this mapping.
        values: the mapping; lists become tuples.

    Raises:
        ConfigError: not a mapping, an unknown key (with the closest known one), or a missing key.
    """
    if not isinstance(values, Mapping):
        raise ConfigError(f"{where} must be a mapping, got {type(values).__name__}")
    known = tuple(f.name for f in fields(kind))  # type: ignore[arg-type]
    for key in values:
        if key not in known:
            raise ConfigError(f"{where}: unknown key {key}{_closest(str(key), known)}")
    missing = [
        f.name
        for f in fields(kind)  # type: ignore[arg-type]
        if f.name not in values and f.default is MISSING and f.default_factory is MISSING
    ]
    if missing:
        raise ConfigError(f"{where} lacks {', '.join(missing)}")
    try:
        return kind(**{key: tuple(v) if isinstance(v, list) else v for key, v in values.items()})
    except TypeError as error:
        raise ConfigError(f"{where}: {error}") from error


def load_profile(robot: str | Path) -> RobotProfile:
    """Loads a robot profile.

    Args:
        robot: the name of a folder in `robots/`, or a path to a `profile.yaml`.

    Raises:
        ConfigError: there is no such profile, or something in it is wrong.
    """
    path = Path(robot)
    if path.suffix not in (".yaml", ".yml"):
        path = share_folder() / "robots" / str(robot) / "profile.yaml"
    if not path.is_file():
        known = tuple(sorted(p.parent.name for p in (share_folder() / "robots").glob("*/profile.yaml")))
        raise ConfigError(f"no robot profile at {path}{_closest(str(robot), known)}")
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not YAML: {error}") from error
    if not isinstance(raw, Mapping):
        raise ConfigError(f"{path} must hold a mapping")
    values = dict(raw)
    for key, kind in (("joints", Joint), ("controllers", Controller), ("cameras", Camera)):
        if key in values:
            values[key] = [build(kind, f"{path.name} {key}[{i}]", item) for i, item in enumerate(values[key] or [])]
    if values.get("human") is not None:
        values["human"] = build(Human, f"{path.name} human", values["human"])
    if "workspace" in values:
        values["workspace"] = build(Box, f"{path.name} workspace", values["workspace"])
    if "groups" in values:
        values["groups"] = {name: tuple(members) for name, members in dict(values["groups"]).items()}
    for key in ("urdf", "collisions"):
        if values.get(key) is not None:
            values[key] = path.parent / str(values[key])
    return build(RobotProfile, path.name, values)

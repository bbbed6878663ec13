"""The robot profile: one frozen value that says what a robot is and what it may do."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from tendon.core.checks import check_names, check_text, closest
from tendon.core.config import build
from tendon.core.errors import ConfigError
from tendon.core.fields import FileName, Names, Range, RosName, Text, check_fields
from tendon.core.paths import share_folder, shipped_robots
from tendon.core.types import Array, freeze
from tendon.core.yaml_text import parse_yaml
from tendon.robots.calibration import (
    CalibratedCamera,
    Latencies,
    check_calibration,
    joint_zeros,
    read_cameras,
    read_latencies,
)
from tendon.robots.profile_parts import (
    MAX_HZ,
    MIN_CONTROL_HZ,
    Box,
    Camera,
    ControllerSpec,
    Gripper,
    Human,
    Joint,
    StopInput,
)
from tendon.robots.safety_settings import SafetySettings
from tendon.robots.simulated_parts import Simulation
from tendon.robots.unknowns import ADVICE
from tendon.robots.urdf import DRIVEN, read_urdf

__all__ = [
    "Box",
    "Camera",
    "ControllerSpec",
    "Gripper",
    "Human",
    "Joint",
    "RobotProfile",
    "SafetySettings",
    "Simulation",
    "StopInput",
    "load_profile",
]

MAX_CAMERA_SKEW_S = 0.2
"""As old as a frame may be on arrival (`tendon.observation.buffer`): exposures further apart never meet."""
GRIPPER = "gripper"
"""What a group of joints that hold things is called, or what its name ends with, as in left_gripper."""
SKEW_JITTER = 0.1
"""Part of a period by which the times between frames of a free-running camera differ."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RobotProfile:
    """A robot: kinematics, limits, home, controllers, cameras, workspace.

    The order of `joints` is the order of every joint vector in Tendon. Vectors of limits are (n,) and
    read-only. Load one with `load_profile`.

    Attributes:
        urdf: its file; every joint of the profile is a revolute, continuous or prismatic one of it.
        base_frame: a link that no joint of the profile moves; every position is given in it.
        tool_frame: the link that is the tool.
        collisions: the file of its collision model, made by `tendon robot collisions`. Without one no clearance
            between links is checked: "none" says that this is meant, `None` does not, and then arming is refused.
        calibration: the file of its calibration, which a bundle can be bound to; `None` has none.
        response: the file of how its servos follow, made by `tendon align`; only simulators ask for it. With `None`
            they follow as the simulator's do.
        workspace: where the tool may be, in the base frame.
        grippers: what the robot holds things with.
        simulation: what only a simulator asks for.
        tool_speed: largest speed of the tool [m/s]; `None` leaves it to the joints' limits.
        human: how people are kept away from; `None` knows of none.
        stop_inputs: what else must permit motion: emergency stop, enabling device, mode of the robot.
        controller_manager: name of ros2_control's node that makes the controllers inactive after a latch, on hardware;
            `None` leaves them active.
        camera_skew_s: largest time between exposures of one observation; `None` takes what free-running cameras need.
        safety: when the robot is slowed, held or stopped.
        unknown: what of the profile is a guess that stands in for what nobody has found out yet, as `tendon robot new`
            leaves it. While there is any, arming is refused.

    Raises:
        ConfigError: a value is wrong, or does not fit the others or the URDF.
    """

    name: FileName
    urdf: Path
    base_frame: Text
    tool_frame: Text
    joints: tuple[Joint, ...]
    groups: Mapping[str, Names]
    controllers: tuple[ControllerSpec, ...]
    cameras: tuple[Camera, ...]
    workspace: Box
    grippers: tuple[Gripper, ...] = ()
    simulation: Simulation = field(default_factory=Simulation)
    control_hz: Annotated[float, Range(least=MIN_CONTROL_HZ, most=MAX_HZ)] = 100.0
    collisions: Path | Literal["none"] | None = None
    calibration: Path | None = None
    response: Path | None = None
    tool_speed: Annotated[float, Range(above=0, unit="m/s")] | None = None
    human: Human | None = None
    stop_inputs: tuple[StopInput, ...] = ()
    controller_manager: RosName | None = None
    camera_skew_s: Annotated[float, Range(above=0, most=MAX_CAMERA_SKEW_S)] | None = None
    safety: SafetySettings = field(default_factory=SafetySettings)
    unknown: Names = ()

    def __post_init__(self) -> None:
        check_fields(self, "profile")
        try:
            self._check()
        except ConfigError as error:
            raise ConfigError(f"profile {self.name}: {error}") from error

    def _check(self) -> None:
        if not self.joints:
            raise ConfigError("joints is empty: name at least one")
        names = self.joint_names
        if len(set(names)) != len(names):
            raise ConfigError(f"joint names repeat: {names}")
        driven = [joint for controller in self.controllers for joint in controller.joints]
        for group, members in [*self.groups.items(), *((c.name, c.joints) for c in self.controllers)]:
            for member in members:
                if member not in names:
                    raise ConfigError(f"{group} names joint {member}{closest(member, names)}")
        if sorted(driven) != sorted(names):
            raise ConfigError(f"controllers drive {driven}; each of {list(names)} needs exactly one")
        check_names("controllers", [controller.name for controller in self.controllers])
        check_names("cameras", [camera.name for camera in self.cameras])
        check_names("stop_inputs", [each.name for each in self.stop_inputs])
        check_names("grippers", [gripper.joint for gripper in self.grippers])
        for unknown in self.unknown:
            if unknown not in ADVICE:
                raise ConfigError(f"unknown lists {unknown}{closest(unknown, tuple(ADVICE))}")
        cameras = tuple(camera.name for camera in self.cameras)
        if self.human is not None and self.human.camera and self.human.camera not in cameras:
            raise ConfigError(f"human names camera {self.human.camera}{closest(self.human.camera, cameras)}")
        self._check_urdf()
        if self.collision_file is not None and not self.collision_file.is_file():
            raise ConfigError(
                f"collision model {self.collisions} does not exist; make it with `tendon robot collisions`"
            )
        if self.calibration is not None and not self.calibration.is_file():
            raise ConfigError(
                f"calibration {self.calibration} does not exist; put the file there, or take `calibration` out of the "
                "profile"
            )
        if self.response is not None and not self.response.is_file():
            raise ConfigError(
                f"response {self.response} does not exist; put the file there, or take `response` out of the profile "
                "and make it with `tendon align`"
            )

    def _check_urdf(self) -> None:
        if not self.urdf.is_file():
            beside = tuple(sorted(file.name for file in self.urdf.parent.glob("*.urdf")))
            meant = closest(self.urdf.name, beside) if beside else "; put it there, or correct the path"
            raise ConfigError(f"URDF {self.urdf} does not exist{meant}")
        urdf = read_urdf(self.urdf)
        followers = {mimic.joint: mimic.leader for mimic in urdf.mimics}
        movable = [joint.name for joint in urdf.joints.values() if joint.kind in DRIVEN]
        for name in self.joint_names:
            if name not in movable:
                if name in urdf.joints:
                    raise ConfigError(f"joint {name} is fixed in URDF {self.urdf}: leave it out of the profile")
                raise ConfigError(f"URDF {self.urdf} has no joint {name}{closest(name, movable)}")
            if name in followers:
                raise ConfigError(
                    f"joint {name} mimics {followers[name]} in URDF {self.urdf}: leave {name} out of the profile, "
                    "it follows by itself, or take its <mimic> out of the URDF"
                )
        for key, link in self._named_links():
            if link not in urdf.links:
                raise ConfigError(f"{key} is {link}: URDF {self.urdf} has no such link{closest(link, urdf.links)}")
        for joint in urdf.above(self.base_frame):
            leader = followers.get(joint, joint)
            if leader in self.joint_names:
                raise ConfigError(
                    f"base_frame is {self.base_frame}, which joint {leader} moves: it must be a link that stands "
                    f"still, such as {urdf.root}"
                )

    def _named_links(self) -> Iterator[tuple[str, str]]:
        """Yields what the profile calls a link, and the link; checks what else cameras and grippers name."""
        yield "base_frame", self.base_frame
        yield "tool_frame", self.tool_frame
        for camera in self.cameras:
            if camera.mount is not None:
                yield f"link of camera {camera.name}", camera.mount.link
        for gripper in self.grippers:
            if gripper.joint not in self.joint_names:
                raise ConfigError(f"a gripper names joint {gripper.joint}{closest(gripper.joint, self.joint_names)}")
            self._check_travel(gripper)
            if gripper.group not in self.groups:
                raise ConfigError(
                    f"gripper {gripper.joint} is carried by group {gripper.group}, but the profile has no joint group "
                    f"{gripper.group}{closest(gripper.group, tuple(self.groups))}"
                )
            yield f"frame of gripper {gripper.joint}", gripper.frame
            yield from ((f"finger of gripper {gripper.joint}", link) for link in gripper.fingers)
        for joint in self.simulation.efforts:
            if joint not in self.joint_names:
                raise ConfigError(f"simulation efforts names joint {joint}{closest(joint, self.joint_names)}")

    def _check_travel(self, gripper: Gripper) -> None:
        joint = self.joints[self.joint_names.index(gripper.joint)]
        for key in ("open", "closed"):
            if not joint.lower <= getattr(gripper, key) <= joint.upper:
                raise ConfigError(
                    f"gripper {gripper.joint}: {key} is {getattr(gripper, key):g}, the joint's limits are "
                    f"{joint.lower:g} and {joint.upper:g}: write a position between them, or correct the limits"
                )

    @property
    def collision_file(self) -> Path | None:
        """The file of the collision model; `None` without one, meant or not."""
        return self.collisions if isinstance(self.collisions, Path) else None

    @property
    def arming_obstacle(self) -> str:
        """Why a robot may not be armed with this profile, empty when it may."""
        if self.unknown:
            first, *others = self.unknown
            rest = f" (and then {', '.join(others)})" if others else ""
            return (
                f"profile {self.name} is not filled in, {first} is a guess: {ADVICE[first]}; then take {first} out of "
                f"`unknown`{rest}"
            )
        for controller in self.controllers:
            if controller.type == "forward_command" and controller.timeout_s is None:
                return (
                    f"{controller.name} takes single commands, so no stop is on the wire; "
                    "set its timeout_s in the profile to the time after which the robot side brakes by itself"
                )
        if self.collisions is None:
            return (
                f"profile {self.name} has no collision model, so nothing keeps the robot off itself; make one with "
                "`tendon robot collisions`, or write `collisions: none` in the profile to go without"
            )
        return ""

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names in the order of every joint vector."""
        return tuple(joint.name for joint in self.joints)

    def vector(self, attribute: str) -> Array:
        """Returns (n,) of a joint attribute such as "lower", "velocity" or "home", read-only."""
        return freeze(attribute, [getattr(joint, attribute) for joint in self.joints], (len(self.joints),))

    @property
    def tracking_tolerance(self) -> Array:
        """(n,) how far a joint may be measured from its command, rad or m; infinite for one that may be held off it."""
        return np.array([np.inf if j.tracking_tolerance is None else j.tracking_tolerance for j in self.joints])

    @property
    def zeros(self) -> Array:
        """(n,) how much larger each joint is said to be than it is, as the calibration has it, rad or m.

        `joint_states` and commands are said; the URDF, a policy and a dataset are about joints as they are.

        Raises:
            ConfigError: the calibration is not this robot's, see `tendon.robots.calibration.joint_zeros`.
            IntegrityError: the calibration was changed after it was written.
        """
        if self.calibration is None:
            return np.zeros(len(self.joints))
        return np.array(joint_zeros(self.calibration, self.name, self.joint_names))

    @property
    def latencies(self) -> Latencies:
        """How late pictures are stamped and commands move it, as the calibration has it.

        Raises:
            ConfigError, IntegrityError: as `zeros`.
        """
        return Latencies() if self.calibration is None else read_latencies(self.calibration, self.name)

    @property
    def calibrated_cameras(self) -> dict[str, CalibratedCamera]:
        """Cameras as the calibration has them, by name; those that it does not know are not there.

        Raises:
            ConfigError, IntegrityError: as `zeros`.
        """
        return {} if self.calibration is None else read_cameras(self.calibration, self.name)

    @property
    def uncalibrated(self) -> RobotProfile:
        """The robot without its calibration: joints are what the URDF says, as in a simulator's physics."""
        return replace(self, calibration=None)

    def effort_limit(self, attribute: str) -> Array:
        """Returns (n,) of "contact_effort" or "payload_effort", N m or N; infinite for a joint without one."""
        efforts = [getattr(joint, attribute) for joint in self.joints]
        return np.array([np.inf if effort is None else effort for effort in efforts])

    def group_indices(self, group: str) -> list[int]:
        """Returns the positions of a joint group in the joint vector.

        Raises:
            ConfigError: the profile has no such group.
        """
        if group not in self.groups:
            raise ConfigError(f"profile {self.name} has no joint group {group}{closest(group, tuple(self.groups))}")
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
        raise ConfigError(f"profile {self.name} has no camera {name}{closest(name, known)}")

    def camera_skew(self, names: Sequence[str]) -> float:
        """Returns the largest time [s] between exposures of these cameras in one observation.

        By default half a period of the slowest, which is as far as the nearest frames of two free-running cameras can
        be apart, and a tenth of it for jitter.

        Raises:
            ConfigError: the profile has no such camera.
        """
        if self.camera_skew_s is not None:
            return self.camera_skew_s
        return max((0.5 + SKEW_JITTER) / self.camera(name).rate_hz for name in names) if names else 0.0


def profile_file(robot: str | Path) -> Path:
    """Returns the file of a robot profile.

    Args:
        robot: the name of a robot that comes with Tendon, or else of one in the working folder's `robots/`, as
            `tendon robot new` writes it; a folder that holds a `profile.yaml`, or such a file.

    Raises:
        ConfigError: there is no such profile.
    """
    if robot == "":
        raise ConfigError(f"no robot is named{closest('', shipped_robots())}, or give the folder of another one")
    word = str(robot)
    if Path(robot).suffix in (".yaml", ".yml"):
        places = [Path(robot)]
    else:
        word = Path(robot).name
        places = [Path(folder, robot, "profile.yaml") for folder in (share_folder() / "robots", "robots", "")]
    for place in places:
        if place.is_file():
            return place
    raise ConfigError(f"no robot profile at {' or '.join(map(str, places))}{closest(word, shipped_robots())}")


def load_profile(robot: str | Path, *, without_collisions: bool = False) -> RobotProfile:
    """Loads a robot profile. `tendon.load_robot` is this function.

    Args:
        robot: its name, its folder or its `profile.yaml`, see `profile_file`.
        without_collisions: leaves its collision model out, which may not be made yet.

    Raises:
        ConfigError: there is no such profile, something in it is wrong, or its calibration is not this robot's.
        IntegrityError: its calibration was changed after it was written.

    Examples:
        >>> import tendon
        >>> robot = tendon.load_robot("ur5e")
        >>> robot.joint_names[:2]
        ('shoulder_pan_joint', 'shoulder_lift_joint')
        >>> robot.vector("velocity").tolist()[0]  # rad/s
        3.1415
        >>> tendon.load_robot("ur5")
        Traceback (most recent call last):
            ...
        tendon.core.errors.ConfigError: no robot profile at ...; did you mean ur5e?
    """
    path = profile_file(robot)
    raw = parse_yaml(path.read_bytes(), str(path))
    if not isinstance(raw, Mapping):
        raise ConfigError(f"{path} must hold a mapping")
    left_out = {"collisions"} if without_collisions else set()
    values = {key: value for key, value in raw.items() if key not in left_out}
    profile = build(RobotProfile, str(path), _parts(path, values))
    urdf = read_urdf(profile.urdf)
    leaders = {mimic.joint: mimic.leader for mimic in urdf.mimics}
    above = {leaders.get(joint, joint) for joint in urdf.above(profile.tool_frame)}
    if above.isdisjoint(profile.joint_names):
        raise ConfigError(
            f"{path}: tool_frame is {profile.tool_frame}, which no joint of the profile moves: it must be a link that "
            "the arm carries"
        )
    _check_followed(path, profile, above)
    if profile.calibration is not None:
        check_calibration(profile.calibration, profile.name, profile.joint_names)
    return profile


def _check_followed(path: Path, profile: RobotProfile, above: Collection[str]) -> None:
    """Checks that every joint is watched but those of grippers, which hold things; none that carries the tool is one.

    A gripper's joint is named under `grippers`, or stands in groups that are called grippers and in no other.
    """
    hands, others = set[str](), set[str]()
    for group, members in profile.groups.items():
        (hands if group.endswith(GRIPPER) else others).update(members)
    holding = {gripper.joint for gripper in profile.grippers} | (hands - others)
    for joint in profile.joints:
        if joint.tracking_tolerance is None and (joint.name in above or joint.name not in holding):
            raise ConfigError(
                f"{path}: joint {joint.name} has no tracking_tolerance: without one nothing notices that it does not "
                "follow; give it twice the largest tracking error of slow motions, such as 0.1 (only a joint that "
                "something may hold off its target goes without: one that `grippers` names, or only of a group gripper)"
            )


def _parts(path: Path, values: dict[str, Any]) -> dict[str, Any]:
    """Returns the values of a profile's fields from what YAML read; relative paths count from the profile's folder."""
    for key in ("urdf", "collisions", "calibration", "response"):
        if values.get(key) is not None and (key, values[key]) != ("collisions", "none"):
            check_text(f"{path} {key}", values[key])
            values[key] = path.parent / values[key]
    if "urdf" in values and values["urdf"] is None:
        raise ConfigError(f"{path} urdf is empty: give the URDF's path from {path.parent}")
    return values

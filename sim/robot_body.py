"""The robot as simulators load it: a URDF with shapes, joints that servos drive, grippers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from tendon.core.errors import ConfigError
from tendon.robots.profile import RobotProfile
from tendon.robots.urdf import Urdf, parse_xml, read_urdf
from tendon.sim.bodies import Rgb
from tendon.sim.robot_urdf import simulated_urdf

ARM_GAIN, GRIPPER_GAIN = 0.4, 0.2
"""Part of its error that a servo means to take away in a step."""
ARM_SPEED = 1.05
"""At which a servo catches up at most, as a part of its joint's limit. Like the drives of real arms it does not snap
back when what held the arm lets go."""
WHITE, DARK = (0.93, 0.93, 0.93), (0.25, 0.25, 0.28)
"""Of a robot, and of its fingers."""


@dataclass(frozen=True, kw_only=True)
class Servo:
    """A joint that is driven.

    Attributes:
        joint: its name.
        column: which entry of a joint vector it follows.
        multiplier: its position is so many times that entry,
        offset: and so much more, rad or m.
        force: the largest, N m or N.
        gain: part of its error that it means to take away in a step.
        speed: at which it catches up at most, rad/s or m/s.
        grips: it moves fingers.
    """

    joint: str
    column: int
    multiplier: float = 1.0
    offset: float = 0.0
    force: float
    gain: float
    speed: float
    grips: bool


@dataclass(frozen=True, kw_only=True)
class RobotBody:
    """What a simulator needs to know of a robot besides its profile.

    Attributes:
        urdf: a file whose meshes are paths that exist; only driven joints move.
        servos: (k,) those of a joint vector in its order, then those that follow.
        fingers: links of each gripper that press on what it holds.
        finger_friction: of their surface: coefficient of sliding, and of turning on the spot [m].
        rgb: of links; "" is every other one.
    """

    urdf: str
    servos: tuple[Servo, ...]
    fingers: tuple[tuple[str, ...], ...] = ()
    finger_friction: tuple[float, float] = (1.3, 0.02)
    rgb: Mapping[str, Rgb] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """n: how many entries a joint vector has."""
        return 1 + max(servo.column for servo in self.servos)

    @property
    def couplings(self) -> tuple[tuple[Servo, Servo], ...]:
        """Each servo that follows another one with the one it follows: what pushes one moves both."""
        return tuple((self.servos[servo.column], servo) for servo in self.servos[self.count :])

    @property
    def linkages(self) -> frozenset[tuple[Servo, Servo]]:
        """The couplings of a gripper's joint that several follow: its fingers are bars and hinges that it drives."""
        leaders = [leader for leader, _ in self.couplings]
        return frozenset((leader, follower) for leader, follower in self.couplings if leaders.count(leader) > 1)


def robot_body(profile: RobotProfile, fine: bool = False) -> RobotBody:
    """Returns the simulated robot of a profile.

    Args:
        profile: the robot.
        fine: draw it for people: as it looks, not as it collides.

    Raises:
        ConfigError: the URDF or a mesh cannot be read, does not say how strong a joint is, or a finger follows nothing.
    """
    grippers = {gripper.joint: gripper for gripper in profile.grippers}
    names = profile.joint_names
    strength, fastest = _efforts(profile), ARM_SPEED * profile.vector("velocity")

    def servo(joint: str, column: int, multiplier: float = 1.0, offset: float = 0.0) -> Servo:
        grips = names[column] in grippers
        return Servo(
            joint=joint,
            column=column,
            multiplier=multiplier,
            offset=offset,
            force=grippers[names[column]].effort if grips else strength[names[column]],
            gain=GRIPPER_GAIN if grips else ARM_GAIN,
            speed=math.inf if grips else float(fastest[column]),
            grips=grips,
        )

    urdf = read_urdf(profile.urdf)
    _check_fingers(profile, urdf)
    followers = [mimic for mimic in urdf.mimics if mimic.leader in names]
    fingers = tuple(gripper.fingers for gripper in profile.grippers)
    return RobotBody(
        urdf=simulated_urdf(profile, fine),
        servos=(
            *(servo(name, column) for column, name in enumerate(names)),
            *(servo(each.joint, names.index(each.leader), each.multiplier, each.offset) for each in followers),
        ),
        fingers=fingers,
        rgb={} if fine else {"": WHITE, **{link: DARK for links in fingers for link in links}},
    )


def _check_fingers(profile: RobotProfile, urdf: Urdf) -> None:
    """Checks that whatever moves a finger is a joint of the profile, or follows one."""
    for gripper in profile.grippers:
        for finger in gripper.fingers:
            for joint in urdf.moved_by(finger):
                if joint not in profile.joint_names:
                    raise ConfigError(
                        f"profile {profile.name}: gripper {gripper.joint}: its finger {finger} is moved by {joint}, "
                        f'which follows no joint of the profile: give it <mimic joint="{gripper.joint}"/> in the URDF'
                    )


def _efforts(profile: RobotProfile) -> dict[str, float]:
    """Returns the largest effort of each joint that drives no gripper, N m or N."""
    known = dict(profile.simulation.efforts)
    for joint in parse_xml(profile.urdf).findall("joint"):
        limit = joint.find("limit")
        if joint.get("name") in profile.joint_names and limit is not None:
            known.setdefault(joint.get("name", ""), float(limit.get("effort", 0)))
    for name in profile.joint_names:
        if not known.get(name, 0.0) > 0 and name not in [gripper.joint for gripper in profile.grippers]:
            raise ConfigError(
                f"profile {profile.name}: URDF {profile.urdf} does not say how strong joint {name} is: give it a "
                "<limit effort>, or the profile `simulation: {efforts: {" + name + ": ...}}` [N m or N]"
            )
    return known

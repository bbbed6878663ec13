"""The robot as simulators load it: a URDF with shapes, joints that servos drive, fingers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tendon.sim.bodies import Rgb


@dataclass(frozen=True, kw_only=True)
class RobotBody:
    """What a simulator needs to know of a robot besides its profile.

    Attributes:
        urdf: a file whose meshes are paths that exist.
        joints: (k,) names of those that are driven.
        columns: (k,) which entry of a joint vector each of them follows: two fingers may follow one.
        forces: (k,) largest of each servo, N m or N.
        position_gains: (k,) of each servo: the part of its error that it means to take away in a step.
        fingers: joints of the gripper's fingers. Two mirror each other: what pushes one moves both.
        finger_friction: of their surface: coefficient of sliding, and of turning on the spot [m].
        rgb: of links by the joint that moves them; "" is every other one.
    """

    urdf: str
    joints: tuple[str, ...]
    columns: tuple[int, ...]
    forces: tuple[float, ...]
    position_gains: tuple[float, ...]
    fingers: tuple[str, ...] = ()
    finger_friction: tuple[float, float] = (1.3, 0.02)
    rgb: Mapping[str, Rgb] = field(default_factory=dict)

    @property
    def first(self) -> tuple[int, ...]:
        """(n,) for each entry of a joint vector, the first driven joint that follows it: the one that is measured."""
        return tuple(self.columns.index(column) for column in range(max(self.columns) + 1))

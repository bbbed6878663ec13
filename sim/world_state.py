"""What of a simulated world moves."""

from __future__ import annotations

from dataclasses import dataclass

from tendon.sim.engine import Pose


@dataclass(frozen=True, kw_only=True)
class WorldState:
    """Everything that moves, as plain numbers: what a camera process needs to draw the same picture.

    Attributes:
        time_ns: simulation time.
        joint_position: of the robot's driven joints, of those too that follow another.
        poses: one (x, y, z, qx, qy, qz, qw) for each thing.
        openings: of the things that have a sliding part, in their order [m].
        held: of each gripper, which thing its fingers press on; -1 for none.
    """

    time_ns: int
    joint_position: tuple[float, ...]
    poses: tuple[Pose, ...]
    openings: tuple[float, ...] = ()
    held: tuple[int, ...] = ()

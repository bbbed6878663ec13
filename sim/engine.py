"""What a simulator must do: one robot among some things, stepped in fixed time, seen by cameras.

The worlds of suites are written against this and name no simulator. A simulator is a folder here; one test
(tests/sim/test_engines.py) holds for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tendon.core.types import Array
from tendon.sim.bodies import Body, Rgb, Vector

PHYSICS_HZ = 300
"""Three whole steps in a control period (docs/adr/0006-physics-at-300-hz.md)."""
PERIOD_NS = 1_000_000_000 // PHYSICS_HZ
GRIP_N = 0.5
"""Of a finger: with less it only touches."""
ROBOT = -1
"""Stands for the robot where things are told by their place."""

Pose = tuple[float, float, float, float, float, float, float]
"""x, y, z [m] and the quaternion x, y, z, w of a frame in the world."""


@dataclass(frozen=True, kw_only=True)
class View:
    """From where a camera looks, in the world [m], and how much of its height it sees.

    Attributes:
        eye: where it is.
        at: a point in the middle of its picture.
        up: what is up in its picture.
        height_rad: angle between the upper and lower edge of its picture.
        near: what is nearer is not seen.
        far: what is further away is not seen.
    """

    eye: Vector
    at: Vector
    up: Vector
    height_rad: float
    near: float = 0.02
    far: float = 3.0


@dataclass(frozen=True, kw_only=True)
class Light:
    """A lamp that is far away.

    Attributes:
        direction: to it.
        rgb: its colour.
        ambient: part of the light that comes from everywhere.
    """

    direction: Vector
    rgb: Rgb
    ambient: float


class Overlap(NamedTuple):
    """Two that are where only one can be.

    Attributes:
        one: a thing.
        other: another one, or `ROBOT`.
        depth: how far one is inside the other [m].
    """

    one: int
    other: int
    depth: float


class Engine(Protocol):
    """A simulator. Used by one thread; time passes only in `step`.

    Joint vectors are (n,) in the profile's order, rad or m. Things are told by their place in what `load` was given.
    """

    @property
    def time_ns(self) -> int:
        """Simulated time since `load`."""

    @property
    def middle_off(self) -> tuple[float, float]:
        """Columns and rows by which the middle of its pictures is beyond `tendon.robots.camera_optics.middle` [px]."""

    def load(self, surroundings: Sequence[Body], things: Sequence[Body]) -> None:
        """Replaces everything: the robot at rest at zero, time zero.

        Args:
            surroundings: what nobody asks about.
            things: what the other methods tell apart.
        """

    def reset_joints(self, position: Array) -> None:
        """Puts the robot at a joint vector, at rest, and holds it there."""

    def joint_state(self) -> tuple[Array, Array]:
        """Returns measured positions and velocities."""

    def joint_effort(self) -> Array:
        """Returns what the servos exerted in the last step, N m or N."""

    def set_target(self, position: Array, velocity: Array) -> None:
        """Sets what the servos track from the next step on."""

    def weaken_grippers(self, share: float) -> None:
        """Leaves the servos of all grippers so much of their force, until the next `load`."""

    def step(self) -> None:
        """Advances physics by 1 / `PHYSICS_HZ`."""

    def link_pose(self, link: str) -> tuple[Array, Array]:
        """Returns (3,) origin [m] and (3, 3) rotation of a link of the robot in the world."""

    def pose(self, thing: int) -> Pose:
        """Returns where a thing is."""

    def move(self, thing: int, pose: Pose) -> None:
        """Puts a thing somewhere else, at rest."""

    def opening(self, thing: int) -> float:
        """Returns how far the sliding part of a thing is open [m]."""

    def set_opening(self, thing: int, opening: float) -> None:
        """Opens it so far, at rest."""

    def gripped(self, thing: int, gripper: int = 0) -> bool:
        """Returns whether every finger of a gripper presses on a thing, by more than `GRIP_N`."""

    def overlaps(self) -> list[Overlap]:
        """Returns which things are inside the robot or inside each other now."""

    def driven(self) -> tuple[float, ...]:
        """Returns the positions of all driven joints, of coupled ones too: with the things' poses, all that moves."""

    def set_driven(self, position: Sequence[float]) -> None:
        """Puts them there, for drawing."""

    def render(self, view: View, light: Light, width: int, height: int) -> npt.NDArray[np.uint8]:
        """Returns what a camera sees now, (height, width, 3) RGB."""

    def background(self, view: View, width: int, height: int) -> npt.NDArray[np.bool_]:
        """Returns which pixels (height, width) of such a picture show neither the robot nor a thing."""

    def close(self) -> None:
        """Frees everything."""

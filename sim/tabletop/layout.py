"""Where things stand on the table: `suites/tabletop.yaml`, a layout for each length of arm."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from tendon.core.config import build
from tendon.core.errors import KinematicsError, MismatchError
from tendon.core.fields import Range, check_fields
from tendon.core.paths import share_folder
from tendon.robots.environment import read_yaml
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile

FAMILIES = ("pick", "put_in", "put_by", "push", "stack", "drawer")
"""Of tasks."""
DEFAULT = "default"
LOW_M = 0.02
"""Height at which a cube is grasped."""

Span = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Places on the table in the robot's base frame [m]; `suites/tabletop.yaml` says what each is."""

    area_x: Span
    area_y: Span
    push_from_x: Span
    push_to_x: float
    drawer_x: float
    before_drawer_x: Span
    start_x: Span
    start_y: Span
    start_z: Span
    hover_z: float
    lift_z: float
    retreat_z: float
    reach_lower: tuple[float, float, float]
    reach_upper: tuple[float, float, float]
    scale: Annotated[float, Range(above=0.3, most=2)] = 1.0
    families: tuple[str, ...] = FAMILIES

    def __post_init__(self) -> None:
        check_fields(self, "layout")


@dataclass(frozen=True, kw_only=True)
class _File:
    layouts: Mapping[str, Layout]


@functools.cache
def layouts() -> Mapping[str, Layout]:
    """Returns the layouts by the robot that they are for.

    Raises:
        ConfigError: the file is missing, or something in it is wrong.
    """
    path = share_folder() / "suites" / "tabletop.yaml"
    return build(_File, path.name, read_yaml(path, "suite")).layouts


@functools.lru_cache(maxsize=32)
def layout_of(profile: RobotProfile) -> Layout:
    """Returns the layout for a robot.

    Raises:
        MismatchError: it has no gripper, or does not reach what may stand there.
    """
    if not profile.grippers:
        raise MismatchError(
            f"the suite tabletop needs a gripper, and profile {profile.name} names none; the suite reach needs none"
        )
    known = layouts()
    layout, gripper = known.get(profile.name, known[DEFAULT]), profile.grippers[0]
    kinematics, joints = Kinematics(profile, gripper.frame, gripper.group), profile.vector("home")
    for place in itertools.product(layout.area_x, layout.area_y, (LOW_M, layout.hover_z)):
        try:
            joints = kinematics.inverse_down(np.array(place), joints)
        except KinematicsError as error:
            raise MismatchError(
                f"{profile.name} does not reach all of the tabletop with its tool down: {error}; give it a layout in "
                "suites/tabletop.yaml, or take the suite reach"
            ) from error
    return layout

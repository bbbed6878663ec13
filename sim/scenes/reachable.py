"""Whether one hand reaches all places where the things of a suite's file may stand."""

from __future__ import annotations

import itertools

import numpy as np

from tendon.core.errors import KinematicsError, MismatchError
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile
from tendon.sim.scenes.description import SuiteFile

LOW_M = 0.02
"""Height of the lowest grips."""


def check_reach(file: SuiteFile, profile: RobotProfile) -> None:
    """Checks that the only gripper of a robot can be everywhere on its stage, pointing down.

    Raises:
        MismatchError: it has another number of grippers, or there is a place where it cannot be.
    """
    if len(profile.grippers) != 1:
        raise MismatchError(
            f"the suite {file.name} needs one gripper, and profile {profile.name} has {len(profile.grippers)}"
        )
    (gripper,), stage = profile.grippers, file.stage(profile.name)
    kinematics, joints = Kinematics(profile, gripper.frame, gripper.group), profile.vector("home")
    for thing in file.things.values():
        for x, y, z in itertools.product(thing.x, thing.y, (LOW_M, stage.hover)):
            place = np.array([*stage.scale * np.array([x, y]) + stage.origin, z])
            try:
                joints = kinematics.inverse_down(place, joints)
            except KinematicsError as error:
                raise MismatchError(
                    f"{profile.name} does not reach all of the suite {file.name} with its tool down: {error}; give it "
                    f"a stage in suites/{file.name}.yaml, or take the suite reach"
                ) from error

"""What the worlds of all suites do alike: the robot of a profile in a simulator, among things."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tendon.core.errors import ConfigError, InvalidDataError
from tendon.core.types import Array
from tendon.robots.profile import RobotProfile
from tendon.robots.servo_response import read_response
from tendon.sim.bodies import Body
from tendon.sim.cameras import CameraRig
from tendon.sim.engine import PERIOD_NS, ROBOT, Engine
from tendon.sim.response import Responding
from tendon.sim.simulators import AUTO
from tendon.sim.suite import Suite
from tendon.sim.world_state import WorldState

OVERLAP_M = 0.003
"""How deep things may stand in one another when a scene begins: simulators push apart what touches."""


class EngineWorld(ABC):
    """The base of a `World`. Not thread-safe. Its subclass adds `reset` and `render`.

    Args:
        profile: the robot.
        engine: the simulator, which has that robot.
    """

    def __init__(self, profile: RobotProfile, engine: Engine) -> None:
        self.profile, self.engine = profile, engine
        self.cameras = CameraRig(engine, profile)
        self._response: Responding | None = None
        if profile.response is not None:
            response = read_response(profile.response, profile.name, profile.joint_names)
            self._response = Responding(response, profile, PERIOD_NS * 1e-9)
        self._target = profile.vector("home")
        self._sliding: list[int] = []
        self._count = 0

    @abstractmethod
    def reset(self, scene: Any) -> None:
        """Replaces everything by a scene of its own suite, the robot at rest, time zero."""

    @abstractmethod
    def render(self, camera: str, width: int | None = None, height: int | None = None) -> npt.NDArray[np.uint8]:
        """Returns what a camera of the profile sees now, see `CameraRig.render`."""

    def load(self, surroundings: Sequence[Body], things: Sequence[Body]) -> None:
        """Replaces everything, see `Engine.load`."""
        self.engine.load(surroundings, things)
        self.cameras.restart()
        self._sliding = [i for i, body in enumerate(things) if body.slide is not None]
        self._count = len(things)

    def check_start(self, names: Sequence[str], remedy: str) -> None:
        """Checks that nothing stands where something else is.

        Args:
            names: of the things.
            remedy: what to do about it.

        Raises:
            ConfigError: a thing is inside the robot, or inside another one.
        """
        for one, other, depth in self.engine.overlaps():
            if depth > OVERLAP_M:
                what = f"robot {self.profile.name}" if other == ROBOT else names[other]
                raise ConfigError(
                    f"{names[one]} starts {1000 * depth:.0f} mm inside {what}, allowed {1000 * OVERLAP_M:.0f}: {remedy}"
                )

    @property
    def time_ns(self) -> int:
        """Simulation time since the world was loaded."""
        return self.engine.time_ns

    @property
    def period_ns(self) -> int:
        """How far time goes in a step."""
        return PERIOD_NS

    def joint_state(self) -> tuple[Array, Array]:
        """Returns measured (n,) positions and (n,) velocities in the profile's joint order."""
        return self.engine.joint_state()

    def joint_effort(self) -> Array:
        """Returns (n,) what the servos exerted in the last step, N m or N."""
        return self.engine.joint_effort()

    def reset_joints(self, joint_position: Array) -> None:
        """Puts the robot at a (n,) joint vector, at rest."""
        self.engine.reset_joints(joint_position)
        self._target = joint_position
        if self._response is not None:
            self._response.restart(joint_position)

    def set_target(self, position: Array, velocity: Array) -> None:
        """Sets what the joint servos track from the next step on, in the profile's joint order."""
        self._target = position
        if self._response is None:
            self.engine.set_target(position, velocity)

    def step(self) -> None:
        """Advances physics by one period."""
        if self._response is not None:
            self.engine.set_target(*self._response.step(self._target))
        self.engine.step()

    def state(self) -> WorldState:
        """Returns everything that moves, for drawing elsewhere."""
        return WorldState(
            time_ns=self.time_ns,
            joint_position=self.engine.driven(),
            poses=tuple(self.engine.pose(i) for i in range(self._count)),
            openings=tuple(self.engine.opening(i) for i in self._sliding),
            held=tuple(self._held_by(gripper) for gripper in range(len(self.profile.grippers))),
        )

    def _held_by(self, gripper: int) -> int:
        """Returns the thing that a gripper holds, -1 for none."""
        return next((i for i in range(self._count) if self.engine.gripped(i, gripper)), -1)

    def set_state(self, state: WorldState) -> None:
        """Puts everything where another world had it; for the camera process, which steps no physics.

        Raises:
            InvalidDataError: it is of a world with other joints or things.
        """
        given = len(state.joint_position), len(state.poses), len(state.openings)
        own = len(self.engine.driven()), self._count, len(self._sliding)
        if given != own:
            raise InvalidDataError(
                "a state of {} joints, {} things and {} that slide is of another world than this of {}, {} and {}: "
                "let both be of one robot, suite and scene".format(*given, *own)
            )
        self.engine.set_driven(state.joint_position)
        for i, pose in enumerate(state.poses):
            self.engine.move(i, pose)
        for i, opening in zip(self._sliding, state.openings, strict=True):
            self.engine.set_opening(i, opening)

    def close(self) -> None:
        """Frees the world."""
        self.engine.close()


def open_engine_world(suite: Suite, profile: RobotProfile, simulator: str = AUTO, gui: bool = False) -> EngineWorld:
    """Returns a world of a suite that other processes can draw, as the graph needs it.

    Raises:
        ConfigError: the suite's worlds are none.
        MismatchError: the robot does not fit the suite.
    """
    world = suite.world(profile, simulator, gui)
    if not isinstance(world, EngineWorld):
        raise ConfigError(f"the world of this suite is a {type(world).__name__}, and the graph needs an EngineWorld")
    return world

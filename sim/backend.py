"""The simulated robot as a backend: joint servos behind a trajectory controller, stepped by hand."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np

from tendon.core.types import Array, Command, Image, Observation
from tendon.robots.trajectory_controller import TrajectoryController
from tendon.sim.suite import World

W = TypeVar("W", bound=World)


class SimBackend(Generic[W]):
    """A core `Backend` in lock-step: time passes only in `advance`.

    Args:
        world: the simulated robot as it is; this backend plays what is applied to it.
        draws: whether observations have pictures, which are most of what a world costs.
        zeros: (n,) how much larger every joint is said to be than it is, as the robot's calibration has it.

    Attributes:
        commanded: since the last reset, at each step of physics: its end [ns], and (n,) positions and velocities.
        joint_zero: (n,) how much larger yet it is said to be, rad or m, which no calibration knows: such an arm is not
            where it says, nor where it was sent.
    """

    def __init__(self, world: W, draws: bool = True, zeros: Array | None = None) -> None:
        self.world, self._draws = world, draws
        self._zeros = np.zeros(len(world.profile.joint_names)) if zeros is None else zeros
        self.commanded: list[tuple[int, Array, Array]] = []
        self.joint_zero: Array = np.zeros(len(world.profile.joint_names))
        position, _ = world.joint_state()
        self._controller = TrajectoryController(world.profile.joint_names, position + self._zeros)

    def reset(self, scene: Any) -> None:
        """Loads a scene of the world's suite: time is zero again and the robot holds the scene's start."""
        self.world.reset(scene)
        self._controller.reset(self.observe_joints()[0])
        self.commanded = []

    def observe_joints(self) -> tuple[Array, Array]:
        """Returns measured (n,) positions and velocities."""
        position, velocity = self.world.joint_state()
        return position + self._zeros + self.joint_zero, velocity

    def observe(self, instruction: str = "") -> Observation:
        """Returns the whole observation."""
        position, velocity = self.observe_joints()
        now_ns = self.world.time_ns
        images = {
            camera.name: Image(stamp_ns=now_ns, pixels=self.world.render(camera.name))
            for camera in self.world.profile.cameras
            if self._draws
        }
        return Observation(
            stamp_ns=now_ns,
            joint_position=position,
            joint_velocity=velocity,
            images=images,
            instruction=instruction,
        )

    def apply(self, command: Command) -> Command:
        """Hands a command to the trajectory controller and returns it: nothing is changed on the way.

        Raises:
            InvalidDataError: the controller rejects it; the running trajectory goes on.
        """
        self._controller.accept_command(command, self.world.time_ns)
        return command

    def advance(self, until_ns: int) -> None:
        """Steps physics until simulation time reaches `until_ns`, each step toward what is commanded at its end."""
        while self.world.time_ns < until_ns:
            end_ns = self.world.time_ns + self.world.period_ns
            position, velocity = self._controller.sample(end_ns)
            self.commanded.append((end_ns, position, velocity))
            self.world.set_target(position - self._zeros - self.joint_zero, velocity)
            self.world.step()

    def close(self) -> None:
        """Closes the world."""
        self.world.close()

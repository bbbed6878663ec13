"""The simulated robot without ROS: a world whose joints are driven by trajectory controllers, as on a real robot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tendon.core.errors import InvalidDataError, StoppedError
from tendon.core.types import Array, SentTrajectory
from tendon.robots.profile import RobotProfile
from tendon.robots.rest import STILL_SPEED
from tendon.robots.trajectory_controller import TrajectoryController
from tendon.sim.panda import panda
from tendon.sim.simulators import AUTO, open_engine
from tendon.sim.tabletop.phrases import parse_instruction
from tendon.sim.tabletop.scene import Scene
from tendon.sim.tabletop.world import World

FARTHEST = 1e3
"""No joint of any robot gets so far, or so fast [rad, m or per second]: physics would answer with NaN, for ever."""


class SimulatedRobot:
    """Owned by one thread. Times are ROS time, which the caller advances with each step.

    Args:
        profile: the robot.
        scene: what stands on its table.
        simulator: see `tendon.sim.simulators`.
        gui: open its window.
    """

    def __init__(self, profile: RobotProfile, scene: Scene, simulator: str = AUTO, gui: bool = False) -> None:
        self.world = World(scene, profile, engine=open_engine(panda(profile.joint_names[:-1]), simulator, gui))
        position, _ = self.world.joint_state()
        self._columns = {c.name: [profile.joint_names.index(n) for n in c.joints] for c in profile.controllers}
        self._controllers = {
            c.name: TrajectoryController(c.joints, position[self._columns[c.name]]) for c in profile.controllers
        }
        self._target = np.array(position)
        self._target_velocity = np.zeros(len(position))
        self._jammed: tuple[int, float] | None = None

    def load(self, scene: Scene) -> None:
        """Replaces the scene; the robot stands at its start pose and holds it.

        Raises:
            StoppedError: the robot is in motion.
        """
        if self.moving:
            raise StoppedError("the robot is in motion: stop it before another scene is loaded")
        self.world.reset(scene)
        position, _ = self.world.joint_state()
        self._target, self._target_velocity = np.array(position), np.zeros(len(position))
        for name, controller in self._controllers.items():
            controller.reset(position[self._columns[name]])

    def accept(self, controller: str, trajectory: SentTrajectory, now_ns: int) -> None:
        """Gives a controller a trajectory.

        Raises:
            TendonError: the controller rejects it, or no robot could; it plays on what it has.
        """
        for values in (trajectory.position, trajectory.velocity):
            if not (np.abs(values) <= FARTHEST).all():
                raise InvalidDataError(f"trajectory has a number that is not finite or beyond {FARTHEST:g}")
        self._controllers[controller].accept(trajectory, now_ns)

    def step(self, now_ns: int) -> None:
        """Advances physics by one period toward what the controllers command at its end."""
        for name, controller in self._controllers.items():
            columns = self._columns[name]
            position, velocity = controller.sample(now_ns)  # between points it may go far beyond them
            self._target[columns] = np.clip(position, -FARTHEST, FARTHEST)
            self._target_velocity[columns] = np.clip(velocity, -FARTHEST, FARTHEST)
        target, velocity = self._target, self._target_velocity
        if self._jammed is not None:
            column, place = self._jammed
            target, velocity = target.copy(), velocity.copy()
            target[column], velocity[column] = place, 0.0
        self.world.set_target(target, velocity)
        self.world.step()

    def jam(self, joint: str) -> None:
        """Holds a joint where it is, whatever its controller commands; "" frees it."""
        position, _ = self.world.joint_state()
        names = self.world.profile.joint_names
        self._jammed = (names.index(joint), float(position[names.index(joint)])) if joint else None

    @property
    def moving(self) -> bool:
        """Whether a controller commands motion."""
        return bool(np.abs(self._target_velocity).max() > STILL_SPEED)

    def commanded(self) -> tuple[Array, Array]:
        """Returns (n,) position and (n,) velocity that the controllers commanded in the last step."""
        return self._target.copy(), self._target_velocity.copy()

    def judge(self, instruction: str) -> None:
        """Makes an instruction the task that success is judged by, when it asks for one in this scene."""
        scene = self.world.scene
        task = parse_instruction(scene.items, instruction)
        if task is not None and task != scene.task:
            self.world.ask(replace(scene, task=task, instruction=instruction))

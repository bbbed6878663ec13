"""The simulated robot without ROS: a world whose joints are driven by trajectory controllers, as on a real robot."""

from __future__ import annotations

import numpy as np

from tendon.core.errors import InvalidDataError, StoppedError
from tendon.core.types import Array, SentTrajectory
from tendon.robots.profile import RobotProfile
from tendon.robots.rest import STILL_SPEED
from tendon.robots.trajectory_controller import TrajectoryController
from tendon.sim.engine_world import open_engine_world
from tendon.sim.simulators import AUTO
from tendon.sim.suite import Scene, Suite, TaskSwitching

FARTHEST = 1e3
"""No joint of any robot gets so far, or so fast [rad, m or per second]: physics would answer with NaN, for ever."""


class SimulatedRobot:
    """Owned by one thread. Times are ROS time, which the caller advances with each step.

    Args:
        profile: the robot.
        suite: whose world it is in.
        scene: of the suite, for this robot.
        simulator: see `tendon.sim.simulators`.
        gui: open its window.
    """

    def __init__(
        self, profile: RobotProfile, suite: Suite, scene: Scene, simulator: str = AUTO, gui: bool = False
    ) -> None:
        self.world, self.scene = open_engine_world(suite, profile.uncalibrated, simulator, gui), scene
        self._suite, self._profile = suite, profile
        self._zeros = self._zeros_of(scene)
        self.world.reset(scene)
        position, _ = self.joint_state()
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
        self.scene, self._zeros = scene, self._zeros_of(scene)
        position, _ = self.joint_state()
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

    def sample(self, now_ns: int) -> tuple[Array, Array]:
        """Returns (n,) position and velocity that the controllers command at a time."""
        wanted = np.empty((2, len(self._target)))
        for name, controller in self._controllers.items():
            wanted[:, self._columns[name]] = controller.sample(now_ns)  # between points it may go far beyond them
        np.clip(wanted, -FARTHEST, FARTHEST, out=wanted)
        return wanted[0], wanted[1]

    def step(self, now_ns: int) -> None:
        """Advances physics by one period toward what the controllers command at its end."""
        target, velocity = self._target, self._target_velocity = self.sample(now_ns)
        if self._jammed is not None:
            column, place = self._jammed
            target, velocity = target.copy(), velocity.copy()
            target[column], velocity[column] = place, 0.0
        self.world.set_target(target - self._zeros, velocity)
        self.world.step()

    def joint_state(self) -> tuple[Array, Array]:
        """Returns (n,) positions as the robot says them, which are off by its zeros, and speeds."""
        position, velocity = self.world.joint_state()
        return position + self._zeros, velocity

    def _zeros_of(self, scene: Scene) -> Array:
        return self._profile.zeros if self._suite.zeros is None else self._suite.zeros(self._profile, scene)

    def jam(self, joint: str) -> None:
        """Holds a joint where it is, whatever its controller commands; "" frees it."""
        position, _ = self.joint_state()
        names = self.world.profile.joint_names
        self._jammed = (names.index(joint), float(position[names.index(joint)])) if joint else None

    @property
    def moving(self) -> bool:
        """Whether a controller commands motion."""
        return bool(np.abs(self._target_velocity).max() > STILL_SPEED)

    def commanded(self) -> tuple[Array, Array]:
        """Returns (n,) position and (n,) velocity that the controllers commanded in the last step."""
        return self._target, self._target_velocity

    def judge(self, instruction: str) -> None:
        """Makes an instruction the task that success is judged by, when it asks for one in this scene."""
        scene = self._suite.read(self.scene, instruction)
        if scene is not None and scene.task != self.scene.task and isinstance(self.world, TaskSwitching):
            self.world.ask(scene)
            self.scene = scene

"""What every world in PyBullet does: own a client, step it in fixed time, and move a robot's joints."""

from __future__ import annotations

from tendon.core.types import Array
from tendon.robots.profile import RobotProfile
from tendon.sim.pybullet.client import pybullet
from tendon.sim.pybullet.robot import Robot

WINDOW_VIEW = (1.7, 60.0, -28.0, (0.35, 0.0, 0.25))
"""Of the window: distance [m], yaw and pitch [deg], and what it looks at [m]."""
PHYSICS_HZ = 300
"""Three whole steps in a control period (docs/adr/0006-physics-at-300-hz.md)."""


class BulletWorld:
    """An empty world with a robot: the base of a `World`. Not thread-safe.

    Its subclass sets `robot`, and adds `reset`, `render` and `state`.

    Args:
        profile: the robot.
        gui: open PyBullet's window.
    """

    robot: Robot

    def __init__(self, profile: RobotProfile, gui: bool = False) -> None:
        self.profile = profile
        self.client: int = pybullet.connect(pybullet.GUI if gui else pybullet.DIRECT)
        if gui:
            pybullet.configureDebugVisualizer(pybullet.COV_ENABLE_GUI, 0, physicsClientId=self.client)
            pybullet.resetDebugVisualizerCamera(*WINDOW_VIEW, physicsClientId=self.client)
        self._steps = 0

    def clear(self) -> None:
        """Removes everything; time is zero again."""
        pybullet.resetSimulation(physicsClientId=self.client)
        pybullet.setGravity(0, 0, -9.81, physicsClientId=self.client)
        pybullet.setTimeStep(1.0 / PHYSICS_HZ, physicsClientId=self.client)
        self._steps = 0

    @property
    def time_ns(self) -> int:
        """Simulation time since the world was cleared."""
        return self._steps * 1_000_000_000 // PHYSICS_HZ

    @property
    def period_ns(self) -> int:
        """How far time goes in a step."""
        return 1_000_000_000 // PHYSICS_HZ

    def joint_state(self) -> tuple[Array, Array]:
        """Returns measured (n,) positions and (n,) velocities in the profile's joint order."""
        return self.robot.state()

    def joint_effort(self) -> Array:
        """Returns (n,) what the servos exerted in the last step, N m or N."""
        return self.robot.effort()

    def reset_joints(self, joint_position: Array) -> None:
        """Puts the robot at a (n,) joint vector, at rest."""
        self.robot.reset(joint_position)

    def set_target(self, position: Array, velocity: Array) -> None:
        """Sets what the joint servos track from the next step on, in the profile's joint order."""
        self.robot.set_target(position, velocity)

    def step(self) -> None:
        """Advances physics by one period of 1 / `PHYSICS_HZ`."""
        pybullet.stepSimulation(physicsClientId=self.client)
        self._steps += 1

    def close(self) -> None:
        """Disconnects the client."""
        if pybullet.isConnected(physicsClientId=self.client):
            pybullet.disconnect(physicsClientId=self.client)

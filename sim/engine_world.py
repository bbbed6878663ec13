"""What the worlds of all suites do alike: the robot of a profile in a simulator."""

from __future__ import annotations

from tendon.core.types import Array
from tendon.robots.profile import RobotProfile
from tendon.sim.engine import PERIOD_NS, Engine


class EngineWorld:
    """The base of a `World`. Not thread-safe. Its subclass adds `reset`, `render` and `state`.

    Args:
        profile: the robot.
        engine: the simulator, which has that robot.
    """

    def __init__(self, profile: RobotProfile, engine: Engine) -> None:
        self.profile, self.engine = profile, engine

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

    def set_target(self, position: Array, velocity: Array) -> None:
        """Sets what the joint servos track from the next step on, in the profile's joint order."""
        self.engine.set_target(position, velocity)

    def step(self) -> None:
        """Advances physics by one period."""
        self.engine.step()

    def close(self) -> None:
        """Frees the world."""
        self.engine.close()

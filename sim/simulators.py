"""The simulators that there are, by name. Each is imported when it is asked for: not all need to be installed."""

from __future__ import annotations

from tendon.core.checks import closest
from tendon.core.errors import ConfigError
from tendon.sim.engine import Engine
from tendon.sim.robot_body import RobotBody

SIMULATORS = ("pybullet", "mujoco")
DEFAULT_SIMULATOR = "pybullet"


def open_engine(robot: RobotBody, simulator: str = DEFAULT_SIMULATOR, gui: bool = False) -> Engine:
    """Returns a simulator with a robot.

    Args:
        robot: what it loads.
        simulator: one of `SIMULATORS`.
        gui: open its window.

    Raises:
        ConfigError: there is no such simulator.
        MissingDependencyError: it is not installed.
    """
    if simulator == "pybullet":
        from tendon.sim.pybullet.engine import BulletEngine

        return BulletEngine(robot, gui)
    if simulator == "mujoco":
        from tendon.sim.mujoco.engine import MujocoEngine

        return MujocoEngine(robot, gui)
    raise ConfigError(f"simulator is {simulator!r}{closest(simulator, SIMULATORS)}")

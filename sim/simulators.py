"""The simulators that there are, by name. Each is imported when it is asked for: not all need to be installed."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from tendon.core.checks import closest
from tendon.core.distribution import pip_install
from tendon.core.errors import ConfigError, MissingDependencyError
from tendon.sim.engine import Engine

if TYPE_CHECKING:
    from tendon.sim.robot_body import RobotBody

SIMULATORS = {"pybullet": "PyBullet", "mujoco": "MuJoCo"}
"""Modules, which are their names too, and what people call them. The first that is installed is the default."""
STEPS_IN_THREADS = ("mujoco",)
"""Those that step without Python's lock: threads of one process step several worlds at once."""
AUTO = "auto"
"""In place of one of them: the first that is installed."""


def choose(simulator: str = AUTO) -> str:
    """Returns the simulator of a name: of `AUTO`, the first that is installed.

    Raises:
        ConfigError: there is no such simulator.
        MissingDependencyError: it is not installed.
    """
    if simulator != AUTO and simulator not in SIMULATORS:
        raise ConfigError(f"simulator is {simulator!r}{closest(simulator, (AUTO, *SIMULATORS))}")
    for name in SIMULATORS if simulator == AUTO else (simulator,):
        if importlib.util.find_spec(name) is not None:
            return name
    missing = "a simulator" if simulator == AUTO else SIMULATORS[simulator]
    install = pip_install("mujoco" if simulator == "mujoco" else "sim")
    hint = " (PyBullet has wheels up to Python 3.11)" if simulator == "pybullet" else ""
    raise MissingDependencyError(f"this needs {missing}: {install}{hint}; `tendon run backend:=mock` needs none")


def open_engine(robot: RobotBody, simulator: str = AUTO, gui: bool = False) -> Engine:
    """Returns a simulator with a robot.

    Args:
        robot: what it loads.
        simulator: one of `SIMULATORS`, or `AUTO`.
        gui: open its window.

    Raises:
        ConfigError: there is no such simulator, or it has no window.
        MissingDependencyError: it is not installed.
    """
    if choose(simulator) == "mujoco":
        from tendon.sim.mujoco.engine import MujocoEngine

        return MujocoEngine(robot, gui)
    from tendon.sim.pybullet.engine import BulletEngine

    return BulletEngine(robot, gui)

"""The suites that come with Tendon, by name. Another one is a folder that makes a `Suite`, and one line here."""

from __future__ import annotations

from importlib import import_module

from tendon.core.checks import closest
from tendon.core.errors import ConfigError
from tendon.robots.profile import RobotProfile
from tendon.sim import require_sim
from tendon.sim.suite import Suite

SUITES = {"tabletop": "tendon.sim.tabletop.suite:TABLETOP", "reach": "tendon.sim.reach.suite:REACH"}
"""Where each is defined. It is imported when it is asked for: it may need the extra `sim`."""
DEFAULT_SUITE = "tabletop"
AUTO_SUITE = "auto"
"""In place of a name: the one that fits the robot."""


def suite_for(profile: RobotProfile, name: str = AUTO_SUITE) -> str:
    """Returns the name of the suite that a robot has in simulation.

    Args:
        profile: the robot.
        name: the one that was asked for; `AUTO_SUITE` takes the tabletop for a robot with a gripper, else `reach`.
    """
    if name != AUTO_SUITE:
        return name
    return "tabletop" if profile.grippers else "reach"


def load_suite(name: str) -> Suite:
    """Returns a suite.

    Raises:
        ConfigError: there is none of that name.
        MissingDependencyError: the simulator is not installed.
    """
    if name not in SUITES:
        raise ConfigError(f"suite is {name!r}{closest(name, tuple(SUITES))}")
    require_sim()
    module, _, attribute = SUITES[name].partition(":")
    suite: Suite = getattr(import_module(module), attribute)
    return suite

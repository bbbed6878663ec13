"""The suites that come with Tendon, by name. Another one is a folder that makes a `Suite`, and one line here."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from tendon.core.checks import closest
from tendon.core.errors import ConfigError
from tendon.evaluation.suite_file import is_suite_file, read_suite_file
from tendon.robots.profile import RobotProfile
from tendon.sim import require_sim
from tendon.sim.suite import Suite

SUITES = {
    "tabletop": "tendon.sim.tabletop.suite:TABLETOP",
    "tabletop_hard": "tendon.sim.tabletop.suite:hard",
    "assembly": "tendon.sim.assembly.suite:ASSEMBLY",
    "bimanual": "tendon.sim.bimanual.suite:BIMANUAL",
    "reach": "tendon.sim.reach.suite:REACH",
    "calibration": "tendon.demo.calibration.suite:CALIBRATION",
}
"""Where each is defined, or what makes it. It is imported when it is asked for: it may need the extra `sim`."""
DEFAULT_SUITE = "tabletop"
BY_GRIPPERS = {1: "tabletop", 2: "bimanual"}
"""The suite of a robot with so many."""
AUTO_SUITE = "auto"
"""In place of a name: the one that fits the robot."""


def suite_for(profile: RobotProfile, name: str = AUTO_SUITE) -> str:
    """Returns the name of the suite that a robot has in simulation.

    Args:
        profile: the robot.
        name: the one that was asked for; `AUTO_SUITE` takes the one for as many grippers as it has, else `reach`.
    """
    if name != AUTO_SUITE:
        return name
    return BY_GRIPPERS.get(len(profile.grippers), "reach")


def load_suite(name: str) -> Suite:
    """Returns a suite, by its name or of a file (`tendon.evaluation.suite_file`).

    Raises:
        ConfigError: there is none of that name, or its file has something in it that has no meaning.
        MissingDependencyError: the simulator is not installed.
    """
    if is_suite_file(name):
        said = read_suite_file(Path(name))
        if is_suite_file(said.suite):
            raise ConfigError(f"{name}: suite is {said.suite!r}: name one of {', '.join(SUITES)}, not another file")
        try:
            return said.made_of(load_suite(said.suite))
        except ConfigError as error:
            raise type(error)(f"{name}: {error}") from error
    if name not in SUITES:
        raise ConfigError(f"suite is {name!r}{closest(name, tuple(SUITES))}")
    require_sim()
    module, _, attribute = SUITES[name].partition(":")
    found: Suite | Callable[[], Suite] = getattr(import_module(module), attribute)
    return found if isinstance(found, Suite) else found()

"""The suites that come with Tendon, by name; one of your own is `MODULE:NAME`."""

from __future__ import annotations

import sys
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
OWN = "MODULE:NAME"
"""How one of your own is named."""
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
    """Returns a suite, by its name, of a file (`tendon.evaluation.suite_file`), or from a module of yours.

    Args:
        name: one of `SUITES`, a path that ends in .yaml, or `MODULE:NAME` of a `Suite` or of what makes one; the module
            is installed or in the working folder.

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
    if ":" not in name and name not in SUITES:
        raise ConfigError(f"suite is {name!r}{closest(name, (*SUITES, OWN))}")
    require_sim()
    found = _imported(SUITES.get(name, name))
    made = found() if callable(found) else found
    if not isinstance(made, Suite):
        raise ConfigError(f"suite is {name!r}: that is no tendon.sim.suite.Suite, but a {type(made).__name__}")
    return made


def _imported(name: str) -> Suite | Callable[[], Suite]:
    module, _, attribute = name.partition(":")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)  # last, so that no file there hides what is installed
    try:
        holder = import_module(module)
    except (ImportError, ValueError, TypeError) as error:
        raise ConfigError(
            f"suite is {name!r}: module {module!r} cannot be imported ({error}); it must be installed or in {here}"
        ) from error
    if not hasattr(holder, attribute):
        known = tuple(key for key, value in vars(holder).items() if isinstance(value, Suite))
        raise ConfigError(f"suite is {name!r}: {module} has no {attribute!r}{closest(attribute, known)}")
    found: Suite | Callable[[], Suite] = getattr(holder, attribute)
    return found

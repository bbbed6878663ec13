"""Simulation: what a suite is, a world in lock-step, what PyBullet worlds are made of, and the suite `tabletop`.

Needs the extra `sim`.
"""

from __future__ import annotations

import importlib.util

from tendon.core.distribution import pip_install
from tendon.core.errors import MissingDependencyError


def require_sim() -> None:
    """Checks that the simulator is installed. Call it before importing what uses it.

    Raises:
        MissingDependencyError: it is not; the message says how to get it.
    """
    from tendon.sim.simulators import choose

    choose()
    if importlib.util.find_spec("gymnasium") is None:
        raise MissingDependencyError(f"the simulator needs gymnasium: {pip_install('sim')}")

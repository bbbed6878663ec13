"""The name that pip knows Tendon by: `tendon` itself is another project on the package index."""

from __future__ import annotations

import platform
import sys

DISTRIBUTION = "tendon-vla"
PYBULLET_END = (3, 12)
"""The first Python that PyBullet has no wheels for; setup.py says the same."""


def pip_install(extra: str = "") -> str:
    """Returns the command that brings Tendon with one of its extras, to be copied into a shell."""
    return f'pip install "{DISTRIBUTION}[{extra}]"' if extra else f"pip install {DISTRIBUTION}"


def install_simulator() -> str:
    """Returns how to get PyBullet, which not every Python can have."""
    if sys.version_info < PYBULLET_END:
        return pip_install("sim")
    last = f"{PYBULLET_END[0]}.{PYBULLET_END[1] - 1}"
    return (
        f"PyBullet has wheels up to Python {last}, and this is {platform.python_version()}: make an environment with "
        f"Python {last}, or build it (pip install pybullet; needs g++ and ten minutes)"
    )

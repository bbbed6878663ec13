"""MuJoCo, imported in this one place. It draws by EGL, which needs no screen, unless MUJOCO_GL says otherwise.

Raises MissingDependencyError where it is not installed, so that a command that needs it ends with one line.
"""

from __future__ import annotations

import os

from tendon.core.distribution import pip_install
from tendon.core.errors import MissingDependencyError

os.environ.setdefault("MUJOCO_GL", "egl")

try:
    import mujoco
except ModuleNotFoundError as error:
    raise MissingDependencyError(f"this simulator needs MuJoCo: {pip_install('mujoco')}") from error

__all__ = ["mujoco"]

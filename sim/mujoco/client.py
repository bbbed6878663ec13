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
    raise MissingDependencyError(f"this needs MuJoCo: {pip_install('mujoco')}") from error
except (ImportError, AttributeError) as error:  # what its binding of a graphics library that is not there raises
    library = os.environ["MUJOCO_GL"]
    raise MissingDependencyError(
        f"MuJoCo finds no {library} to draw by ({error}): apt install libegl1 libgl1-mesa-dri, "
        f"{'or ' if library == 'egl' else 'and unset MUJOCO_GL, or '}take PyBullet, which needs none"
    ) from error

__all__ = ["mujoco"]

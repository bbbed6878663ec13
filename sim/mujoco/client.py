"""MuJoCo, imported in this one place. It draws by EGL, which needs no screen, unless MUJOCO_GL says otherwise.

Raises MissingDependencyError where it is not installed, so that a command that needs it ends with one line. Where there
is no EGL, it simulates and does not draw.
"""

from __future__ import annotations

import ctypes
import os

from tendon.core.distribution import pip_install
from tendon.core.errors import MissingDependencyError

GL_VARIABLE = "MUJOCO_GL"


def _has_egl() -> bool:
    try:
        ctypes.CDLL("libEGL.so.1")
    except OSError:
        return False
    return True


if GL_VARIABLE not in os.environ:
    os.environ[GL_VARIABLE] = "egl" if _has_egl() else "disabled"

try:
    import mujoco
except ModuleNotFoundError as error:
    raise MissingDependencyError(f"this needs MuJoCo: {pip_install('mujoco')}") from error
except (ImportError, AttributeError) as error:  # what a graphics library that is not there makes of its import
    raise MissingDependencyError(
        f"MuJoCo cannot be loaded with {GL_VARIABLE}={os.environ[GL_VARIABLE]} ({error}): unset it, or set it to egl"
    ) from error

__all__ = ["GL_VARIABLE", "mujoco"]

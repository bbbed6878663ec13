"""Which ROS middleware there is: where the one that is asked for is not installed, rclpy would end the process."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from tendon.core.errors import ConfigError

MIDDLEWARE_VARIABLE = "RMW_IMPLEMENTATION"

_EXIT_NO_MIDDLEWARE = 102
"""With which rcl ends a process that loads it."""
_INDEX = "share/ament_index/resource_index/rmw_typesupport"
"""Where the middlewares of a sourced ROS are listed, below each prefix; wheels are packages of Python instead."""


def require_middleware() -> None:
    """Checks that the middleware in `RMW_IMPLEMENTATION` is installed; call it before rclpy is imported.

    One that is found nowhere is tried in a process of its own.

    Raises:
        ConfigError: it is not; the message names those that are.
    """
    wanted = os.environ.get(MIDDLEWARE_VARIABLE)
    if not wanted or "rclpy" in sys.modules or wanted in (listed := _listed()) or PathFinder.find_spec(wanted):
        return
    if _try(wanted)[0] != _EXIT_NO_MIDDLEWARE:
        return
    code, default = _try("")
    installed = ", ".join(sorted(listed | ({default} if code == 0 else set()))) or "none"
    raise ConfigError(
        f"{MIDDLEWARE_VARIABLE} is {wanted}, which is not installed (installed: {installed}): unset it, "
        f"or source a ROS 2 that has it, as from apt's ros-jazzy-{wanted.replace('_', '-')}"
    )


def middleware_name() -> str:
    """Returns the name of the middleware that is used, after `require_middleware`."""
    import rclpy

    return str(rclpy.get_rmw_implementation_identifier())


def _listed() -> set[str]:
    prefixes = filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))
    return {entry.name for prefix in prefixes for entry in Path(prefix, _INDEX).glob("*")}


def _try(middleware: str) -> tuple[int, str]:
    """Returns the exit code of a process that loads a middleware, ROS's own choice if empty, and what it is called."""
    code = "import rclpy; print(rclpy.get_rmw_implementation_identifier())"
    environment = {**os.environ, MIDDLEWARE_VARIABLE: middleware}
    tried = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    return tried.returncode, tried.stdout.strip()

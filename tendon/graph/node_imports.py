"""Tries whether every node of the graph can be imported: what one lacks shows here, not when the robot is to move."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable

from tendon.graph.arguments import STAND_IN_BACKENDS
from tendon.graph.running.state import STAND_INS

NODES = ("safety_monitor", "control_node", "policy_node", "arm_once")
"""Modules of `tendon.ros2_nodes` that every graph starts, as `describe` has them."""
BACKEND_NODES = dict(zip(STAND_IN_BACKENDS, STAND_INS.items(), strict=True))
"""Those that a backend starts besides."""

DISTRIBUTIONS = {"cv2": "opencv-python-headless", "yaml": "PyYAML", "pinocchio": "pin", "ruamel": "ruamel.yaml"}
"""What pip calls a module, where that is not its name."""

_TRY = """
import importlib, json, sys
failed = {}
for node in sys.argv[1:]:
    try:
        importlib.import_module(f"tendon.ros2_nodes.{node}")
    except Exception as error:
        failed[node] = [f"{type(error).__name__}: {error}", getattr(error, "name", None) or ""]
print("\\n" + json.dumps(failed))
"""
_PATIENCE_S = 120.0


def stand_in(backend: str) -> str:
    """Returns the name of the node that stands in for the robot; empty for a backend with a real one."""
    return BACKEND_NODES.get(backend, ("",))[0]


def import_failures(nodes: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Imports nodes in a process of their own.

    Returns:
        For each node that cannot be imported, the error in words, and the distribution that would mend it as pip calls
        it, empty where that is not known.
    """
    asked = list(nodes)
    command = [sys.executable, "-c", _TRY, *asked]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_PATIENCE_S)
        failed = json.loads(ended.stdout.splitlines()[-1])
    except subprocess.CalledProcessError as error:  # a library that crashes takes the process with it
        last = (error.stderr.strip().splitlines() or [f"exit code {error.returncode}"])[-1]
        failed = {", ".join(asked): [last, ""]}
    except subprocess.TimeoutExpired:
        failed = {", ".join(asked): [f"not imported within {_PATIENCE_S:.0f} s", ""]}
    return {node: (said, DISTRIBUTIONS.get(name, name)) for node, (said, name) in failed.items()}

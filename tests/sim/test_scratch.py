"""Files that a simulator loads from disk go with its process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("simulator", ["pybullet", "mujoco"])
def test_a_simulation_leaves_no_file(tmp_path: Path, simulator: str) -> None:
    """Each left three folders in /tmp."""
    program = (
        "import sys; from pathlib import Path\n"
        "from tendon.evaluation.suites import load_suite; from tendon.robots.profile import load_profile\n"
        "suite, robot = load_suite('tabletop'), load_profile('panda')\n"
        f"world = suite.world(robot, {simulator!r}); world.reset(suite.scene(robot, 100_000))\n"
        "sys.exit(not list(Path(sys.argv[1]).iterdir()))"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, env=environment)
    assert not list(tmp_path.iterdir())

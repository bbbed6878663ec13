"""`colcon build` and `colcon build --symlink-install` work in a workspace of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tendon
from tests.packaging.load_probe import LOAD

NODES = ("safety_monitor", "control_node")

pytest.importorskip("colcon_core", reason="colcon-common-extensions is in the dev extra")


@pytest.mark.parametrize("symlink", [False, True], ids=["copy", "symlink"])
def test_a_colcon_workspace_builds_and_finds_its_robots(
    symlink: bool, checkout: Path, bundles: str, tmp_path: Path
) -> None:
    """After `source install/setup.bash` the package loads from the workspace, `tendon` and the nodes are commands."""
    colcon = [str(Path(sys.executable).with_name("colcon")), "build", "--base-paths", str(checkout)]
    built = subprocess.run(
        [*colcon, *(["--symlink-install"] if symlink else [])], cwd=tmp_path, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stdout + built.stderr

    # A node and the command run with the python3 of the environment they are called in.
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": ""}
    loaded = subprocess.run(
        ["bash", "-c", 'source install/setup.bash && exec "$0" -c "$1"', sys.executable, LOAD],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    package, urdf, found = loaded.stdout.splitlines()
    home = checkout if symlink else tmp_path / "install" / "tendon" / "share" / "tendon"
    assert Path(package).is_relative_to(tmp_path)
    assert urdf == str(home / "robots" / "panda" / "panda.urdf")
    assert found == bundles
    installed = tmp_path / "install" / "tendon"
    for node in NODES:
        command = f"source install/setup.bash && exec install/tendon/lib/tendon/{node} --ros-args -p robto:=ur5e"
        refused = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, env=environment, check=False
        )
        assert "unknown parameter robto; did you mean robot?" in refused.stderr, refused
    assert (installed / "share" / "ament_index" / "resource_index" / "packages" / "tendon").is_file()
    assert (installed / "share" / "tendon" / "package.xml").is_file()
    said = subprocess.run(
        ["bash", "-c", "source install/setup.bash && exec tendon --version"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert said.stdout.startswith(f"tendon {tendon.__version__} (tendon-vla, ")
    assert str(tmp_path if not symlink else checkout) in said.stdout

"""`colcon build` and `colcon build --symlink-install` work in a workspace of their own."""

import subprocess
import sys
from pathlib import Path

import pytest
from load_probe import LOAD

pytest.importorskip("colcon_core", reason="colcon-common-extensions is in the dev extra")


@pytest.mark.parametrize("symlink", [False, True], ids=["copy", "symlink"])
def test_a_colcon_workspace_builds_and_finds_its_robots(
    symlink: bool, checkout: Path, bundles: str, tmp_path: Path
) -> None:
    """After `source install/setup.bash` the package loads from the workspace and `ros2 run` has its executable."""
    colcon = [str(Path(sys.executable).with_name("colcon")), "build", "--base-paths", str(checkout)]
    built = subprocess.run(
        [*colcon, *(["--symlink-install"] if symlink else [])], cwd=tmp_path, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stdout + built.stderr

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
    assert (installed / "lib" / "tendon" / "tendon").is_file()
    assert (installed / "share" / "ament_index" / "resource_index" / "packages" / "tendon").is_file()
    assert (installed / "share" / "tendon" / "package.xml").is_file()

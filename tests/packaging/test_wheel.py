"""A wheel holds the package, the four linked folders and the data files, and nothing else."""

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import tendon
from tests.packaging.load_probe import LOAD

RELEASE = f"tendon_vla-{tendon.__version__}"
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built with the setuptools of this environment: no download."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(checkout)]
    subprocess.run(command, check=True)
    return next(folder.glob("tendon_vla-*.whl"))


def test_nothing_but_tendon_lands_in_site_packages(wheel: Path) -> None:
    """No top-level `sim` or `policies` in anyone's environment; the licence comes along."""
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == {"tendon", f"{RELEASE}.data", f"{RELEASE}.dist-info"}
    assert any(name.startswith(f"{RELEASE}.dist-info/") and name.endswith("LICENSE") for name in names)
    assert not any("tests/" in name or "__pycache__" in name for name in names)


def test_every_file_of_the_package_is_in_the_wheel(wheel: Path, checkout: Path) -> None:
    """Also what is no Python; setup.py's package_data has to name its ending."""
    files = {f"tendon/{path.relative_to(checkout / 'tendon')}" for path in (checkout / "tendon").rglob("*")}
    for link in (path for path in (checkout / "tendon").iterdir() if path.is_symlink()):
        files |= {f"tendon/{link.name}/{path.relative_to(link.resolve())}" for path in link.resolve().rglob("*")}
    files = {name for name in files if (checkout / name).is_file() and "__pycache__" not in name}
    assert files - set(zipfile.ZipFile(wheel).namelist()) == set()


@pytest.mark.parametrize("option", ["--prefix", "--target"])
def test_an_installed_wheel_finds_its_robots_and_bundles(
    option: str, wheel: Path, bundles: str, tmp_path: Path
) -> None:
    """Both ways pip can install away from the environment; the checkout is not on the path."""
    subprocess.run([*PIP, "install", "--no-deps", "--ignore-installed", option, str(tmp_path), str(wheel)], check=True)
    scheme = sysconfig.get_path("purelib", "posix_prefix", {"base": str(tmp_path), "platbase": str(tmp_path)})
    packages = tmp_path if option == "--target" else Path(scheme)
    loaded = subprocess.run(
        [sys.executable, "-c", LOAD],
        cwd=tmp_path,
        env={"PYTHONPATH": str(packages)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert loaded.stdout.splitlines() == [
        str(packages / "tendon" / "__init__.py"),
        str(tmp_path / "share" / "tendon" / "robots" / "panda" / "panda.urdf"),
        bundles,
    ]

"""What packaging tests share: a copy of the checkout to build in, so that nothing is left in the real one."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests import ROOT


@pytest.fixture(scope="session")
def bundles() -> str:
    """The names of the bundles in the checkout, as LOAD prints them."""
    return " ".join(sorted(p.parent.name for p in (ROOT / "bundles").glob("*/bundle.yaml")))


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of every file that git tracks or would track, links kept."""
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout to know which files belong to it")
    folder = tmp_path_factory.mktemp("source") / "tendon"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_symlink() or (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    return folder

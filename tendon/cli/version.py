"""What `tendon --version` says: version, distribution, and where the code is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import tendon
from tendon.core.distribution import DISTRIBUTION


def version_line() -> str:
    """Returns one line; in a checkout it names the commit, and says where files differ from it."""
    folder = Path(tendon.__file__).resolve().parents[1]
    return f"tendon {tendon.__version__} ({', '.join(filter(None, (DISTRIBUTION, _commit(folder), str(folder))))})"


def _commit(folder: Path) -> str:
    if not (folder / ".git").exists():
        return ""
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty=, changed"]
    try:
        return "commit " + subprocess.run(command, capture_output=True, text=True, check=True, timeout=5).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""

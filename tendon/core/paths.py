"""Where the files that are not Python live: `robots/`, `bundles/`, `launch/`."""

from __future__ import annotations

from pathlib import Path

from tendon.core.errors import ConfigError


def share_folder() -> Path:
    """Returns the folder that holds `robots/`.

    That is the checkout for a source tree (also `pip install -e` and `colcon build --symlink-install`), and
    `<prefix>/share/tendon` for everything else. The prefix is found by walking up from this file, so it needs
    no environment variable and works in a virtual environment, `pip install --target` and a colcon install space.

    Raises:
        ConfigError: neither exists, so the installation is incomplete.
    """
    here = Path(__file__).resolve()
    for folder in (here.parents[2], *(parent / "share" / "tendon" for parent in here.parents)):
        if (folder / "robots").is_dir():
            return folder
    raise ConfigError(f"no share/tendon/robots above {here.parent}: install Tendon again, with its data files")


def shipped_robots() -> tuple[str, ...]:
    """Returns the names of the robots that come with Tendon, sorted."""
    return tuple(sorted(file.parent.name for file in (share_folder() / "robots").glob("*/profile.yaml")))

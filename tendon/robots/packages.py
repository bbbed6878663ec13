"""Where the files are that a URDF names: `package://` as ROS, Python packages and example-robot-data have them."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

from tendon.core.errors import ConfigError

SCHEME = "package://"


def resolve(uri: str, near: Path, package_folder: Path | None = None) -> Path:
    """Returns the file that a URDF or a profile names.

    `package://NAME/REST` is looked for where ROS has packages (`AMENT_PREFIX_PATH`, `ROS_PACKAGE_PATH`), in the folders
    above the file that names it, in the installed Python package NAME, and in what comes with example-robot-data.

    Args:
        uri: `package://NAME/REST`, `file://PATH`, or a path that counts from the folder of `near`.
        near: the file that names it.
        package_folder: where packages are looked for first: a folder that holds NAME, or NAME itself.

    Raises:
        ConfigError: there is no such file; the message says where it was looked for.
    """
    if not uri.startswith(SCHEME):
        path = near.parent / uri.removeprefix("file://")
        if not _is_file(path):
            raise ConfigError(f"{near} names {uri}, which does not exist: put it there, or correct the path")
        return path
    name, _, rest = uri.removeprefix(SCHEME).partition("/")
    given = [] if package_folder is None else [package_folder / name, package_folder]
    for folder in (*given, *_folders(name, near)):
        if _is_file(folder / rest):
            return folder / rest
    raise ConfigError(
        f"{near} names {uri}, and no package {name} here has that file: source the workspace that has it (it is looked "
        f"for in AMENT_PREFIX_PATH, ROS_PACKAGE_PATH, the folders above {near.name} and Python's packages)"
    )


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except ValueError:  # a name with a zero byte
        return False


def _folders(name: str, near: Path) -> Iterator[Path]:
    """Yields the folders that a package may be."""
    for prefix in _paths("AMENT_PREFIX_PATH"):
        yield prefix / "share" / name
    for folder in _paths("ROS_PACKAGE_PATH"):
        yield from (folder / name, folder) if folder.name == name else (folder / name,)
    for folder in near.resolve().parents:
        yield from (folder, folder / name) if folder.name == name else (folder / name,)
    for module in (name, "cmeel"):
        found = importlib.util.find_spec(module) if module.isidentifier() else None
        if found is not None and found.origin is not None:
            home = Path(found.origin).parent
            yield home.parent / "cmeel.prefix" / "share" / name if module == "cmeel" else home


def _paths(variable: str) -> list[Path]:
    return [Path(text) for text in os.environ.get(variable, "").split(os.pathsep) if text]

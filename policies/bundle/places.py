"""Where a bundle is looked for: the same for every command, the launch file and the demo, from any folder."""

from __future__ import annotations

from pathlib import Path

from tendon.core.errors import ConfigError
from tendon.core.paths import share_folder
from tendon.policies.bundle.files import MANIFEST_FILE

EXPERT = "expert"
"""In place of a bundle: the scripted expert of the suite, in simulation."""


def find_bundle(policy: str | Path) -> Path:
    """Returns the folder of a bundle.

    Args:
        policy: a path, a path below the folder that Tendon's data files are in (`bundles/tabletop`), or the name of a
            bundle that comes with Tendon (`tabletop`). What is here comes first.

    Raises:
        ConfigError: there is no bundle.
    """
    shipped = share_folder()
    places = [Path(policy).expanduser(), shipped / policy, shipped / "bundles" / policy]
    for place in places:
        if (place / MANIFEST_FILE).is_file() or (place / MANIFEST_FILE).is_symlink():
            return place.resolve()
    known = ", ".join(sorted(file.parent.name for file in (shipped / "bundles").glob(f"*/{MANIFEST_FILE}")))
    tried = " or ".join(dict.fromkeys(map(str, places[:2])))  # one place for an absolute path
    raise ConfigError(f"no policy bundle at {tried}: name its folder, or one that comes with Tendon: {known}")


def find_policy(policy: str | Path) -> Path:
    """Returns the folder of a bundle, or the file that names a policy server (docs/how-to/remote.md).

    Raises:
        ConfigError: there is neither.
    """
    file = Path(policy).expanduser()
    if file.suffix not in (".yaml", ".yml"):
        return find_bundle(policy)
    if not file.is_file():
        raise ConfigError(f"no file {file}: name a file with kind and url of a policy server, or a bundle")
    return file.resolve()


def check_new_folder(source: Path, folder: Path) -> None:
    """Raises ConfigError when what is made of a bundle would be written over it, or over another one."""
    if source.resolve() in (folder.resolve(), *folder.resolve().parents):
        raise ConfigError(f"this would replace the bundle it is made from: name another folder than {folder}")
    if (folder / MANIFEST_FILE).exists():
        raise ConfigError(f"{folder} holds a bundle already: name another folder, or remove that one")

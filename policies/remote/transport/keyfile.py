"""Reads the file that holds the key a policy server asks for."""

from __future__ import annotations

import stat
from pathlib import Path

from tendon.core.errors import ConfigError

LONGEST = 4096


def read_key(path: Path) -> str:
    """Returns the key in a file: one word of printable ASCII, such as `openssl rand -hex 32` makes.

    Raises:
        ConfigError: the file is missing, others may read it, or it holds something else.
    """
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        with path.open("rb") as file:
            data = file.read(LONGEST + 1)
    except OSError as error:
        raise ConfigError(f"no key at {path}: {error.strerror}") from error
    if mode & 0o077:
        raise ConfigError(f"{path} has mode {mode:04o}, others may read it: chmod 600 {path}")
    key = data.decode("latin-1").strip()
    if len(data) > LONGEST or not (key.isascii() and key.isprintable()) or len(key.split()) != 1:
        raise ConfigError(
            f"{path} holds no key: one word of printable characters, such as `openssl rand -hex 32` makes"
        )
    return key

"""Make an Ed25519 key pair to sign bundles with: FILE is private, with mode 0600, and FILE.pub is for others.

Example:
  tendon policy keygen ~/.config/tendon/mine
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(file: Annotated[Path, typer.Argument(metavar="FILE", help="Private key to write.")]) -> int:
    """Writes both keys.

    Raises:
        ConfigError: a file is there already, or cannot be written.
    """
    from tendon.policies.bundle import signature

    mark = signature.generate_keys(file.expanduser())
    print(f"{file}: private key, keep it secret\n{file}.pub: public key, {mark}")
    print(f"to trust it on a robot, copy the public key into {signature.trusted_folder()}/")
    return 0

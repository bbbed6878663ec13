"""Sign a residual, so that robots that trust the key take it.

Example:
  tendon residual sign outputs/residual/seed0 --key ~/.config/tendon/mine
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    residual: Annotated[Path, typer.Argument(metavar="FOLDER", help="Of the residual.")],
    key: Annotated[Path, typer.Option(metavar="FILE", help="Private key, see `tendon policy keygen`.")],
) -> int:
    """Writes the signature.

    Raises:
        TendonError: the residual is refused, or the key cannot be read.
    """
    from tendon.policies.bundle import signature
    from tendon.policies.residual.bundle import load_residual, sign_residual

    folder, key = residual.expanduser(), key.expanduser()
    sign_residual(folder, key)
    digest = load_residual(folder, require_signature=False).manifest.digest
    print(f"{folder}: signed by {signature.fingerprint(signature.public_of(key))}, digest {digest[:12]}")
    return 0

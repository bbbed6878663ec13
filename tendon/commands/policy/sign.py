"""Sign a bundle, so that robots that trust the key take it.

Example:
  tendon policy sign bundles/tabletop --key ~/.config/tendon/mine
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tendon.cli.options import BundleArgument


def command(
    bundle: BundleArgument, key: Annotated[Path, typer.Option(metavar="FILE", help="Private key, see keygen.")]
) -> int:
    """Writes the signature.

    Raises:
        TendonError: the bundle is refused, or the key cannot be read.
    """
    from tendon.policies.bundle import signature
    from tendon.policies.bundle.bundle import sign_bundle
    from tendon.policies.bundle.places import find_bundle

    signed = sign_bundle(find_bundle(bundle), key := key.expanduser())
    print(f"{signed.folder}: signed by {signature.fingerprint(signature.public_of(key))}, digest {signed.digest[:12]}")
    return 0

"""Check signature, hashes and types of every file of a bundle, and show them.

Exit code 0: signed by a trusted key. 1: intact, but without a trusted signature. 2: refused.

Examples:
  tendon policy verify bundles/tabletop
  tendon policy verify bundles/tabletop --key mine.pub
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tendon.cli.options import BundleArgument
from tendon.core.errors import IntegrityError

EXIT_UNTRUSTED = 1


def command(
    bundle: BundleArgument,
    key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Trust this public key, instead of those in ~/.config/tendon/trusted."),
    ] = None,
) -> int:
    """Prints a line a file, and who signed it.

    Raises:
        TendonError: the bundle is refused.
    """
    from rich.console import Console
    from rich.table import Table

    from tendon.policies.bundle import signature
    from tendon.policies.bundle.bundle import CHANGED, load_bundle, parse, read_manifest
    from tendon.policies.bundle.files import read_verified
    from tendon.policies.bundle.places import find_bundle
    from tendon.policies.bundle.signer import read_signer

    folder = find_bundle(bundle)
    trusted = None if key is None else {key.stem: signature.read_public_key(key)}
    raw = read_manifest(folder)
    signer = read_signer(folder, raw, required=key is not None or None, trusted=trusted)
    manifest = parse(folder, raw)
    table = Table(title=f"bundle {manifest.name}", title_justify="left")
    for column in ("", "file", "bytes", "SHA-256"):
        table.add_column(column, overflow="fold", justify="right" if column == "bytes" else "left")
    for name, digest in manifest.files.items():
        try:
            size, verdict = f"{len(read_verified(folder, name, digest, CHANGED)):,}", "[green]ok[/]"
        except IntegrityError:
            size, verdict = "", "[red]refused[/]"
        table.add_row(verdict, name, size, digest)
    Console().print(table)
    loaded = load_bundle(folder, require_signature=False, trusted=trusted)
    print(f"digest     {loaded.digest}")
    print(f"bound to   {manifest.robot}: {', '.join(manifest.made_for) or 'by name only (tendon policy pin)'}")
    if loaded.unlisted:
        print(f"ignored    {', '.join(loaded.unlisted)}: not listed, never opened")
    if signer is None:
        print("signer     none")
    else:
        print(f"signer     {signer.name or 'not trusted'}, {signer.fingerprint}")
    return 0 if signer is not None and signer.trusted else EXIT_UNTRUSTED

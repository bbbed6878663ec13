"""Sign, verify and bind policy bundles.

Examples:
  tendon bundle keygen ~/.config/tendon/mine       a key of your own, and mine.pub to give to others
  tendon bundle pin bundles/tabletop               bind it to the robot: other limits or joints are refused
  tendon bundle sign bundles/tabletop --key ~/.config/tendon/mine
  tendon bundle verify bundles/tabletop            0: trusted, 1: intact but no trusted signature, 2: refused
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tendon.core.errors import IntegrityError
from tendon.core.profile import load_profile

EXIT_UNTRUSTED = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds one subcommand an action."""
    parser.epilog = __doc__.partition("\n\n")[2] if __doc__ else None
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    keygen = actions.add_parser("keygen", help="make an Ed25519 key: FILE (private, mode 0600) and FILE.pub")
    keygen.add_argument("file", type=Path, metavar="FILE")
    pin = actions.add_parser("pin", help="bind a bundle to a robot's joints, limits, kinematics and cameras")
    pin.add_argument("--robot", default="panda", help="robot profile (%(default)s)")
    pin.add_argument("--calibration", type=Path, help="calibration file of the robot, bound too")
    sign = actions.add_parser("sign", help="sign a bundle")
    sign.add_argument("--key", type=Path, required=True, help="private key file")
    verify = actions.add_parser("verify", help="check signature, hashes and types of every file, and show them")
    verify.add_argument("--key", type=Path, help="trust this public key, instead of those in ~/.config/tendon/trusted")
    for action in (pin, sign, verify):
        action.add_argument("bundle", type=Path, metavar="BUNDLE", help="folder of the bundle")


def run(args: argparse.Namespace) -> int:
    """Runs the action and returns the exit code.

    Raises:
        TendonError: what was asked is refused.
    """
    return {"keygen": _keygen, "pin": _pin, "sign": _sign, "verify": _verify}[args.action](args)


def _keygen(args: argparse.Namespace) -> int:
    from tendon.policies import signature

    mark = signature.generate_keys(args.file.expanduser())
    print(f"{args.file}: private key, keep it secret\n{args.file}.pub: public key, {mark}")
    print(f"to trust it on a robot, copy the public key into {signature.trusted_folder()}/")
    return 0


def _pin(args: argparse.Namespace) -> int:
    from tendon.policies.bundle import load_bundle, write_bundle
    from tendon.policies.matching import check_profile, robot_digests

    bundle, profile = load_bundle(args.bundle), load_profile(args.robot)
    digests = robot_digests(profile, args.calibration)
    check_profile(replace(bundle.manifest, made_for={}), profile)
    written = write_bundle(args.bundle, replace(bundle.manifest, made_for=digests), bundle.content)
    print(f"{args.bundle} is bound to {profile.name}: {', '.join(digests)}; digest {written.digest[:12]}")
    if bundle.signer is not None:
        print("its signature was removed, for its content changed: sign it again")
    return 0


def _sign(args: argparse.Namespace) -> int:
    from tendon.policies import signature
    from tendon.policies.bundle import sign_bundle

    bundle = sign_bundle(args.bundle, key := args.key.expanduser())
    print(f"{args.bundle}: signed by {signature.fingerprint(signature.public_of(key))}, digest {bundle.digest[:12]}")
    return 0


def _verify(args: argparse.Namespace) -> int:
    from tendon.policies import signature
    from tendon.policies.bundle import load_bundle, parse, read_manifest, read_signer, read_verified

    trusted = None if args.key is None else {args.key.stem: signature.read_public_key(args.key)}
    raw = read_manifest(args.bundle)
    signer = read_signer(args.bundle, raw, required=args.key is not None or None, trusted=trusted)
    manifest = parse(args.bundle, raw)
    table = Table(title=f"bundle {manifest.name}", title_justify="left")
    for column in ("", "file", "bytes", "SHA-256"):
        table.add_column(column, overflow="fold", justify="right" if column == "bytes" else "left")
    for name, digest in manifest.files.items():
        try:
            size, verdict = f"{len(read_verified(args.bundle, name, digest)):,}", "[green]ok[/]"
        except IntegrityError:
            size, verdict = "", "[red]refused[/]"
        table.add_row(verdict, name, size, digest)
    Console().print(table)
    bundle = load_bundle(args.bundle, require_signature=False, trusted=trusted)
    print(f"digest     {bundle.digest}")
    print(f"bound to   {manifest.robot}: {', '.join(manifest.made_for) or 'by name only (tendon bundle pin)'}")
    if bundle.unlisted:
        print(f"ignored    {', '.join(bundle.unlisted)}: not listed, never opened")
    if signer is None:
        print("signer     none")
    else:
        print(f"signer     {signer.name or 'not trusted'}, {signer.fingerprint}")
    return 0 if signer is not None and signer.trusted else EXIT_UNTRUSTED

"""Sign, verify and bind policy bundles.

Examples:
  tendon bundle keygen ~/.config/tendon/mine       a key of your own, and mine.pub to give to others
  tendon bundle pin bundles/tabletop               bind it to the robot: other limits or joints are refused
  tendon bundle sign bundles/tabletop --key ~/.config/tendon/mine
  tendon bundle steer bundles/tabletop outputs/bundles/steered --name speed --meaning "faster above 0"
      --direction speed.safetensors --lower -2 --upper 2    a copy that is pushed along a direction while it runs
  tendon bundle verify bundles/tabletop            0: trusted, 1: intact but no trusted signature, 2: refused
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tendon.core.errors import ConfigError, IntegrityError, MissingDependencyError
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
    steer = actions.add_parser("steer", help="make a copy with a number to steer it by: added to activations")
    steer.add_argument("--name", required=True, help="of the number; `tendon steer NAME VALUE` sets it")
    steer.add_argument("--meaning", required=True, help="what it does, and its unit")
    steer.add_argument(
        "--direction",
        type=Path,
        required=True,
        metavar="FILE",
        help="safetensors: by name of an activation of the graph, what is added to it for each unit",
    )
    for bound in ("lower", "upper"):
        steer.add_argument(f"--{bound}", type=float, required=True, help=f"{bound} bound of the number")
    steer.add_argument("--default", type=float, default=0.0, help="until somebody sets it (%(default)s)")
    for action in (pin, sign, verify, steer):
        action.add_argument("bundle", type=Path, metavar="BUNDLE", help="folder of the bundle")
    steer.add_argument("out", type=Path, metavar="OUT", help="folder of the copy")


def run(args: argparse.Namespace) -> int:
    """Runs the action and returns the exit code.

    Raises:
        TendonError: what was asked is refused.
    """
    return {"keygen": _keygen, "pin": _pin, "sign": _sign, "steer": _steer, "verify": _verify}[args.action](args)


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


def _steer(args: argparse.Namespace) -> int:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    from tendon.policies.bundle import load_bundle
    from tendon.policies.steering import SteeringInput

    try:
        from tendon.policies.export.steering import BOUND_TO_MODEL, steer_bundle
    except ImportError as error:
        raise MissingDependencyError(f"this needs onnx ({error}): pip install 'tendon[train]'") from error
    try:
        directions = load_file(args.direction)
    except (OSError, SafetensorError) as error:
        raise ConfigError(f"--direction {args.direction} cannot be read: {error}") from error
    bounds = {"lower": args.lower, "upper": args.upper, "default": args.default}
    bundle = load_bundle(args.bundle)
    made = steer_bundle(bundle, args.out, SteeringInput(name=args.name, meaning=args.meaning, **bounds), directions)
    print(f"{args.out}: steered by {args.name} at {', '.join(directions)}; digest {made.digest[:12]}")
    left = [name for name in BOUND_TO_MODEL if name in bundle.content]
    if left or bundle.signer is not None:
        print(f"it is another policy, so it is not signed and has no {', '.join(left)}: calibrate and sign it again")
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

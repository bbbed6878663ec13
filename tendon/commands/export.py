"""Export a training run to a bundle (ONNX, checked against torch, hashed).

Examples:
  tendon export outputs/runs/stage2 bundles/tabletop
  tendon export outputs/runs/stage2 outputs/bundles/tabletop-flow --denoiser --name tabletop-flow
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tendon.core.errors import MissingDependencyError
from tendon.core.profile import load_profile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.epilog = __doc__.partition("\n\n")[2] if __doc__ else None
    parser.add_argument("run_folder", type=Path, metavar="RUN", help="folder written by `tendon train`")
    parser.add_argument("bundle", type=Path, metavar="BUNDLE", help="folder to write")
    parser.add_argument("--name", default="tabletop", help="of the policy (%(default)s)")
    parser.add_argument("--robot", default="panda", help="robot profile (%(default)s)")
    parser.add_argument(
        "--denoiser", action="store_true", help="write two graphs, to in-paint the running plan in place of a prefix"
    )


def run(args: argparse.Namespace) -> int:
    """Exports and says what was written."""
    try:
        from tendon.policies.export.bundle import export_bundle
    except ImportError as error:
        raise MissingDependencyError(f"export needs torch and onnx ({error}): pip install 'tendon[train]'") from error

    bundle = export_bundle(args.run_folder, args.bundle, load_profile(args.robot), args.name, denoiser=args.denoiser)
    size = sum(len(data) for data in bundle.content.values()) / 1e6
    print(f"{args.bundle}: {size:.1f} MB, digest {bundle.digest[:12]}; torch and onnxruntime agree")
    return 0

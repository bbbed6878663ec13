"""Make a bundle smaller or faster: its graphs in half precision or 8 bits, compared with the source, hashed.

Examples:
  tendon variant bundles/mine bundles/mine-fp16 --precision fp16
  tendon record-inputs bundles/tabletop outputs/inputs.safetensors
  tendon variant bundles/tabletop bundles/tabletop-int8 --precision int8 --calibration outputs/inputs.safetensors

fp16 is for GPUs and for size, int8 for CPUs. int8 takes the ranges of activations from recorded inputs, and keeps the
layers in float32 that cost too much precision. bfloat16 needs no variant: engine openvino:bf16 computes it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from tendon.core.errors import ConfigError, MissingDependencyError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.epilog = __doc__.partition("\n\n")[2] if __doc__ else None
    parser.add_argument("bundle", type=Path, metavar="BUNDLE", help="folder of the bundle, in float32")
    parser.add_argument("out", type=Path, metavar="OUT", help="folder to write")
    parser.add_argument("--precision", required=True, help="fp16, int8 or int8-dynamic")
    parser.add_argument("--calibration", type=Path, metavar="FILE", help="recorded inputs, see `tendon record-inputs`")


def run(args: argparse.Namespace) -> int:
    """Makes the variant and says how far it is from its source.

    Raises:
        TendonError: it cannot be made, or is too far from its source.
    """
    try:
        from tendon.policies.export.variant import make_variant
    except ImportError as error:
        raise MissingDependencyError(f"variants need onnx ({error}): pip install 'tendon[train]'") from error
    from tendon.policies.bundle import load_bundle
    from tendon.policies.parity import read_cases

    bundle, console = load_bundle(args.bundle), Console()
    try:
        recorded = read_cases(args.calibration.read_bytes()) if args.calibration else ()
    except OSError as error:
        raise ConfigError(f"--calibration {args.calibration} cannot be read: {error}") from error
    with console.status("starting") as status:
        variant = make_variant(bundle, args.out, args.precision, recorded, status.update)
    before, after = (sum(map(len, each.content.values())) / 1e6 for each in (bundle, variant.bundle))
    print(f"{args.out}: {after:.1f} MB ({args.bundle}: {before:.1f} MB), digest {variant.bundle.digest[:12]}")
    for row in variant.receipt.rows:
        print(
            f"  {row.graph} {row.output}: relative {row.relative:.2g} of {row.bound:g} allowed, "
            f"max abs {row.max_abs:.2g}, cosine {row.cosine:.6f}, {row.inferences} inferences"
        )
    for name, products in variant.kept.items():
        if products:
            print(f"  {name}: {len(products)} products stay in float32")
    if "detector.yaml" in bundle.content:
        print("its failure detector was calibrated on the source: run `tendon calibrate-detector` on the variant")
    return 0

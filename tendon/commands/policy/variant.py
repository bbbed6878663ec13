"""Make a bundle smaller or faster: its graphs in half precision or 8 bits, or fewer steps of its denoiser.

Examples:
  tendon policy variant bundles/mine bundles/mine-fp16 --precision fp16
  tendon data record-inputs bundles/tabletop outputs/inputs.safetensors
  tendon policy variant bundles/tabletop bundles/tabletop-int8 --precision int8 --calibration outputs/inputs.safetensors
  tendon policy variant bundles/diffusion bundles/diffusion-ddim --steps 10

fp16 is for GPUs and for size, int8 for CPUs. int8 takes the ranges of activations from recorded inputs, and keeps the
layers in float32 that cost too much precision. bfloat16 needs no variant: engine openvino:bf16 computes it.

--steps makes DDIM of a diffusion, at even distances, and longer Euler steps of a flow: compare success with `tendon
eval`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tendon.cli.options import BundleArgument
from tendon.core.distribution import pip_install
from tendon.core.errors import ConfigError, MissingDependencyError

if TYPE_CHECKING:
    from tendon.policies.bundle.bundle import Bundle


def command(
    bundle: BundleArgument,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to write.")],
    precision: Annotated[str, typer.Option(metavar="PRECISION", help="fp16, int8 or int8-dynamic.")] = "",
    calibration: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Recorded inputs, see `tendon data record-inputs`.")
    ] = None,
    steps: Annotated[int | None, typer.Option(metavar="K", help="Of the denoiser, instead of a precision.")] = None,
) -> int:
    """Makes the variant and says how far it is from its source.

    Raises:
        TendonError: it cannot be made, or is too far from its source.
    """
    if bool(precision) == (steps is not None):
        raise ConfigError("say either --precision or --steps: each makes a variant of its own")
    from tendon.policies.bundle.bundle import load_bundle
    from tendon.policies.bundle.places import find_bundle
    from tendon.policies.export.convert.fewer_steps import with_steps
    from tendon.policies.progress.estimator import ESTIMATOR_FILE

    source = load_bundle(find_bundle(bundle))
    if steps is None:
        made = _in_precision(source, out, precision, calibration)
    else:
        made = with_steps(source, out, steps)
        print(f"{out}: {steps} steps, digest {made.digest[:12]}")
    if "detector.yaml" in made.content:
        print(
            "its failure detector was calibrated on the source: run `tendon policy calibrate-detector` on the variant"
        )
    if ESTIMATOR_FILE in source.content and ESTIMATOR_FILE not in made.content:
        print(
            "it has no progress estimator, as that was of the source: run `tendon policy train-progress` on the variant"
        )
    return 0


def _in_precision(source: Bundle, out: Path, precision: str, calibration: Path | None) -> Bundle:
    try:
        from tendon.policies.export.convert.variant import make_variant
    except ImportError as error:
        raise MissingDependencyError(f"variants need onnx ({error}): {pip_install('train')}") from error
    from rich.console import Console

    from tendon.policies.parity.graph import read_cases

    console = Console()
    try:
        fix = "make it with `tendon data record-inputs`"
        recorded = read_cases(calibration.read_bytes(), f"--calibration {calibration}", fix) if calibration else ()
    except OSError as error:
        raise ConfigError(f"--calibration {calibration} cannot be read: {error}") from error
    with console.status("starting") as status:
        variant = make_variant(source, out, precision, recorded, status.update)
    before, after = (sum(map(len, each.content.values())) / 1e6 for each in (source, variant.bundle))
    print(f"{out}: {after:.1f} MB (source: {before:.1f} MB), digest {variant.bundle.digest[:12]}")
    for row in variant.receipt.rows:
        print(
            f"  {row.graph} {row.output}: relative {row.relative:.2g} of {row.bound:g} allowed, "
            f"max abs {row.max_abs:.2g}, cosine {row.cosine:.6f}, {row.inferences} inferences"
        )
    for name, products in variant.kept.items():
        if products:
            print(f"  {name}: {len(products)} products stay in float32")
    return variant.bundle

r"""Make a copy of a bundle with a number to steer it by: while it runs, a direction is added to activations.

Example:
  tendon policy add-steering bundles/tabletop outputs/bundles/steered --name speed --meaning "faster above 0" \
    --direction speed.safetensors --lower -2 --upper 2
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tendon.cli.options import BundleArgument
from tendon.core.distribution import pip_install
from tendon.core.errors import ConfigError, MissingDependencyError


def command(
    bundle: BundleArgument,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder of the copy.")],
    name: Annotated[str, typer.Option(help="Of the number; `tendon policy steer NAME VALUE` sets it.")],
    meaning: Annotated[str, typer.Option(help="What it does, and its unit.")],
    direction: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="safetensors: by name of an activation of the graph, what is added to it for each unit.",
        ),
    ],
    lower: Annotated[float, typer.Option(help="Lower bound of the number.")],
    upper: Annotated[float, typer.Option(help="Upper bound of the number.")],
    default: Annotated[float, typer.Option(help="Until somebody sets it.")] = 0.0,
) -> int:
    """Writes the copy.

    Raises:
        TendonError: the bundle or a value is refused, or onnx is missing.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    from tendon.policies.bundle.bundle import load_bundle
    from tendon.policies.bundle.places import find_bundle
    from tendon.policies.spec.steering import SteeringInput

    try:
        from tendon.policies.export.convert.steering import BOUND_TO_MODEL, steer_bundle
    except ImportError as error:
        raise MissingDependencyError(f"this needs onnx ({error}): {pip_install('train')}") from error
    source = load_bundle(find_bundle(bundle))
    try:
        directions = load_file(direction)
    except (OSError, SafetensorError) as error:
        raise ConfigError(f"--direction {direction} cannot be read: {error}") from error
    bounds = {"lower": lower, "upper": upper, "default": default}
    made = steer_bundle(source, out, SteeringInput(name=name, meaning=meaning, **bounds), directions)
    print(f"{out}: steered by {name} at {', '.join(directions)}; digest {made.digest[:12]}")
    left = [name for name in BOUND_TO_MODEL if name in source.content]
    if left or source.signer is not None:
        print(f"it is another policy, so it is not signed and has no {', '.join(left)}: calibrate and sign it again")
    return 0

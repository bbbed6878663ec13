"""Export a training run to a bundle (ONNX, compared with torch, hashed).

The bundle keeps a receipt, parity.yaml, and the inferences it was measured over, as `tendon policy import` leaves them.

Examples:
  tendon policy export outputs/runs/stage2 bundles/tabletop
  tendon policy export outputs/runs/stage2 outputs/bundles/tabletop-flow --denoiser --name tabletop-flow
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tendon.cli.options import RobotOption
from tendon.core.distribution import pip_install
from tendon.core.errors import MissingDependencyError
from tendon.robots.profile import load_profile


def command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder written by `tendon policy train`.")],
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="Folder to write.")],
    name: Annotated[str, typer.Option(help="Of the policy.")] = "tabletop",
    robot: RobotOption = "panda",
    denoiser: Annotated[
        bool, typer.Option("--denoiser", help="Write two graphs, to in-paint the running plan in place of a prefix.")
    ] = False,
) -> int:
    """Exports, and prints how the bundle repeats its parity.

    Raises:
        TendonError: see `export_bundle`.
    """
    try:
        from tendon.policies.export.bundle import export_bundle
        from tendon.policies.export.progress import Stages
    except ImportError as error:
        raise MissingDependencyError(f"export needs torch and onnx ({error}): {pip_install('train')}") from error

    from rich.console import Console

    from tendon.commands.policy.check import show

    profile, console = load_profile(robot), Console()
    with Stages(console) as stages:
        made, repetition = export_bundle(run, bundle, profile, name, denoiser=denoiser, report=stages)
    show(console, name, repetition)
    size = sum(len(data) for data in made.content.values()) / 1e6
    print(f"{bundle}: {size:.1f} MB, digest {made.digest[:12]}")
    return 0

r"""Import a policy from LeRobot: a pretrained folder becomes a bundle whose graphs answer what LeRobot answers.

DIR is the folder with config.json and model.safetensors. The bundle keeps a receipt, parity.yaml, and the inferences it
was measured over: `tendon policy check` repeats it on the robot's machine, where neither LeRobot nor torch is needed.

Examples:
  tendon policy import pretrained_model bundles/mine --robot panda --rate 20 --camera top=scene --camera wrist=wrist
  tendon policy import pretrained_model bundles/mine --robot so101 --rate 30 --camera front=front \
    --unit deg --gripper percent:100
  # compare over recorded observations too:
  tendon policy import pretrained_model bundles/mine --robot panda --camera top=scene --recorded data/mine
  # any other order, unit or space, see docs/reference/spaces.md:
  tendon policy import pretrained_model bundles/mine --robot panda --rate 20 --camera top=scene --spaces spaces.yaml
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tendon.cli.options import RobotOption
from tendon.cli.outputs import require_folder
from tendon.core.errors import ConfigError, MissingDependencyError
from tendon.robots.profile import load_profile


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="LeRobot's `pretrained_model` folder.")],
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="Folder to write.")],
    robot: RobotOption,
    camera: Annotated[
        list[str],
        typer.Option(
            metavar="KEY=CAMERA",
            help="The policy's image, such as observation.images.top or top, and the robot's camera; for each image.",
        ),
    ],
    rate: Annotated[float | None, typer.Option(metavar="HZ", help="Rows a second, by default the data set's.")] = None,
    recorded: Annotated[
        Path | None, typer.Option(metavar="DATASET", help="LeRobot data set (v3.0) to compare over too.")
    ] = None,
    unit: Annotated[
        str | None, typer.Option(help="Of the joints in state and action: rad, deg, signed_percent, ... (rad and m).")
    ] = None,
    gripper: Annotated[
        str | None, typer.Option(metavar="UNIT:OPEN", help="Of the gripper, and the number that means open.")
    ] = None,
    spaces: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What state and action are, instead of these two.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Of the policy, by default the bundle's folder.")] = None,
) -> int:
    """Imports, and prints how the bundle repeats its parity.

    Raises:
        TendonError: see `import_policy`; or an option is wrong.
    """
    if spaces is not None and (unit or gripper):
        raise ConfigError("--spaces says all: leave out --unit and --gripper")
    try:
        from tendon.policies.export.lerobot.bundle import Importing, import_policy
        from tendon.policies.export.lerobot.recorded import recorded_rate
        from tendon.policies.export.progress import Stages
        from tendon.policies.export.spaces_file import joint_spaces, read_spaces
    except ImportError as error:
        raise MissingDependencyError(f"import needs torch and LeRobot ({error}): make setup-lerobot") from error
    from rich.console import Console

    from tendon.commands.policy.check import show

    profile = load_profile(robot)
    require_folder(bundle.parent, "BUNDLE in")
    how = Importing(
        name=name or bundle.resolve().name,
        cameras=_cameras(camera),
        spaces=read_spaces(spaces) if spaces else joint_spaces(profile, unit, _gripper(gripper)),
        rate_hz=_rate(rate if rate is not None or recorded is None else recorded_rate(recorded)),
        recorded=recorded,
    )
    console = Console()
    with Stages(console) as stages:
        made, repetition = import_policy(folder, bundle, profile, how, stages, stages.note)
    show(console, how.name, repetition)
    size = sum(len(data) for data in made.content.values()) / 1e6
    print(f"{bundle}: {size:.1f} MB, digest {made.digest[:12]}; next: tendon policy check {bundle}")
    return 0


def _cameras(texts: list[str]) -> dict[str, str]:
    cameras: dict[str, str] = {}
    for text in texts:
        key, equals, camera = text.partition("=")
        if not (key and equals and camera) or key in cameras:
            raise ConfigError(f"--camera {text}: must be KEY=CAMERA, each key once, such as top=scene")
        cameras[key] = camera
    return cameras


def _gripper(text: str | None) -> tuple[str, float] | None:
    if text is None:
        return None
    unit, _, opened = text.partition(":")
    try:
        return unit, float(opened)
    except ValueError as error:
        raise ConfigError(f"--gripper {text}: must be UNIT:OPEN, such as percent:100") from error


def _rate(rate_hz: float | None) -> float:
    if rate_hz is None:
        raise ConfigError("--rate HZ is missing: a policy's folder does not say how fast its rows follow each other")
    if not 0.1 <= rate_hz <= 1000.0:
        raise ConfigError(f"--rate is {rate_hz}, must be from 0.1 to 1000 Hz")
    return rate_hz

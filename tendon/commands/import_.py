"""Import a policy from LeRobot: a pretrained folder becomes a bundle whose graphs answer what LeRobot answers.

DIR is the folder with config.json and model.safetensors. The bundle keeps a receipt, parity.yaml, and the inferences it
was measured over: `tendon check` repeats it on the robot's machine, where neither LeRobot nor torch is needed.

Examples:
  tendon import DIR bundles/mine --robot panda --rate 20 --camera top=scene --camera wrist=wrist
  tendon import DIR bundles/mine --robot so101 --rate 30 --camera front=front --unit deg --gripper percent:100
  tendon import DIR bundles/mine ... --recorded ~/data/mine     compare over recorded observations too
  tendon import DIR bundles/mine ... --spaces spaces.yaml       any other order, unit or space, see docs/spaces.md
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from rich.console import Console

from tendon.core.errors import ConfigError, MissingDependencyError
from tendon.core.profile import load_profile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.epilog = __doc__.partition("\n\n")[2] if __doc__ else None
    parser.add_argument("folder", type=Path, metavar="DIR", help="LeRobot's `pretrained_model` folder")
    parser.add_argument("bundle", type=Path, metavar="BUNDLE", help="folder to write")
    parser.add_argument("--robot", required=True, help="robot profile")
    parser.add_argument(
        "--camera",
        action="append",
        required=True,
        metavar="KEY=CAMERA",
        help="the policy's image, such as observation.images.top or top, and the robot's camera; one for each image",
    )
    parser.add_argument("--rate", type=float, metavar="HZ", help="rows a second, by default the data set's")
    parser.add_argument("--recorded", type=Path, metavar="DATASET", help="LeRobot data set (v3.0) to compare over too")
    parser.add_argument("--unit", help="of the joints in state and action: rad, deg, signed_percent, ... (rad and m)")
    parser.add_argument("--gripper", metavar="UNIT:OPEN", help="of the gripper, and the number that means open")
    parser.add_argument("--spaces", type=Path, metavar="FILE", help="what state and action are, instead of these two")
    parser.add_argument("--name", help="of the policy, by default the bundle's folder")


def run(args: argparse.Namespace) -> int:
    """Imports, and prints how the bundle repeats its parity.

    Raises:
        TendonError: see `import_policy`; or an option is wrong.
    """
    if args.spaces is not None and (args.unit or args.gripper):
        raise ConfigError("--spaces says all: leave out --unit and --gripper")
    if args.rate is None and args.recorded is None:
        raise ConfigError("--rate HZ is missing: a policy's folder does not say how fast its rows follow each other")
    try:
        from tendon.policies.export.lerobot_bundle import Importing, import_policy
        from tendon.policies.export.recorded import recorded_rate
        from tendon.policies.export.spaces_file import joint_spaces, read_spaces
    except ImportError as error:
        raise MissingDependencyError(f"import needs torch and LeRobot ({error}): make setup-lerobot") from error
    from tendon.commands.check import show
    from tendon.evaluation.machine import machine, versions

    profile = load_profile(args.robot)
    how = Importing(
        name=args.name or args.bundle.resolve().name,
        cameras=_cameras(args.camera),
        spaces=read_spaces(args.spaces) if args.spaces else joint_spaces(profile, args.unit, _gripper(args.gripper)),
        rate_hz=_rate(recorded_rate(args.recorded) if args.rate is None else args.rate),
        recorded=args.recorded,
        machine={**machine(), "versions": versions()},
    )
    console, begin_s = Console(), time.monotonic()
    with console.status("") as status:

        def report(step: str) -> None:
            console.print(f"{time.monotonic() - begin_s:6.1f} s  {step}", highlight=False, soft_wrap=True)
            status.update(step)

        bundle, repetition = import_policy(args.folder, args.bundle, profile, how, report)
    show(console, how.name, repetition)
    size = sum(len(data) for data in bundle.content.values()) / 1e6
    print(f"{args.bundle}: {size:.1f} MB, digest {bundle.digest[:12]}; next: tendon check {args.bundle}")
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


def _rate(rate_hz: float) -> float:
    if not 0.1 <= rate_hz <= 1000.0:
        raise ConfigError(f"--rate is {rate_hz}, must be from 0.1 to 1000 Hz")
    return rate_hz

"""Options and arguments that several commands share, and what completes them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tendon.core.checks import check_count
from tendon.core.errors import ConfigError

MAX_DELAY_MS = 10_000.0
"""As of a suite."""


def robot_names() -> list[str]:
    """Returns the profiles that come with Tendon."""
    from tendon.core.paths import shipped_robots

    return list(shipped_robots())


def bundle_names() -> list[str]:
    """Returns the bundles that come with Tendon, as paths that every command finds."""
    from tendon.core.paths import share_folder

    return [f"bundles/{file.parent.name}" for file in sorted((share_folder() / "bundles").glob("*/bundle.yaml"))]


def environment_names() -> list[str]:
    """Returns the environments that come with Tendon."""
    from tendon.core.paths import share_folder

    return [file.stem for file in sorted((share_folder() / "environments").glob("*.yaml"))]


def complete_environment(incomplete: str) -> list[str]:
    """Returns the environments that begin so."""
    return [name for name in environment_names() if name.startswith(incomplete)]


def complete_robot(incomplete: str) -> list[str]:
    """Returns the profiles that begin so."""
    return [name for name in robot_names() if name.startswith(incomplete)]


def check_delay(delay_ms: float) -> None:
    """Checks an inference delay.

    Raises:
        ConfigError: no inference takes so long.
    """
    if not 0.0 <= delay_ms <= MAX_DELAY_MS:
        raise ConfigError(f"--delay-ms is {delay_ms:g}, must be 0 to {MAX_DELAY_MS:g}")


def complete_engine(incomplete: str) -> list[str]:
    """Returns the engines that begin so."""
    from tendon.policies.engines.engine import ENGINES

    return [name for name in ENGINES if name.startswith(incomplete)]


BundleArgument = Annotated[
    str, typer.Argument(metavar="BUNDLE", help="Folder of the bundle, or the name of one that comes with Tendon.")
]
RobotArgument = Annotated[
    str,
    typer.Argument(
        metavar="ROBOT", help="Name of a robot, its folder, or its profile.yaml.", autocompletion=complete_robot
    ),
]
RobotOption = Annotated[
    str, typer.Option(metavar="ROBOT", help="Robot profile: a name or a file.", autocompletion=complete_robot)
]
BundleRobotOption = Annotated[
    str | None,
    typer.Option(
        metavar="ROBOT", help="Robot profile: a name or a file; by default the bundle's.", autocompletion=complete_robot
    ),
]
EngineOption = Annotated[
    str | None,
    typer.Option(
        metavar="ENGINE", help="Such as cpu, cuda, tensorrt:fp16; by default the best.", autocompletion=complete_engine
    ),
]
EnginesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="cpu, cuda, tensorrt:fp16, openvino:bf16, ...; may be repeated.",
        autocompletion=complete_engine,
    ),
]
WorkersOption = Annotated[int, typer.Option(min=1, help="Processes.")]
PackageDirOption = Annotated[Path | None, typer.Option(metavar="FOLDER", help="What package:// stands for.")]
PictureOption = Annotated[Path | None, typer.Option(metavar="FILE", help="A .png to write.")]
EnvironmentOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="File in environments/, or path of a .yaml, around the robot.",
        autocompletion=complete_environment,
    ),
]
MOST_THREADS = 256
"""Of one inference; an engine starts as many as it is told, and thousands bring any machine to a halt."""


def check_threads(threads: int) -> None:
    """Checks an option `--threads`.

    Raises:
        ConfigError: it is out of bounds.
    """
    check_count("--threads", threads, most=MOST_THREADS)

"""Keep what a policy is fed in simulation, for `tendon policy variant --calibration`.

Example:
  tendon data record-inputs bundles/tabletop outputs/inputs.safetensors --seeds 100000:100012
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tendon.cli.options import BundleArgument, RobotOption
from tendon.cli.outputs import require_file, writing
from tendon.cli.seeds import parse_seeds
from tendon.core.errors import ConfigError
from tendon.core.files import replace_file

if TYPE_CHECKING:
    from tendon.policies.parity.graph import Case

FIRST_SEED, END_SEED = 100_000, 200_000


def command(
    bundle: BundleArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="safetensors file to write.")],
    seeds: Annotated[
        str, typer.Option(metavar="FIRST:END", help="Scenes of 100000-199999, never reported ones.")
    ] = "100000:100012",
    each: Annotated[int, typer.Option(help="Most inferences of an episode.")] = 12,
    robot: RobotOption = "panda",
) -> int:
    """Runs the episodes and writes the file."""
    from rich.progress import track

    from tendon.evaluation.recorded_inputs import record_inputs
    from tendon.policies.bundle.places import find_bundle
    from tendon.policies.parity.graph import write_cases

    scenes = parse_seeds(seeds, FIRST_SEED, END_SEED)
    if each < 1:
        raise ConfigError(f"--each is {each}, must be at least 1")
    require_file(file, "FILE", ".safetensors")
    if file.exists():
        raise ConfigError(f"FILE {file} is there already: name another file")
    episodes = record_inputs(find_bundle(bundle), robot, scenes, each)
    cases: list[Case] = []
    good = 0
    for episode, recorded in track(episodes, "record", total=len(scenes)):
        cases.extend(recorded)
        good += episode.success
    with writing(file):
        replace_file(file, write_cases(cases))
    print(f"{file}: {len(cases)} inferences of {len(scenes)} episodes, {good} of them successful")
    return 0

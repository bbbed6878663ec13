"""Keep what a policy is fed in simulation, for `tendon variant --calibration`.

Example:
  tendon record-inputs bundles/tabletop outputs/inputs.safetensors --seeds 100000:100012
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rich.progress import track

from tendon.commands.demos import parse_seeds
from tendon.core.errors import ConfigError

if TYPE_CHECKING:
    from tendon.policies.parity import Case

FIRST_SEED, END_SEED = 100_000, 200_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.epilog = __doc__.partition("\n\n")[2] if __doc__ else None
    parser.add_argument("bundle", type=Path, metavar="BUNDLE", help="folder of the policy")
    parser.add_argument("file", type=Path, metavar="FILE", help="safetensors file to write")
    parser.add_argument(
        "--seeds", default="100000:100012", help="scenes FIRST:END of 100000-199999, never reported ones (%(default)s)"
    )
    parser.add_argument("--each", type=int, default=12, help="most inferences of an episode (%(default)s)")
    parser.add_argument("--robot", default="panda", help="robot profile (%(default)s)")


def run(args: argparse.Namespace) -> int:
    """Runs the episodes and writes the file."""
    from tendon.evaluation.recorded_inputs import record_inputs
    from tendon.policies.parity import write_cases

    seeds = parse_seeds(args.seeds, FIRST_SEED, END_SEED)
    if args.each < 1:
        raise ConfigError(f"--each is {args.each}, must be at least 1")
    episodes = record_inputs(args.bundle, args.robot, seeds, args.each)
    cases: list[Case] = []
    good = 0
    for episode, recorded in track(episodes, "record", total=len(seeds)):
        cases.extend(recorded)
        good += episode.success
    args.file.parent.mkdir(parents=True, exist_ok=True)
    args.file.write_bytes(write_cases(cases))
    print(f"{args.file}: {len(cases)} inferences of {len(seeds)} episodes, {good} of them successful")
    return 0

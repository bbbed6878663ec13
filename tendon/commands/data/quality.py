"""Show how good the demonstrations of a dataset are, as one HTML file, and pick the better ones.

With --curate a share of the episodes of each instruction is copied to --keep: those without a fault that differ least,
and for the worse, from the others. Instructions with fewer than 8 episodes are taken together. The page says for each
of the rest why it was left out. A policy that is to be finetuned on them knows something of the task: with --policy
its disagreement counts, and what fits other instructions better than its own is left out.

Examples:
  tendon data quality outputs/datasets/mine
  tendon data quality outputs/datasets/mine --curate 0.5 --keep outputs/datasets/better
  tendon data quality outputs/datasets/mine --policy bundles/tabletop --curate 0.5 --keep outputs/datasets/better
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tendon.cli.options import BundleRobotOption
from tendon.core.errors import ConfigError

if TYPE_CHECKING:
    from tendon.data.lerobot.reader import LeRobotDataset
    from tendon.data.quality.agreement import Agreement


def command(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="LeRobot dataset, v3.0.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page.")] = Path("outputs/quality.html"),
    curate: Annotated[float, typer.Option(help="Share of each instruction's episodes to keep; 1 keeps all.")] = 1.0,
    keep: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Dataset of the better ones to write.")] = None,
    policy: Annotated[
        str | None, typer.Option(metavar="BUNDLE", help="What it would do counts, too: the one that will be finetuned.")
    ] = None,
    robot: BundleRobotOption = None,
) -> int:
    """Writes the page.

    Raises:
        ConfigError: an option is wrong, or there is a dataset at --keep.
        InvalidDataError: it is no dataset, or cannot be read.
        MismatchError: the policy is of another robot.
        MissingDependencyError: the extras `data` and `sim` are not installed.
    """
    from tendon.cli.outputs import require_file, require_ours, write_whole
    from tendon.data.packages import require_data

    require_data()
    if not 0.0 < curate <= 1.0:
        raise ConfigError(f"--curate is {curate:g}, must be above 0 and at most 1")
    if keep is not None and curate == 1.0:
        raise ConfigError("--keep needs --curate, the share that is kept")
    from tendon.data.lerobot.edit import copy_episodes, require_new
    from tendon.data.quality.report import GENERATOR

    require_file(out, suffix=".html")
    require_ours(out, "--out", GENERATOR.encode())
    if keep is not None:
        require_new(keep)
    from dataclasses import replace

    from rich.progress import track

    from tendon.data.lerobot.reader import LeRobotDataset
    from tendon.data.quality.curation import curate as pick
    from tendon.data.quality.measures import compare, measure
    from tendon.data.quality.report import write_report

    given = LeRobotDataset(dataset)
    if not len(given):
        raise ConfigError(f"{dataset} has no episode")
    asked = None if policy is None else _agreement(given, policy, robot)
    measured = [measure(given, number) for number in track(range(len(given)), "measure")]
    beside = compare([rows for _, rows in measured], [each.task for each, _ in measured])
    episodes = [replace(each, divergence=a, diversity=b) for (each, _), (a, b) in zip(measured, beside, strict=True)]
    if asked is not None:
        told = [asked.of(number) for number in track(range(len(given)), "ask the policy")]
        episodes = [replace(each, disagreement=a, otherwise=b) for each, (a, b) in zip(episodes, told, strict=True)]
    verdicts = pick(episodes, curate) if curate < 1.0 else []
    write_whole(out, write_report(str(dataset), episodes, verdicts, given.shape.joints))
    print(f"{out}: {len(episodes)} episodes")
    for verdict in verdicts:
        if not verdict.kept:
            print(f"  episode {verdict.number} is left out: {verdict.why} (score {verdict.score:.2f})")
    if keep is not None:
        count = copy_episodes(((given, each.number) for each in verdicts if each.kept), keep)
        print(f"{keep}: {count} of {len(given)} episodes")
    return 0


def _agreement(dataset: LeRobotDataset, policy: str, robot: str | None) -> Agreement:
    from tendon.data.quality.agreement import Agreement
    from tendon.policies.bundle.bundle import load_bundle
    from tendon.policies.bundle.places import find_bundle
    from tendon.policies.inference.policy import BundlePolicy
    from tendon.robots.profile import load_profile

    bundle = load_bundle(find_bundle(policy))
    profile = load_profile(robot or bundle.manifest.robot)
    return Agreement(dataset, BundlePolicy(bundle, profile), profile.joint_names)

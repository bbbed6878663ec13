"""Train a progress estimator on demonstrations, and put it into the bundle: how much of a task is done.

The policy looks at each frame; a small network learns from what it makes of it how much of the demonstration is over.
From then on each inference tells it: the picture of `tendon run` shows it behind the task, evaluations write it beside
the outcome, and `tendon residual train --reward progress` learns from it where nothing tells success. Failures are left
out.

Examples:
  tendon policy train-progress outputs/mine --data outputs/datasets/mine
  tendon policy train-progress outputs/mine --data outputs/recordings --data outputs/datasets/more --dry-run

It changes bundle.yaml, so a signature does not hold any more: sign the bundle again. Residuals stay bound to it.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from tendon.cli.options import BundleArgument, RobotOption
from tendon.cli.outputs import require_folder
from tendon.cli.progress import CountingBar
from tendon.core.distribution import pip_install
from tendon.core.errors import InstructionError, MismatchError, MissingDependencyError


def command(
    bundle: BundleArgument,
    data: Annotated[list[Path], typer.Option(metavar="PLACE", help="LeRobot dataset v3.0, or recordings; many times.")],
    robot: RobotOption = "panda",
    seed: Annotated[int, typer.Option(min=0, help="Of weights and of which episodes are held back.")] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Leave the bundle as it is.")] = False,
) -> int:
    """Looks, trains, writes, and says how far off it is.

    Raises:
        ConfigError: there are too few episodes, or a place is none.
        MismatchError: data are of another robot, or the policy tells no embedding.
        MissingDependencyError: torch, or the extra `data`, is not installed.
    """
    from tendon.policies.bundle.bundle import load_bundle, write_bundle
    from tendon.policies.bundle.places import find_bundle
    from tendon.robots.profile import load_profile

    source, profile = load_bundle(find_bundle(bundle)), load_profile(robot)
    if not dry_run:
        require_folder(source.folder, "bundle")
    try:
        from tendon.policies.training.progress import Looked, look, train_estimator
    except ImportError as error:
        raise MissingDependencyError(f"training needs torch ({error}): {pip_install('train')}") from error
    from tendon.data.episodes import open_episodes
    from tendon.policies.inference.policy import BundlePolicy
    from tendon.policies.progress.estimator import ESTIMATOR_FILE, ESTIMATOR_GRAPH, estimator_files, without_estimator
    from tendon.policies.training.recorded import check_episodes

    policy = BundlePolicy(without_estimator(source), profile.uncalibrated)  # episodes have joints as they are
    if not policy.feature_sizes()[0]:
        raise MismatchError(f"bundle {source.manifest.name} tells no embedding, which is what an estimator reads")
    places = [open_episodes(place, profile) for place in data]
    for place in places:
        check_episodes(place, source.manifest)
        for line in place.left_out:
            print(f"left out: {line}")
    looked, left_out = dict[bytes, Looked](), Counter[str]()
    with CountingBar("look", sum(map(len, places))) as bar:
        for place in places:
            for number in range(len(place)):
                try:
                    found = look(policy, place, number)
                    reason = "the robot never moves"
                except InstructionError as error:
                    found, reason = [], str(error)
                if not found:
                    left_out[reason] += 1
                for part in found:
                    if looked.setdefault(part.content, part) is not part:
                        left_out["the same as another"] += 1  # it would be held back from itself
                bar.advance(1, f"{sum(len(each.seen) for each in looked.values())} frames")
    for reason, count in left_out.items():
        print(f"left out: {count} episodes: {reason}")
    trained = train_estimator(list(looked.values()), seed)
    told = f"off by {trained.error:.3f} in the mean, rank correlation {trained.rank:.2f}, on episodes held back"
    print(f"{trained.episodes} episodes: {told}")
    if dry_run:
        return 0
    learned = {"episodes": trained.episodes, "error": round(trained.error, 4), "rank": round(trained.rank, 4)}
    files = estimator_files(source, trained.graph, trained.seen, learned)
    written = write_bundle(source.folder, source.manifest, {**source.content, **files})
    print(f"{source.folder}: {ESTIMATOR_FILE} and {ESTIMATOR_GRAPH} written, digest {written.digest[:12]}")
    if source.signer is not None:
        print("its signature was removed: sign it again with `tendon policy sign`")
    return 0

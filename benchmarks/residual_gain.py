"""What a residual gains: the same unseen scenes with its policy alone, with it, and with residuals that know nothing.

Controls are a residual of zeros, a network of random weights at full authority, and offsets that are drawn anew now and
then (what training tries before it has learned anything). An outcome is kept in FOLDER, so a cut run goes on; a
residual that is trained on is another one, by its hash.

Examples:
  python benchmarks/residual_gain.py outputs/residual/seed0 --folder outputs/residual/gain
  python benchmarks/residual_gain.py outputs/residual/seed0 outputs/residual/seed1 --suite tabletop --controls
  python benchmarks/residual_gain.py bundles/residuals/tabletop --used --claim residual/used --controls
  python benchmarks/residual_gain.py WORK/residual/seed0 --claim residual/imported --bundle WORK/act \
    --robot WORK/robot/profile.yaml --suite WORK/drawer_arm.yaml --seeds 200000:200180
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import harness
import numpy as np
from harness.kept import kept_rows
from harness.second_tasks import drawn_switch
from residual import random_graph

from tendon.cli.seeds import parse_seeds
from tendon.control.residual.space import ResidualSpace
from tendon.core.json_lines import open_json_lines
from tendon.evaluation.evaluate import END_SEED, FIRST_SEED
from tendon.evaluation.paired import compare
from tendon.evaluation.pool import Job, run_jobs
from tendon.evaluation.residual_rollouts import Asked, Exploration, Player, Task, usual_setting
from tendon.evaluation.suite_file import is_suite_file, suite_digest
from tendon.evaluation.suites import load_suite
from tendon.evaluation.workers import run_in_processes
from tendon.policies.bundle.bundle import Bundle, load_bundle
from tendon.policies.bundle.places import find_bundle
from tendon.policies.inference.identity import policy_digest
from tendon.policies.residual.bundle import load_residual, write_residual
from tendon.robots.profile import load_profile

CLAIMS = ("residual/fresh", "residual/used", "residual/imported")
BASE = "policy alone"
CONTROLS = ("zeros", "random network", "random offsets")

Outcomes = Iterator[tuple[int, bool]]
"""Of scenes by seed: whether each was done."""


@dataclass(frozen=True, kw_only=True)
class Scenes:
    """What is measured on: a suite of a robot, a policy, and whether it has second tasks, see `usual_switch`."""

    bundle: Bundle
    robot: str
    suite: str
    workers: int
    used: bool = False

    @property
    def named(self) -> str:
        """The suite, without the folder of its file."""
        return Path(self.suite).stem if is_suite_file(self.suite) else self.suite

    @property
    def place(self) -> Path:
        """Where outcomes are kept: a suite of a file is known by what is in it."""
        digest = suite_digest(self.suite)
        name = "-".join(filter(None, (self.named, digest, "used" if self.used else "")))
        return Path(name) / policy_digest(self.bundle.manifest)[:12]

    def alone(self, seeds: list[int]) -> Outcomes:
        """Runs the policy."""
        return self.corrected(None, seeds)

    def corrected(self, residual: Path | None, seeds: list[int]) -> Outcomes:
        """Runs it with a residual."""
        setting = usual_setting(self.suite)
        jobs = [
            Job(
                bundle=self.bundle.folder,
                robot=self.robot,
                seed=seed,
                setting=replace(setting, switch=drawn_switch(seed, self.used)),
                suite=self.suite,
                residual=residual,
            )
            for seed in seeds
        ]
        for job, episode in run_jobs(jobs, self.workers):
            yield job.seed, episode.success

    def offset(self, space: ResidualSpace, seeds: list[int]) -> Outcomes:
        """Runs it with offsets that stay for a few steps each."""
        task = Task(bundle=self.bundle.folder, robot=self.robot, suites=(self.suite,), space=space, switches=self.used)
        asked = [Asked(seed=seed, exploration=Exploration(plain=0.0)) for seed in seeds]
        for episode in run_in_processes(Player(task), asked, self.workers):
            yield episode.seed, episode.success

    def untaught(self, folder: Path, space: ResidualSpace, weights: float) -> Path:
        """Writes a residual of random weights, so many times those of an adversary, and returns its folder."""
        folder.mkdir(parents=True, exist_ok=True)
        write_residual(
            folder,
            random_graph(space, np.random.default_rng(0), weights),
            profile=load_profile(self.robot),
            space=space,
            base=self.bundle.manifest.name,
            base_digest=policy_digest(self.bundle.manifest),
            training={"made_by": "benchmarks/residual_gain.py"},
        )
        return folder


def kept(path: Path, seeds: list[int], run: Callable[[list[int]], Outcomes], what: str, about: str = "") -> list[bool]:
    """Returns the outcomes of scenes, running those that a file does not have yet.

    Raises:
        SystemExit: the file is of something else than `what` and `about` say, or of another commit.
    """
    known = {int(row["seed"]): bool(row["success"]) for row in kept_rows(path, what=what, about=about)}
    left = [seed for seed in seeds if seed not in known]
    with open_json_lines(path) as file, harness.progress_bar() as bar:
        shown = bar.add_task(what, total=len(left))
        for seed, success in run(left) if left else ():
            known[seed] = success
            file.write(json.dumps({"seed": seed, "success": success}) + "\n")
            file.flush()
            bar.advance(shown)
    return [known[seed] for seed in seeds]


def main() -> None:
    """Runs what is missing and prints how they compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("residuals", nargs="+", type=Path, help="folders of `tendon residual train`")
    parser.add_argument("--bundle", default="tabletop", help="their policy (%(default)s)")
    parser.add_argument("--robot", default="panda", help="profile (%(default)s)")
    parser.add_argument("--suite", default="tabletop_hard", help="(%(default)s)")
    parser.add_argument("--seeds", default="200000:200300", help="(%(default)s)")
    parser.add_argument(
        "--used", action="store_true", help="two thirds of the episodes have a second task, which counts"
    )
    parser.add_argument("--controls", nargs="*", choices=CONTROLS, default=CONTROLS, help="(all)")
    parser.add_argument("--folder", type=Path, default=Path("outputs/residual/gain"), help="(%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    parser.add_argument("--claim", choices=CLAIMS, default=CLAIMS[0], help="table of the rows (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, args.claim)
    seeds = list(parse_seeds(args.seeds, FIRST_SEED, END_SEED))
    bundle = load_bundle(find_bundle(args.bundle))
    scenes = Scenes(bundle=bundle, robot=args.robot, suite=args.suite, workers=args.workers, used=args.used)
    trained = {str(path): load_residual(path) for path in args.residuals}
    if len({Path(name).name for name in trained}) < len(trained):
        raise SystemExit(f"{' and '.join(trained)}: rows bear the names of folders, so each needs its own")
    space = next(iter(trained.values())).manifest.space
    base_folder = args.folder / scenes.place
    harder = load_suite(args.suite).difficulty.perturbations if is_suite_file(args.suite) else {}
    told = ", second tasks" if args.used else ""
    note = "".join([f"scenes {args.seeds}{told}", *(f", {name} {strength:g}" for name, strength in harder.items())])

    ways: dict[str, tuple[str, Callable[[list[int]], Outcomes]]] = {BASE: ("alone", scenes.alone)}
    for control, weights in (("zeros", 0.0), ("random network", 1.0)):
        if control in args.controls:
            made = scenes.untaught(base_folder / control.replace(" ", "-"), space, weights)
            ways[control] = (control, partial(scenes.corrected, made))
    if "random offsets" in args.controls:
        ways["random offsets"] = ("offsets", partial(scenes.offset, space))
    for name, residual in trained.items():
        ways[f"residual {Path(name).name}"] = (
            residual.manifest.digest[:12],
            partial(scenes.corrected, residual.folder),
        )

    base: list[bool] = []
    for name, (key, run) in ways.items():
        about = str(space) if name in CONTROLS else ""
        found = kept(base_folder / f"{key.replace(' ', '-')}.jsonl", seeds, run, name, about)
        base = base or found
        together = compare(base, found)
        values: dict[str, harness.Value] = {"success": together.second}
        if name != BASE:
            change = together.change
            values |= {
                "change, points": harness.Number(
                    100 * change.difference, lower=100 * change.lower, upper=100 * change.upper
                ),
                "done only alone, only so": f"{change.first}, {change.second}",
                "p (McNemar)": harness.Number(together.p_value),
            }
        print(f"{scenes.named}, {name}: {together.second}, {together.change}, p {together.p_value:.2g}")
        bench.add({"suite": scenes.named, "what": name}, values, note=note)


if __name__ == "__main__":
    main()

"""Records what a policy and its residual do together, as demonstrations for the policy alone.

Every scene is run as an evaluation runs it: executor, filter, simulator, the suite's perturbations and delay, the
residual at full authority. WORK/set is a LeRobot dataset of those that succeeded, WORK/tried.jsonl says what came of
each scene. The scenes are of training, and neither the shipped policy nor the shipped residual was made with them. A
cut run goes on, and a longer one begins with the same episodes.

A frame is what the policy sees and where the robot says that its joints are; its action is where they were commanded to
be when the next frame was seen, as in every dataset of Tendon. Where zeros are off, all of it is in the numbers of that
arm: where it says that its tool closed is where it has to be led, and 2 cm beside what the camera on the table sees.

Examples:
  python recipes/distil_record.py outputs/distil
  python recipes/distil_record.py outputs/mine --residual outputs/residual/seed0 --scenes 1800 --workers 8
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from tendon.cli.progress import CountingBar
from tendon.core.errors import ConfigError
from tendon.core.json_lines import json_lines_so_far
from tendon.core.types import Array, Observation
from tendon.data.lerobot.layout import Camera, Shape
from tendon.data.lerobot.writer import DatasetWriter, Frame
from tendon.evaluation.pool import Job, OpenTools
from tendon.evaluation.residual_rollouts import usual_setting
from tendon.evaluation.workers import run_in_processes
from tendon.policies.bundle.places import find_bundle
from tendon.policies.residual.bundle import load_residual
from tendon.robots.profile import RobotProfile, load_profile

TURNS = ("tabletop_hard", "tabletop_hard", "tabletop")
"""Suites by turns: the one that there is something to learn in more often, the other so that nothing is lost there."""
FIRST_SEEDS = {"tabletop_hard": 84_000, "tabletop": 86_000}
"""The residual met scenes below 3000; what the policy was made with is in its bundle.yaml. Consecutive seeds go round
the families of tasks, so each suite has all of them."""
FPS = 10
"""As far apart as the rows of the policy's chunks."""
FRAME_NS, AFTER_NS = 1_000_000_000 // FPS, 600_000_000
"""Between two frames; and for how long more it is watched when the task is done, so that it learns to leave."""
OPEN = OpenTools()
"""Of this process: a worker keeps its worlds from one scene to the next, and takes them with it when it ends."""


class Watched:
    """An episode in progress of which frames are taken.

    Args:
        job: which one.
    """

    def __init__(self, job: Job) -> None:
        self._tools, self._profile = OPEN.of(job), load_profile(job.robot)
        self._rng = np.random.default_rng([job.seed, 41])
        self.rollout = self._tools.begin(job.seed, job.setting)
        self._seen, self._executed = list[Observation](), list[Array]()
        self._due_ns = 0
        self._moves_ns: int | None = None

    @property
    def time_ns(self) -> int:
        """In the simulator."""
        return self._tools.world.time_ns

    def tick(self) -> None:
        """Advances it by a control period."""
        now_ns = self.time_ns
        due = self.rollout.settled and now_ns >= self._due_ns
        if due:
            self._seen.append(self._tools.look(self.rollout.scene.instruction, self._rng))
            self._due_ns = (self._due_ns or now_ns) + FRAME_NS
        tick = self.rollout.tick()
        if due:
            self._executed.append(tick.reference)
        if self._moves_ns is None and tick.target is not None:
            self._moves_ns = now_ns

    def frames(self) -> list[Frame]:
        """Returns those from the policy's first chunk on, as an armed robot waits for a while before it takes one.

        Of the last one nobody knows yet what comes after it.
        """
        zeros = self._profile.zeros
        return [
            Frame(
                stamp_ns=seen.stamp_ns,
                state=seen.joint_position - zeros,
                velocity=seen.joint_velocity,
                action=executed - zeros,
                images={name: image.pixels for name, image in seen.images.items()},
                task=seen.instruction,
            )
            for seen, executed in zip(self._seen, self._executed[1:], strict=False)
            if self._moves_ns is not None and seen.stamp_ns >= self._moves_ns
        ]


def demonstrate(job: Job) -> tuple[Job, list[Frame]]:
    """Runs a scene; returns its frames, none where it failed or what was done did not last."""
    watched = Watched(job)
    while not watched.rollout.over:
        watched.tick()
    if not watched.rollout.success:
        return job, []
    end_ns = watched.time_ns + AFTER_NS
    while watched.time_ns < end_ns:
        watched.tick()
    return job, watched.frames() if watched.rollout.success else []


def jobs(bundle: Path, residual: Path, robot: str, count: int) -> list[Job]:
    """Returns what so many scenes are; more scenes begin with the same."""
    seeds = {suite: itertools.count(first) for suite, first in FIRST_SEEDS.items()}
    settings = {suite: usual_setting(suite) for suite in FIRST_SEEDS}
    return [
        Job(
            bundle=bundle,
            robot=robot,
            seed=next(seeds[suite]),
            setting=settings[suite],
            suite=suite,
            residual=residual,
        )
        for suite in itertools.islice(itertools.cycle(TURNS), count)
    ]


def in_order(wanted: Sequence[Job], workers: int) -> Iterator[tuple[Job, list[Frame]]]:
    """Yields scenes with their frames in their order, whichever worker is done first."""
    waiting, left = dict[Job, list[Frame]](), iter(wanted)
    following = next(left, None)
    for job, frames in run_in_processes(demonstrate, wanted, workers):
        waiting[job] = frames
        while following in waiting:
            yield following, waiting.pop(following)
            following = next(left, None)


def so_far(log: Path, kept: int, residual: str) -> list[dict[str, object]]:
    """Returns the rows of scenes that were tried, up to the last one that the dataset has.

    Args:
        log: of the rows; what comes after is taken away.
        kept: episodes of the dataset.
        residual: digest of the one that is tried.

    Raises:
        ConfigError: they were tried with another one, or episodes of the dataset are not in the log.
    """
    rows = json_lines_so_far(log)
    if rows and rows[0]["residual"] != residual:
        raise ConfigError(f"{log} is of residual {rows[0]['residual'][:12]}, not {residual[:12]}: take another folder")
    done = list(itertools.accumulate(bool(row["frames"]) for row in rows))
    if kept > (done[-1] if done else 0):
        raise ConfigError(f"{log} lacks some of the {kept} episodes of the dataset beside it: take another folder")
    rows = [row for row, successes in zip(rows, done, strict=True) if successes <= kept]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return rows


def shape_of(profile: RobotProfile) -> Shape:
    """Returns what the dataset is like. Pictures are kept without loss: the policy is to see what it saw."""
    cameras = tuple(Camera(name=each.name, width=each.width, height=each.height) for each in profile.cameras)
    return Shape(robot=profile.name, fps=FPS, joints=profile.joint_names, cameras=cameras, codec="png")


def main() -> None:
    """Tries the scenes that are missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, help="folder")
    parser.add_argument("--bundle", default="tabletop", help="policy (%(default)s)")
    parser.add_argument("--residual", type=Path, default=Path("bundles/residuals/tabletop"), help="(%(default)s)")
    parser.add_argument("--robot", default="panda", help="profile (%(default)s)")
    parser.add_argument("--scenes", type=int, default=900, help="that are tried (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    args = parser.parse_args()
    residual = load_residual(args.residual).manifest.digest
    wanted = jobs(find_bundle(args.bundle), args.residual, args.robot, args.scenes)
    args.work.mkdir(parents=True, exist_ok=True)
    log = args.work / "tried.jsonl"
    with DatasetWriter(args.work / "set", shape_of(load_profile(args.robot))) as dataset:
        rows = so_far(log, dataset.episodes, residual)
        with CountingBar("scenes", args.scenes) as bar, log.open("a", encoding="utf-8") as file:
            bar.advance(len(rows), f"{dataset.episodes} succeeded")
            for job, frames in in_order(wanted[len(rows) :], args.workers):
                row = {"suite": job.suite, "seed": job.seed, "frames": len(frames), "residual": residual}
                file.write(json.dumps(row) + "\n")
                file.flush()
                if frames:
                    appender = dataset.begin()
                    for frame in frames:
                        appender.add(frame)
                    appender.finish(source=f"{job.suite} seed-{job.seed}", outcome="success")
                bar.advance(1, f"{dataset.episodes} succeeded")


if __name__ == "__main__":
    main()

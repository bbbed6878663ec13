"""Makes a dataset half of which is bad: what `tendon data quality --curate` has to find out without being told.

The scripted expert does `pick` and `put_in` in scenes of training, as people do, not quite steadily. In the bad half it
does something else than the instruction says, trembles, stands still twice, or drops what it carries and leaves.
WORK/set is a LeRobot dataset, WORK/kinds.jsonl says what each episode is; nothing in the dataset does. A cut run goes
on.

Examples:
  python recipes/curation_record.py outputs/curation --episodes 96
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from tendon.cli.progress import CountingBar
from tendon.core.json_lines import json_lines_so_far
from tendon.core.types import Array
from tendon.data.lerobot.layout import Camera, Shape
from tendon.data.lerobot.writer import DatasetWriter, Frame
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import load_profile
from tendon.sim.demonstrations import STEP_S
from tendon.sim.tabletop.env import TabletopEnv
from tendon.sim.tabletop.expert.decide import OPEN
from tendon.sim.tabletop.expert.pilot import ExpertPilot
from tendon.sim.tabletop.phrases import phrase
from tendon.sim.tabletop.scene import Scene
from tendon.sim.tabletop.tasks import feasible_tasks

FAMILIES = ("pick", "put_in")
BAD = ("other task", "jerky", "idle", "dropped")
FIRST_SEED = 82_000
"""Scenes of training that the shipped policy was not made with."""
STEPS, AFTER = 80, 6
"""Longest, and how many more when the task is done. Who trembles may never get there."""
UNSTEADY_M, TREMBLE_M = 0.001, 0.015
PAUSES, PAUSE_STEPS = 2, 15
CARRIED_M = 0.05
"""How high something is when it is dropped."""


class Person:
    """The expert with the flaws of one kind.

    Args:
        env: in which scenes are loaded.
        kind: "good", or one of `BAD`.
        rng: of all that is random.
    """

    def __init__(self, env: TabletopEnv, kind: str, rng: np.random.Generator) -> None:
        self._env, self._kind, self._rng = env, kind, rng
        profile = env.backend.world.profile
        gripper = profile.grippers[0]
        self._pilot = ExpertPilot(profile)
        self._kinematics = Kinematics(profile, gripper.frame, gripper.group)
        self._finger, self._open = profile.joint_names.index(gripper.joint), gripper.position(OPEN)
        self._offset = np.zeros(3)
        self._pauses = set[int]()
        if kind == "idle":
            for begin in rng.choice(np.arange(3, 30), PAUSES, replace=False):
                self._pauses |= set(range(begin, begin + PAUSE_STEPS))
        self._dropped: Array | None = None

    def row(self, step: int, last: Array) -> Array:
        """Returns the joint target of a step after the last one."""
        world = self._env.backend.world
        if step in self._pauses:
            return last
        if self._dropped is not None:
            return self._pilot.aim(self._dropped, OPEN, last)
        row = self._pilot.row(world, last)
        tool, _ = self._kinematics.tool_pose(row)
        target = world.scene.task.target
        lifted = world.held() == target and world.item_position(target)[2] > CARRIED_M
        if self._kind == "dropped" and lifted:
            self._dropped = tool + np.array([0.0, 0.0, 0.05])
        self._offset = 0.8 * self._offset + self._rng.normal(0.0, UNSTEADY_M, 3)
        shaken = self._rng.normal(0.0, TREMBLE_M, 3) if self._kind == "jerky" else 0.0
        changed = self._pilot.aim(tool + self._offset + shaken, 0.0, last)
        changed[self._finger] = row[self._finger]
        return changed

    def is_done(self) -> bool:
        """Returns whether the episode may end: the task is done, or what was carried lies somewhere."""
        world = self._env.backend.world
        return self._dropped is not None or world.scene.task.success(world)


def another(scene: Scene, rng: np.random.Generator) -> Scene:
    """Returns a scene in which something else is to be done to another thing, if there is one."""
    positions = {i: np.array(item.position) for i, item in enumerate(scene.items)}
    possible = feasible_tasks(scene.items, scene.layout, positions, 0.0)
    others = [task for task in possible if task.target != scene.task.target and task.family in FAMILIES]
    if not others:
        return scene
    task = others[int(rng.integers(len(others)))]
    return replace(scene, task=task, instruction=phrase(scene.items, task, rng))


def demonstrate(env: TabletopEnv, seed: int, kind: str) -> list[Frame] | None:
    """Returns the frames of an episode; `None` where it did not come out as it should."""
    rng = np.random.default_rng([seed, 23])
    seen, _ = env.reset(seed=seed)
    world = env.backend.world
    said = world.scene.instruction
    if kind == "other task":
        other = another(world.scene, rng)
        if other is world.scene:
            return None
        world.ask(other)
    person, frames, after = Person(env, kind, rng), list[Frame](), 0
    target = seen["joint_position"]
    for step in range(STEPS):
        stamp_ns, before = world.time_ns, seen
        target = person.row(step, target)
        seen, _, _, _, info = env.step(target)
        frames.append(
            Frame(
                stamp_ns=stamp_ns,
                state=before["joint_position"],
                velocity=before["joint_velocity"],
                action=info["executed"],
                images={camera.name: before[f"image_{camera.name}"] for camera in world.profile.cameras},
                task=said,
            )
        )
        after = after + 1 if person.is_done() else 0
        if after > AFTER:
            return frames
    return frames if kind == "jerky" else None


def kinds(count: int) -> Iterator[tuple[str, str]]:
    """Yields kind and family of each of so many episodes: each kind as often, in both families."""
    for k in range(count):
        kind = "good" if k % 2 == 0 else BAD[k // 2 % len(BAD)]
        yield kind, FAMILIES[k // (2 * len(BAD)) % len(FAMILIES)]


def main() -> None:
    """Appends what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, help="folder")
    parser.add_argument("--episodes", type=int, default=96, help="(%(default)s)")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    profile = load_profile("panda")
    cameras = tuple(Camera(name=each.name, width=each.width, height=each.height) for each in profile.cameras)
    shape = Shape(robot=profile.name, fps=round(1 / STEP_S), joints=profile.joint_names, cameras=cameras)
    dataset, log = DatasetWriter(args.work / "set", shape), args.work / "kinds.jsonl"
    rows = json_lines_so_far(log)[: dataset.episodes]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    seed = rows[-1]["seed"] + 1 if rows else FIRST_SEED
    with CountingBar("demonstrations", args.episodes) as bar, log.open("a") as file:
        bar.advance(len(rows), "")
        for kind, family in list(kinds(args.episodes))[len(rows) :]:
            frames = None
            while frames is None:
                env = TabletopEnv(family=family)
                frames = demonstrate(env, seed, kind)
                env.close()
                seed += 1
            appender = dataset.begin()
            for frame in frames:
                appender.add(frame)
            file.write(json.dumps({"episode": dataset.episodes, "seed": seed - 1, "kind": kind}) + "\n")
            file.flush()
            appender.finish(source=f"seed-{seed - 1}")
            bar.advance(1, f"{kind}, {len(frames)} frames")


if __name__ == "__main__":
    main()

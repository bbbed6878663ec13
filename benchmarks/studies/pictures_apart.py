"""What a change of simulator costs the shipped policy: its contacts, or its pictures.

Two by two: physics of one simulator, pictures of the same or of the other. The other one steps no physics: joints,
things and drawer are put where they are before each picture, as the camera process of the graph does. The same scenes
in all four; they are for reporting, nothing was trained or tuned on them.

Examples:
  python benchmarks/studies/pictures_apart.py
  python benchmarks/studies/pictures_apart.py --seeds 100000:100012 --busy --rows /tmp/rows
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # benchmarks

import harness
import numpy as np
import numpy.typing as npt
from harness.paired import paired
from rich.progress import track

from tendon.cli.seeds import parse_seeds
from tendon.evaluation.episode import Setting
from tendon.evaluation.evaluate import END_SEED, FIRST_SEED
from tendon.evaluation.pool import Job, run_jobs
from tendon.evaluation.statistics import wilson
from tendon.policies.bundle.places import find_bundle
from tendon.robots.profile import RobotProfile
from tendon.sim.simulators import AUTO, SIMULATORS
from tendon.sim.tabletop.layout import FAMILIES
from tendon.sim.tabletop.scene import Scene
from tendon.sim.tabletop.suite import ANY_SEED, TABLETOP, scene_of
from tendon.sim.tabletop.world import World

CELLS, EFFECTS = "simulation/apart", "simulation/effects"


class DrawnElsewhere(World):
    """A tabletop that another simulator draws.

    Args:
        scene: what stands there.
        profile: the robot.
        simulator: of the physics.
        drawn_in: of the pictures.
    """

    def __init__(self, scene: Scene, profile: RobotProfile, simulator: str, drawn_in: str) -> None:
        self._drawn = World(scene, profile, drawn_in)
        super().__init__(scene, profile, simulator)

    def reset(self, scene: Scene) -> None:
        """See `World`; of both."""
        super().reset(scene)
        self._drawn.reset(scene)

    def render(self, camera: str, width: int | None = None, height: int | None = None) -> npt.NDArray[np.uint8]:
        """See `World`; by the other one."""
        self._drawn.set_state(self.state())
        return self._drawn.render(camera, width, height)

    def close(self) -> None:
        """Frees both."""
        super().close()
        self._drawn.close()


def open_drawn(profile: RobotProfile, simulator: str = AUTO, gui: bool = False, *, drawn_in: str) -> DrawnElsewhere:
    """Returns a world of the tabletop with pictures of a simulator."""
    return DrawnElsewhere(scene_of(profile, ANY_SEED), profile, simulator, drawn_in)


pybullet, mujoco = (replace(TABLETOP, world=partial(open_drawn, drawn_in=name)) for name in SIMULATORS)
"""The tabletop with pictures of each simulator: suites that worker processes find by name."""


def cell(bench: harness.Bench, physics: str, pictures: str, bundle: Path, seeds: range, workers: int) -> list[bool]:
    """Returns what is done with physics of one simulator and pictures of one, by scene."""
    suite = f"{Path(__file__).stem}:{pictures}"
    jobs = [
        Job(bundle=bundle, robot="panda", seed=seed, setting=Setting(), suite=suite, simulator=physics)
        for seed in seeds
    ]
    case = {"physics": SIMULATORS[physics], "pictures": SIMULATORS[pictures]}
    runs = track(run_jobs(jobs, workers), ", ".join(f"{key} {value}" for key, value in case.items()), total=len(jobs))
    episodes = sorted((episode for _, episode in runs), key=lambda episode: episode.seed)
    rate = wilson(sum(episode.success for episode in episodes), len(episodes))
    failed = Counter(episode.family for episode in episodes if not episode.success)
    note = "failed: " + (", ".join(f"{failed[name]} {name}" for name in FAMILIES if failed[name]) or "none")
    print(f"{case}: {rate}; {note}", flush=True)
    bench.add(case, {"success": rate}, claim=CELLS, note=note)
    return [episode.success for episode in episodes]


def main() -> None:
    """Prints the four cells, and what a change of each costs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="200000:200240", help="scenes (%(default)s)")
    parser.add_argument("--bundle", default="bundles/tabletop", help="(%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    harness.add_arguments(parser)
    options = parser.parse_args()
    bench = harness.begin(options, CELLS, EFFECTS)
    seeds, bundle = parse_seeds(options.seeds, FIRST_SEED, END_SEED), find_bundle(options.bundle)
    done = {
        (physics, pictures): cell(bench, physics, pictures, bundle, seeds, options.workers)
        for physics in SIMULATORS
        for pictures in SIMULATORS
    }
    own, other = SIMULATORS  # the policy was trained in the first
    for kept, name in SIMULATORS.items():
        effects = {
            f"pictures, physics of {name}": ((kept, own), (kept, other)),
            f"physics, pictures of {name}": ((own, kept), (other, kept)),
        }
        for what, (before, after) in effects.items():
            values = paired(done[before], done[after], "change of success")
            print(f"{what}: {values}")
            bench.add({f"{SIMULATORS[other]} in place of {SIMULATORS[own]}": what}, values, claim=EFFECTS)


if __name__ == "__main__":
    main()

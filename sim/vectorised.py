"""Several worlds of one suite in one process, stepped together: joint states and pictures as stacked arrays."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tendon.core.errors import ConfigError
from tendon.core.types import Array, freeze
from tendon.robots.profile import RobotProfile
from tendon.sim.simulators import AUTO, STEPS_IN_THREADS, choose
from tendon.sim.suite import Suite, World


@dataclass(frozen=True, kw_only=True, eq=False)
class Sight:
    """What N robots measure and see at one time.

    Attributes:
        joint_position: (N, n) in the profile's order [rad or m].
        joint_velocity: (N, n) [rad/s or m/s].
        images: (N, height, width, 3) uint8 RGB by the camera's name.
    """

    joint_position: Array
    joint_velocity: Array
    images: Mapping[str, npt.NDArray[np.uint8]]


class Worlds:
    """N worlds that do not meet: each does, to the bit, what it would do alone. Used by one thread, the one that draws.

    Nothing resets itself, and nothing shapes a target: the safety filter is the caller's.

    Args:
        suite: whose scenes they have.
        profile: the robot, of n joints.
        simulator: see `tendon.sim.simulators`.
        count: N.
        threads: that step at once, the caller's among them, in a simulator that can (`STEPS_IN_THREADS`); by default
            one for each processor. Elsewhere it has no meaning.

    Attributes:
        worlds: one by one.

    Raises:
        ConfigError: `count` or `threads` is below 1.
        MismatchError: the robot does not fit the suite.
        MissingDependencyError: the simulator is not installed.
    """

    def __init__(
        self,
        suite: Suite,
        profile: RobotProfile,
        simulator: str = AUTO,
        count: int = 1,
        threads: int | None = None,
    ) -> None:
        if count < 1:
            raise ConfigError(f"count is {count}: there must be at least one world")
        if threads is not None and threads < 1:
            raise ConfigError(f"threads is {threads}: the caller's is one")
        if choose(simulator) not in STEPS_IN_THREADS:
            threads = 1
        threads = min(count, threads or len(os.sched_getaffinity(0)))
        self._shares = [range(first, count, threads) for first in range(threads)]
        self._suite, self._profile = suite, profile
        with contextlib.ExitStack() as opened:
            worlds = []
            for _ in range(count):
                worlds.append(suite.world(profile, simulator))
                opened.callback(worlds[-1].close)
            if threads > 1:
                self._helpers = opened.enter_context(ThreadPoolExecutor(threads - 1, "worlds"))
            self._opened = opened.pop_all()
        self.worlds: tuple[World, ...] = tuple(worlds)
        self._period_ns = round(1e9 / profile.control_hz)
        self._due_ns = [world.time_ns for world in self.worlds]

    @property
    def instructions(self) -> tuple[str, ...]:
        """Returns what each world's task is in words."""
        return tuple(world.scene.instruction for world in self.worlds)

    def reset(self, seeds: Mapping[int, int] | Sequence[int], families: Mapping[int, str] | None = None) -> None:
        """Loads the scenes of seeds: robots at rest, time zero.

        Args:
            seeds: one for each world, or for some of them by their number; the others go on.
            families: of the tasks, by the number of the world; where there is none, the seed decides.

        Raises:
            ConfigError: not N seeds, or no such world. No world is reset.
            ValueError: a seed or family that the suite does not have. No world is reset.
        """
        chosen = dict(seeds if isinstance(seeds, Mapping) else enumerate(seeds))
        count, families = len(self.worlds), families or {}
        if unknown := [number for number in (*chosen, *families) if not 0 <= number < count]:
            raise ConfigError(f"there is no world {unknown[0]}: there are {count}, numbered from 0")
        if not isinstance(seeds, Mapping) and len(chosen) < count:
            raise ConfigError(f"{len(chosen)} seeds for {count} worlds: give each one, or a mapping from their numbers")
        scenes = {k: self._suite.scene(self._profile, seed, families.get(k, "")) for k, seed in chosen.items()}
        for number, scene in scenes.items():
            self.worlds[number].reset(scene)
            self._due_ns[number] = 0

    def step(self, targets: npt.ArrayLike, velocities: npt.ArrayLike | None = None) -> None:
        """Advances each world by one control period of the profile, in which its joints track its target.

        Args:
            targets: (N, n) [rad or m].
            velocities: (N, n) of the targets [rad/s or m/s]; by default they stand still.

        Raises:
            InvalidDataError: another shape, or a value that is not finite. No world is stepped.
        """
        shape = (len(self.worlds), len(self._profile.joint_names))
        rows = freeze("targets", targets, shape)
        rates = np.zeros(shape) if velocities is None else freeze("velocities", velocities, shape)
        mine, *others = self._shares
        helped = [self._helpers.submit(self._lead, share, rows, rates) for share in others]
        try:
            self._lead(mine, rows, rates)
        finally:
            wait(helped)
        for share in helped:
            share.result()

    def _lead(self, share: Iterable[int], rows: Array, rates: Array) -> None:
        """Advances some of the worlds."""
        for number in share:
            world = self.worlds[number]
            world.set_target(rows[number], rates[number])
            self._due_ns[number] += self._period_ns
            while world.time_ns < self._due_ns[number]:
                world.step()

    def observe(self, cameras: Sequence[str] = ()) -> Sight:
        """Returns what the robots measure now, and what some of their cameras see.

        Raises:
            ConfigError: the profile has no such camera.
        """
        states = [world.joint_state() for world in self.worlds]
        return Sight(
            joint_position=np.array([position for position, _ in states]),
            joint_velocity=np.array([velocity for _, velocity in states]),
            images={name: np.stack([world.render(name) for world in self.worlds]) for name in cameras},
        )

    def success(self) -> npt.NDArray[np.bool_]:
        """Returns (N,) whether each task is done now; ask ten times a second of simulated time, see `Task.success`."""
        return np.array([world.scene.task.success(world) for world in self.worlds])

    def progress(self) -> Array:
        """Returns (N,) how much of each task is done now, 0 to 1."""
        return np.array([world.scene.task.progress(world) for world in self.worlds])

    def close(self) -> None:
        """Closes all worlds."""
        self._opened.close()

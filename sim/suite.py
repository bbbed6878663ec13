"""What a suite is: scenes, the tasks in them, and a world that a robot acts in. Another suite is another folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from tendon.core.checks import closest
from tendon.core.errors import ConfigError
from tendon.core.fields import Range, check_fields
from tendon.core.protocols import Policy
from tendon.core.types import Array, Observation
from tendon.robots.environment import Environment, load_environment
from tendon.robots.profile import RobotProfile
from tendon.sim.demonstrations import Collector
from tendon.sim.perturbation import NOMINAL, PERTURBATIONS, Perturbation, Together, together
from tendon.sim.simulators import AUTO
from tendon.sim.world_state import WorldState

LIMIT_S = 12.0
"""How long most tasks may take."""


class Task(Protocol):
    """What is asked, and how far it is done."""

    @property
    def family(self) -> str:
        """The kind of task that it is counted with in tables."""

    @property
    def relation(self) -> str:
        """What is asked in a word."""

    @property
    def limit_s(self) -> float:
        """How long it may take; an episode that takes longer failed."""

    def progress(self, world: Any) -> float:
        """Returns how much of it is done now, 0 to 1; 1 exactly when it is done."""

    def success(self, world: Any) -> bool:
        """Returns whether it is done now, in a world of its own suite.

        It is asked ten times a second of simulated time from the reset on, so it may judge what happens on the way.
        """


class Scene(Protocol):
    """What an episode starts from: a frozen value, drawn from one seed, that other processes can be sent."""

    @property
    def seed(self) -> int:
        """Draws the same scene again."""

    @property
    def task(self) -> Task:
        """What is asked."""

    @property
    def instruction(self) -> str:
        """The task in words, as the policy is told it."""


class World(Protocol):
    """A robot and what is around it, in simulated time that passes only in `step`. Used by one thread.

    Joint vectors are (n,) in the profile's order, rad or m.
    """

    @property
    def profile(self) -> RobotProfile:
        """The robot."""

    @property
    def scene(self) -> Any:
        """The scene of the last reset, with the task that is judged."""

    @property
    def time_ns(self) -> int:
        """Simulated time since the reset."""

    @property
    def period_ns(self) -> int:
        """How far time goes in a step."""

    def reset(self, scene: Any) -> None:
        """Replaces everything by a scene of its own suite, the robot at rest, time zero."""

    def joint_state(self) -> tuple[Array, Array]:
        """Returns measured positions and velocities."""

    def set_target(self, position: Array, velocity: Array) -> None:
        """Sets what the joints track from the next step on."""

    def step(self) -> None:
        """Advances time by one period."""

    def render(self, camera: str) -> npt.NDArray[np.uint8]:
        """Returns what a camera of the profile sees now, (height, width, 3) RGB."""

    def state(self) -> Any:
        """Returns everything that moves, as plain numbers that other processes can be sent."""

    def close(self) -> None:
        """Frees the world."""


@runtime_checkable
class TaskSwitching(Protocol):
    """A world in which another task may be asked for in mid-motion."""

    def another_task(self) -> Scene | None:
        """Returns this scene with another task that can be done from here on; `None` when there is none."""

    def ask(self, scene: Any) -> None:
        """Makes the task of a scene, whose things are these, the one that is judged."""

    def held(self) -> int | None:
        """Returns which thing the robot holds, if any."""


@runtime_checkable
class Telling(Protocol):
    """A world that tells what only a simulator knows, for a critic in training."""

    def facts(self) -> Array:
        """Returns (F,) where the things of the task are and what was done already; F is the suite's."""


class SampleScene(Protocol):
    """Draws a scene, see `Suite.scene`."""

    def __call__(self, profile: RobotProfile, seed: int, family: str = "") -> Scene:
        """Returns the scene."""


class OpenWorld(Protocol):
    """Opens a world, see `Suite.world`."""

    def __call__(self, profile: RobotProfile, simulator: str = AUTO, gui: bool = False) -> World:
        """Returns the world."""


class ReadInstruction(Protocol):
    """Understands words, see `Suite.read`."""

    def __call__(self, scene: Any, instruction: str) -> Scene | None:
        """Returns the scene with the task that the words ask for."""


class Expert(Protocol):
    """Does the tasks of a suite from what only a simulator knows. Used by one thread."""

    def plan(self, scene: Any, state: WorldState, joints: Observation, rows: int, step_s: float) -> Array:
        """Returns (rows, n) joint targets, the first due `step_s` after a state.

        Args:
            scene: with the task that is asked.
            state: of the world.
            joints: measured positions and velocities at that time.
            rows: how many.
            step_s: between two of them.
        """


def reads_nothing(scene: Any, instruction: str) -> Scene | None:
    """Returns `None`: a scene has the one task that it was drawn with."""
    return None


@dataclass(frozen=True, kw_only=True)
class Difficulty:
    """What every episode of a suite is made harder by.

    Attributes:
        perturbations: of the suite, by name, with their strengths.
        delay_s: of inference, in simulated time.
        arm: draws the joints' zeros of `joint_zero`, the same in each scene: one arm that was not calibrated. Without
            it each scene has another arm.
    """

    perturbations: Mapping[str, float] = field(default_factory=dict)
    delay_s: Annotated[float, Range(least=0.0, most=10.0, unit="s")] = 0.0
    arm: int | None = None

    def __post_init__(self) -> None:
        check_fields(self, "difficulty")


NOT_HARDER = Difficulty()


def changed_scene(perturbation: Perturbation, scene: Any) -> Any:
    """Returns a scene as a perturbation makes it, always the same for its seed."""
    return perturbation.change(scene, np.random.default_rng([scene.seed % 2**63, 19]))


def drawn_zeros(perturbation: Perturbation, profile: RobotProfile, scene: Any, arm: int | None) -> Array:
    """Returns (n,) how much larger each joint is said to be than it is, under a perturbation, rad or m.

    Args:
        perturbation: of joints' zeros, perhaps.
        profile: the robot.
        scene: of the episode.
        arm: see `Difficulty`.
    """
    drawn = scene.seed % 2**63 if arm is None else arm
    zeros = np.zeros(len(profile.joint_names))
    zeros[profile.group_indices("arm")] = perturbation.joint_zero(profile, np.random.default_rng([drawn, 23]))
    return zeros


@dataclass(frozen=True, kw_only=True)
class Suite:
    """Scenes with tasks, and the world to try them in.

    Attributes:
        families: of its tasks, in the order of tables.
        scene: the scene of a seed for a robot: 0-99 999 are for training, 100 000-199 999 for trying things,
            200 000-299 999 for reported results only. A family narrows the task; without one the seed decides.
        world: opens a world for a robot, in the simulator of a name (`tendon.sim.simulators`) or in the one that it
            likes best; it raises MismatchError for a robot that it cannot have.
        expert: does the tasks with a robot; `None` when nothing does.
        read: returns a scene with the task that an instruction asks for, `None` when it asks for none there.
        collector: makes demonstrations of the expert with a robot, or labels what a learner does; `None` when nothing
            does.
        perturbations: that make its tasks harder, where they are asked for.
        difficulty: what they are made harder by in any case.
        zeros: (n,) how much larger each joint of a robot is said to be than it is in a scene, rad or m, whatever its
            calibration has found; `None` takes the calibration for the truth.
        environment: what stands around the robot in every scene, for the safety filter: a file in `environments/` or a
            path of one; `None` is nothing.
    """

    families: tuple[str, ...]
    scene: SampleScene
    world: OpenWorld
    read: ReadInstruction = reads_nothing
    expert: Callable[[RobotProfile], Expert] | None = None
    collector: Callable[[RobotProfile, Policy | None], Collector] | None = None
    perturbations: tuple[Perturbation, ...] = PERTURBATIONS
    difficulty: Difficulty = NOT_HARDER
    zeros: Callable[[RobotProfile, Any], Array] | None = None
    environment: str | None = None

    def load_environment(self) -> Environment | None:
        """Returns what stands around the robot."""
        return None if self.environment is None else load_environment(self.environment)

    def only(self, families: tuple[str, ...]) -> Suite:
        """Returns it with scenes of these families alone, which go round with the seed.

        A seed whose scene was of that family already has the same scene.

        Raises:
            ConfigError: it has no such family, or none was named.
        """
        for family in families:
            if family not in self.families:
                raise ConfigError(f"family is {family!r}{closest(family, self.families)}")
        if not families:
            raise ConfigError(f"no family was named, the suite has: {', '.join(self.families)}")
        plain = self.scene

        def scene(profile: RobotProfile, seed: int, family: str = "") -> Any:
            return plain(profile, seed, family or families[seed % len(families)])

        return replace(self, families=families, scene=scene)

    def harder(self, strengths: Mapping[str, float]) -> Perturbation:
        """Returns the perturbations of its difficulty and others, as one; a strength given here counts.

        Raises:
            ConfigError: there is none of a name, or no such strength.
        """
        return together(self.perturbations, {**self.difficulty.perturbations, **strengths})

    def for_graph(self) -> Suite:
        """Returns it with its difficulty in its scenes and its robot's zeros, as nodes know no perturbations.

        The delay is not in it: a graph has its own.

        Raises:
            ConfigError: it is made harder by what is neither in a scene nor in zeros, such as bad pictures.
        """
        perturbation = self.harder({})
        if perturbation is NOMINAL:
            return self
        for part in perturbation.parts if isinstance(perturbation, Together) else (perturbation,):
            kind = type(part)
            if kind.observe is not Perturbation.observe or kind.disturb is not Perturbation.disturb:
                raise ConfigError(
                    f"the suite is made harder by {part.name}, which a graph has not: `tendon eval run` has"
                )
        plain, arm = self.scene, self.difficulty.arm

        def scene(profile: RobotProfile, seed: int, family: str = "") -> Any:
            return changed_scene(perturbation, plain(profile, seed, family))

        def zeros(profile: RobotProfile, scene: Any) -> Array:
            return profile.zeros + drawn_zeros(perturbation, profile, scene, arm)

        return replace(self, scene=scene, zeros=zeros, difficulty=NOT_HARDER)

"""A suite of its own, for any robot: the arm stands alone, and the task is to turn its first joint to an angle."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tendon.core.pace import USUAL
from tendon.core.types import ActionChunk, Observation
from tendon.robots.profile import RobotProfile
from tendon.sim.engine_world import EngineWorld
from tendon.sim.robot_body import robot_body
from tendon.sim.simulators import AUTO, open_engine
from tendon.sim.suite import LIMIT_S, Suite

NEAR_RAD, STILL_RAD_S = 0.02, 0.02


@dataclass(frozen=True, kw_only=True)
class Turn:
    """Turn to an angle and stand still there."""

    family: str
    degrees: int
    relation: str = "turn"
    limit_s: ClassVar[float] = LIMIT_S

    def progress(self, world: TurningWorld) -> float:
        return float(self.success(world))

    def success(self, world: TurningWorld) -> bool:
        position, velocity = world.joint_state()
        return bool(abs(position[0] - math.radians(self.degrees)) < NEAR_RAD and np.abs(velocity).max() < STILL_RAD_S)


@dataclass(frozen=True, kw_only=True)
class TurningScene:
    """Nothing around the robot."""

    seed: int
    task: Turn

    @property
    def instruction(self) -> str:
        return f"turn {self.task.family} to {self.task.degrees} degrees"


def draw(seed: int) -> TurningScene:
    degrees = int(np.random.default_rng(seed).integers(10, 30))
    left = seed % 2 == 0
    return TurningScene(seed=seed, task=Turn(family="left" if left else "right", degrees=degrees if left else -degrees))


class TurningWorld(EngineWorld):
    """The robot alone; its cameras see black."""

    def __init__(self, profile: RobotProfile, simulator: str = AUTO, gui: bool = False) -> None:
        super().__init__(profile, open_engine(robot_body(profile), simulator, gui))
        self.reset(draw(0))

    def reset(self, scene: TurningScene) -> None:
        self.load([], [])
        self.reset_joints(self.profile.vector("home"))

    def render(self, camera: str, width: int | None = None, height: int | None = None) -> npt.NDArray[np.uint8]:
        spec = self.profile.camera(camera)
        return np.zeros((spec.height, spec.width, 3), np.uint8)


class TurningPolicy:
    """Reads the angle in the instruction and goes there at a constant speed; without words it stays."""

    step_ns, prefix_rows, overlap_rows, pace = 100_000_000, 0, 0, USUAL
    rows, speed = 10, 0.5

    def infer(
        self, observation: Observation, prefix: ActionChunk | None = None, frozen: int | None = None
    ) -> ActionChunk:
        here = observation.joint_position[0]
        words = observation.instruction.split()
        goal = math.radians(float(words[3])) if words else here
        steps = self.speed * self.step_ns * 1e-9 * np.arange(1, self.rows + 1)
        actions = np.tile(observation.joint_position, (self.rows, 1))
        actions[:, 0] = here + np.sign(goal - here) * np.minimum(steps, abs(goal - here))
        return ActionChunk(
            actions=actions,
            start_ns=observation.stamp_ns + self.step_ns,
            step_ns=self.step_ns,
            observation_stamp_ns=observation.stamp_ns,
        )


def draw_for(profile: RobotProfile, seed: int, family: str = "") -> TurningScene:
    return draw(seed)


TURNING = Suite(families=("left", "right"), scene=draw_for, world=TurningWorld)

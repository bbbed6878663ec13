"""The scripted expert of a suite in place of a policy: what can be shown, recorded and compared with before one learns.

It knows what only a simulator knows, so it runs in simulation only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tendon.core.errors import ConfigError, InstructionError, InvalidDataError, MismatchError
from tendon.core.pace import USUAL
from tendon.core.types import ActionChunk, Observation
from tendon.policies.bundle.places import EXPERT
from tendon.policies.spec.manifest import CameraInput
from tendon.robots.profile import RobotProfile
from tendon.sim.suite import Scene, Suite
from tendon.sim.world_state import WorldState

ROWS, STEP_S = 16, 0.1

Look = Callable[[], tuple[Scene, WorldState] | None]
"""Returns the scene and the state of the simulated world, `None` before there is one."""


class ExpertPolicy:
    """A policy that looks at the simulated world. Used by one thread.

    Args:
        suite: whose tasks it does.
        profile: the robot.
        look: at the world.

    Raises:
        MismatchError: nothing does the tasks of this suite.
    """

    name = engine = EXPERT
    cameras: tuple[CameraInput, ...] = ()
    step_ns = round(STEP_S * 1e9)
    prefix_rows = overlap_rows = 0
    pace = USUAL
    last: None = None

    def __init__(self, suite: Suite, profile: RobotProfile, look: Look) -> None:
        if suite.expert is None:
            raise MismatchError("this suite has no expert: name a policy")
        self._suite, self._look = suite, look
        self._expert, self._zeros = suite.expert(profile.uncalibrated), profile.zeros
        self.steering: Mapping[str, float] = {}

    def warm_up(self) -> int:
        """Returns what an inference takes [ns]."""
        return 10_000_000

    def check_instruction(self, instruction: str) -> None:
        """Raises InstructionError when it asks for nothing in this scene."""
        seen = self._look()
        if seen is not None and instruction != seen[0].instruction and self._suite.read(seen[0], instruction) is None:
            raise InstructionError(
                f"{instruction!r} asks for nothing that this scene has: {seen[0].instruction!r} does"
            )

    def check_steering(self, name: str, value: float) -> None:
        """Raises ConfigError: nothing steers it."""
        raise ConfigError(f"{name} is {value}: the expert is not steered")

    def steer(self, name: str, value: float) -> None:
        """Raises ConfigError: nothing steers it."""
        self.check_steering(name, value)

    def observe(self, observation: Observation) -> None:
        """Sees nothing of what was before."""

    def infer(
        self, observation: Observation, prefix: ActionChunk | None = None, frozen: int | None = None
    ) -> ActionChunk:
        """Returns what it would do from here on.

        Raises:
            InvalidDataError: there is no world yet.
            InstructionError: the instruction asks for nothing in this scene.
        """
        seen = self._look()
        if seen is None:
            raise InvalidDataError("the expert waits for the simulated world")
        scene, state = seen
        self.check_instruction(observation.instruction)
        asked = self._suite.read(scene, observation.instruction) or scene
        truly = replace(observation, joint_position=observation.joint_position - self._zeros)
        return ActionChunk(
            actions=self._expert.plan(asked, state, truly, ROWS, STEP_S) + self._zeros,
            start_ns=observation.stamp_ns + self.step_ns,
            step_ns=self.step_ns,
            observation_stamp_ns=observation.stamp_ns,
        )

    def close(self) -> None:
        """Holds nothing."""

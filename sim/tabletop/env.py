"""The simulated tabletop as a Gymnasium environment, for training and evaluation without ROS.

Importing this module registers `Tendon/Tabletop-v0`; `gymnasium.make("tendon.sim.tabletop.env:Tendon/Tabletop-v0")`
does both.
"""

from __future__ import annotations

import string
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from tendon.control.clearance.model import Clearance
from tendon.control.filter import SafetyFilter, Verdict
from tendon.core.types import Array, Command, Trajectory, freeze
from tendon.robots.environment import load_environment
from tendon.robots.profile import load_profile
from tendon.sim.backend import SimBackend
from tendon.sim.demonstrations import STEP_S
from tendon.sim.simulators import AUTO
from tendon.sim.tabletop.layout import layout_of
from tendon.sim.tabletop.scene import ENVIRONMENT, sample_scene
from tendon.sim.tabletop.world import World

ENV_ID = "Tendon/Tabletop-v0"
STEP_NS = round(STEP_S * 1e9)
EPISODE_STEPS = 200
TRAINING_SEEDS = 100_000
HOLD_STEPS = 3
"""Steps in a row that a task must be done for: the rule of `tendon.evaluation`."""
LONGEST_INSTRUCTION = 96
VIDEO_SIZE = 384


class TabletopEnv(gymnasium.Env[dict[str, Any], Array]):
    """One language task in a random scene; the reward is 1 in the step that completes it and 0 before.

    Action: (n,) joint target due at the end of the step of 0.1 s, rad and m, in the profile's order: one row of an
    action chunk. The target moves there evenly; the safety filter shapes it at the control rate, and the trajectory
    controller plays the result, so motion keeps every limit as on the robot. An action outside the joint limits is
    drawn to them; `info["executed"]` is where the reference really went.

    Observation: `image_NAME` (height, width, 3) uint8 for each camera of the profile, `joint_position` and
    `joint_velocity` (n,), and `instruction`.

    An episode ends after `HOLD_STEPS` steps with the task done. `gymnasium.make` truncates it after `EPISODE_STEPS`.

    Args:
        family: of `tendon.sim.tabletop.layout.FAMILIES`; by default the seed of a scene decides.
        images: whether observations have images; without, a step costs a third.
        render_mode: "rgb_array" for videos.
        simulator: see `tendon.sim.simulators`.
        robot: profile.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012 (Gymnasium's own declaration)

    def __init__(
        self,
        family: str | None = None,
        images: bool = True,
        render_mode: str | None = None,
        simulator: str = AUTO,
        robot: str = "panda",
    ) -> None:
        self.render_mode = render_mode
        self._family = family
        profile = load_profile(robot)
        self._cameras = profile.cameras if images else ()
        self._layout = layout_of(profile)
        self.backend = SimBackend(World(sample_scene(0, family, self._layout), profile, simulator))
        self._filter = SafetyFilter(profile, Clearance(profile, load_environment(ENVIRONMENT)))
        self._period_ns = round(1e9 / profile.control_hz)
        joints = (len(profile.joint_names),)
        self.action_space = spaces.Box(profile.vector("lower"), profile.vector("upper"), joints, np.float64)
        anything = spaces.Box(-np.inf, np.inf, joints, np.float64)
        letters = string.ascii_lowercase + " "
        self.observation_space = spaces.Dict(
            {
                **{
                    f"image_{camera.name}": spaces.Box(0, 255, (camera.height, camera.width, 3), np.uint8)
                    for camera in self._cameras
                },
                "joint_position": anything,
                "joint_velocity": anything,
                "instruction": spaces.Text(LONGEST_INSTRUCTION, charset=letters),
            }
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Loads a scene.

        Args:
            seed: of the scene, of 64 bits (`tendon.sim.tabletop.scene` says which are for what); by default a random
                training scene.
            options: has no meaning here.

        Raises:
            ValueError: a larger seed.
        """
        super().reset(seed=seed)
        scene_seed = int(self.np_random.integers(TRAINING_SEEDS)) if seed is None else seed
        self.backend.reset(sample_scene(scene_seed, self._family, self._layout))
        self._filter.reset(self.backend.observe_joints()[0])
        self._held_steps = 0
        return self._observe(), self._info(())

    def step(self, action: npt.ArrayLike) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Moves for 0.1 s.

        Raises:
            InvalidDataError: the action is not n finite numbers.
        """
        row = freeze("action", action, self.action_space.shape or ())
        begin_ns = self.backend.world.time_ns
        verdicts = self._approach(row)
        self.backend.apply(self._command(verdicts, begin_ns))
        self.backend.advance(begin_ns + STEP_NS)
        world = self.backend.world
        self._held_steps = self._held_steps + 1 if world.scene.task.success(world) else 0
        done = self._held_steps >= HOLD_STEPS
        reasons = tuple(sorted({reason for verdict in verdicts for reason in verdict.reasons}))
        return self._observe(), float(done), done, False, self._info(reasons)

    def render(self) -> npt.NDArray[np.uint8] | None:
        """Returns what the scene camera sees, larger than in observations; `None` without a render mode."""
        return None if self.render_mode is None else self.backend.world.render("scene", VIDEO_SIZE, VIDEO_SIZE)

    def close(self) -> None:
        """Closes the world."""
        self.backend.close()

    def _approach(self, row: Array) -> list[Verdict]:
        """Returns the reference of each control tick of a step toward its row."""
        ticks = STEP_NS // self._period_ns
        start = self._filter.position
        velocity = (row - start) / (STEP_NS * 1e-9)
        return [self._filter.step(start + (row - start) * (tick / ticks), velocity) for tick in range(1, ticks + 1)]

    def _command(self, verdicts: list[Verdict], stamp_ns: int) -> Command:
        """Returns the reference of a step as a command: all its points, then the stop from the last."""
        stop = verdicts[-1].stop
        ticks = [*range(1, len(verdicts)), *(len(verdicts) + stop.ticks).tolist()]
        trajectory = Trajectory(
            position=np.concatenate([[verdict.position for verdict in verdicts[:-1]], stop.position]),
            velocity=np.concatenate([[verdict.velocity for verdict in verdicts[:-1]], stop.velocity]),
            acceleration=np.concatenate([[verdict.acceleration for verdict in verdicts[:-1]], stop.acceleration]),
            time_from_start_ns=tuple(tick * self._period_ns for tick in ticks),
        )
        return Command(stamp_ns=stamp_ns, trajectory=trajectory)

    def _observe(self) -> dict[str, Any]:
        position, velocity = self.backend.observe_joints()
        return {
            **{f"image_{camera.name}": self.backend.world.render(camera.name) for camera in self._cameras},
            "joint_position": position.copy(),
            "joint_velocity": velocity.copy(),
            "instruction": self.backend.world.scene.instruction,
        }

    def _info(self, reasons: tuple[str, ...]) -> dict[str, Any]:
        scene = self.backend.world.scene
        return {
            "seed": scene.seed,
            "family": scene.task.family,
            "success": self._held_steps >= HOLD_STEPS,
            "executed": self._filter.position.copy(),
            "reasons": reasons,
        }


gymnasium.register(id=ENV_ID, entry_point="tendon.sim.tabletop.env:TabletopEnv", max_episode_steps=EPISODE_STEPS)

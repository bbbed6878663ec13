"""Demonstrations of a described suite, in joint space: episodes of its expert, or of a learner that it corrects.

State and actions are those of most datasets of two arms: measured joints beside where the tools are, and joint targets
relative to the observation, grippers absolute.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from tendon.core.errors import KinematicsError
from tendon.core.protocols import Policy
from tendon.core.types import Array, Image, Observation
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile
from tendon.robots.urdf import read_urdf
from tendon.sim.demonstrations import LARGEST_PREFIX, ROWS, STEP_S, Arrays, Label, draw_prefix_rows
from tendon.sim.scenes.hands import HandsExpert
from tendon.sim.scenes.scene import DescribedScene
from tendon.sim.scenes.world import DescribedWorld
from tendon.sim.suite import SampleScene
from tendon.sim.viewpoints import labelled_viewpoints

LONGEST_S = 25.0
AFTERWARDS_STEPS = 6
"""An episode goes on so long when the task is done."""
PLAN_STEPS = 2
"""Of a plan that are driven before the next one is made."""
SCATTER_M = (0.1, 0.1, 0.06)
"""How far from home a tool may start, in half of the episodes."""
PUSH_M, PUSHED_SHARE = (0.0, 0.006, 0.015), 0.3
"""How far a hand is pushed aside in a plan that is driven, and how often: standard deviation, one in an episode."""
DRIFT_M = 0.012
"""How far it is pushed aside over a prefix, in half of them."""


class HandsCollector:
    """Runs episodes in one world and yields frames; see `tendon.sim.demonstrations.Collector`.

    Args:
        world: with the robot.
        sample: draws a scene.
        expert: labels, and acts where no learner does.
        learner: acts instead of the expert.
    """

    def __init__(
        self, world: DescribedWorld, sample: SampleScene, expert: HandsExpert, learner: Policy | None = None
    ) -> None:
        self._world, self._sample, self._expert, self._learner = world, sample, expert, learner
        profile = world.profile
        self._arms = [Kinematics(profile, gripper.frame, gripper.group) for gripper in profile.grippers]
        fingers = [gripper.joint for gripper in profile.grippers]
        self._is_finger = np.isin(profile.joint_names, fingers)
        self._stroke = np.where(self._is_finger, profile.vector("velocity") * world.period_ns * 1e-9, np.inf)
        self.about = _about(profile, fingers)

    def episode(self, seed: int) -> Iterator[tuple[Arrays, list[Label]]]:
        """Runs one episode in the scene of a seed and yields its kept frames."""
        rng = np.random.default_rng([seed, 7])
        world = self._world
        scene: DescribedScene = self._sample(world.profile, seed)  # type: ignore[assignment]
        world.reset(scene)
        if rng.random() < 0.5:
            self._scatter(rng)
        push, done = float(rng.choice(PUSH_M)), 0
        target, _ = world.joint_state()
        for _ in range(round(LONGEST_S / (PLAN_STEPS * STEP_S))):
            seen = self._observe(scene)
            yield self._frame(seen), [self._label(scene, seen, done > 0, rng)]
            if self._learner is None:
                pushed = push if rng.random() < PUSHED_SHARE else 0.0
                moment = self._expert.look(scene, world.state(), seen)
                drift = self._drift(PLAN_STEPS, pushed, rng)
                plan = self._expert.stray(scene, moment, seen.joint_position, PLAN_STEPS, STEP_S, drift)
            else:
                plan = self._learner.infer(seen).actions[:PLAN_STEPS]
            for row in plan:
                target = self._follow(target, row)
                done = done + 1 if scene.task.success(world) else 0
            if done > AFTERWARDS_STEPS:
                return

    def _scatter(self, rng: np.random.Generator) -> None:
        joints, _ = self._world.joint_state()
        for arm in self._arms:
            place, _ = arm.tool_pose(joints)
            with contextlib.suppress(KinematicsError):  # a place out of reach: it stays at home
                joints = arm.inverse_down(place + rng.uniform(-1.0, 1.0, 3) * SCATTER_M, joints)
        self._world.reset_joints(joints)

    def _observe(self, scene: DescribedScene) -> Observation:
        world = self._world
        joints, velocities = world.joint_state()
        images = {camera.name: Image(stamp_ns=0, pixels=world.render(camera.name)) for camera in world.profile.cameras}
        return Observation(
            stamp_ns=world.time_ns,
            joint_position=joints,
            joint_velocity=velocities,
            images=images,
            instruction=scene.instruction,
        )

    def _frame(self, seen: Observation) -> Arrays:
        tools = [arm.tool_pose(seen.joint_position)[0] for arm in self._arms]
        return {
            **{f"image_{name}": image.pixels for name, image in seen.images.items()},
            "state": np.concatenate([*tools, seen.joint_position, seen.joint_velocity[~self._is_finger]]),
        }

    def _label(self, scene: DescribedScene, seen: Observation, done: bool, rng: np.random.Generator) -> Label:
        moment = self._expert.look(scene, self._world.state(), seen)
        prefix_rows = draw_prefix_rows(rng)
        drift = self._drift(prefix_rows, DRIFT_M if rng.random() < 0.5 else 0.0, rng)
        actions = self._expert.stray(scene, moment, seen.joint_position, ROWS, STEP_S, drift)
        return Label(
            instruction=scene.instruction,
            actions=np.where(self._is_finger, actions, actions - seen.joint_position),
            prefix_rows=prefix_rows,
            points=moment.grips[:2],
            flags=np.array([float(any(hand.holds for hand in moment.hands)), float(done)]),
        )

    def _drift(self, rows: int, size: float, rng: np.random.Generator) -> Array:
        """Returns how far each hand is pushed in each row, (rows, hands, 3) [m]."""
        way = rng.normal(0.0, size, (len(self._arms), 3))
        return np.broadcast_to(way / max(rows, 1), (rows, *way.shape))

    def _follow(self, target: Array, aim: Array) -> Array:
        """Servos from one joint target to the next in one step, fingers at their own speed limit."""
        ticks = round(STEP_S * 1e9 / self._world.period_ns)
        velocity = np.where(self._is_finger, 0.0, (aim - target) / STEP_S)
        joints = np.array(target)
        for tick in range(1, ticks + 1):
            wanted = np.where(self._is_finger, aim, target + (aim - target) * (tick / ticks))
            joints = joints + np.clip(wanted - joints, -self._stroke, self._stroke)
            self._world.set_target(joints, velocity)
            self._world.step()
        return joints

    def close(self) -> None:
        """Closes the world."""
        self._world.close()


def _about(profile: RobotProfile, fingers: list[str]) -> dict[str, Any]:
    urdf = read_urdf(profile.urdf)
    units = {name: "m" if urdf.joints[name].kind == "prismatic" else "rad" for name in profile.joint_names}
    speeds = [{"joint": name, "unit": f"{unit}/s"} for name, unit in units.items() if name not in fingers]
    return {
        "step_s": STEP_S,
        "prefix_rows": LARGEST_PREFIX,
        "cameras": labelled_viewpoints(profile),
        "state": [
            *({"name": "tool_position", "size": 3, "unit": "m", "frame": g.frame} for g in profile.grippers),
            {"name": "joints", "joints": [{"joint": name, "unit": unit} for name, unit in units.items()] + speeds},
        ],
        "action": {
            "space": "joint_position",
            "relative_to": "observation",
            "joints": [{"joint": name, "unit": unit, "absolute": name in fingers} for name, unit in units.items()],
        },
    }

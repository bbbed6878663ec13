"""Demonstrations on the tabletop: episodes of the expert, or of a learner whose states the expert labels (DAgger).

Each frame has labels for the running task and for counterfactual ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tendon.core.protocols import Policy
from tendon.core.types import Array, Image, Observation
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile
from tendon.sim.demonstrations import LARGEST_PREFIX, ROWS, STEP_S, Arrays, Label, draw_prefix_rows
from tendon.sim.engine import PHYSICS_HZ
from tendon.sim.tabletop.expert.decide import ExpertState, observe_state, to_vector
from tendon.sim.tabletop.expert.pilot import ExpertPilot
from tendon.sim.tabletop.expert.rollout import rollout
from tendon.sim.tabletop.layout import layout_of
from tendon.sim.tabletop.phrases import phrase
from tendon.sim.tabletop.scene import Scene, sample_scene
from tendon.sim.tabletop.tasks import Task, destination, feasible_tasks, is_done
from tendon.sim.tabletop.world import World
from tendon.sim.viewpoints import labelled_viewpoints

LABELS = 3
EPISODE_STEPS, LEARNER_STEPS = 70, 120
"""Of an episode; the learner's is as long as an evaluation's, so that what it makes of a failed attempt is labelled."""
KEEP_SHARE = 0.4
INFER_EVERY = 3
SCATTER = ((0.01, 0.01, 0.0), (0.04, 0.01, 0.0))
"""How much further than where things stand a tool may start, in front and behind [m]."""


class TabletopCollector:
    """Runs episodes in one world and yields frames.

    Args:
        profile: the robot.
        learner: acts instead of the expert in this share of the episodes' steps; `None` for the expert alone.
    """

    def __init__(self, profile: RobotProfile, learner: Policy | None = None) -> None:
        self._profile = profile
        self._layout, self._gripper = layout_of(profile), profile.grippers[0]
        self._finger = profile.joint_names.index(self._gripper.joint)
        self._kinematics = Kinematics(profile, self._gripper.frame, self._gripper.group)
        self.about = {
            "step_s": STEP_S,
            "prefix_rows": LARGEST_PREFIX,
            "cameras": labelled_viewpoints(profile),
            "state": [
                {"name": "tool_position", "size": 3, "unit": "m"},
                {"name": "tool_velocity", "size": 3, "unit": "m/s"},
                {"name": "finger_position", "size": 1, "unit": "m"},
            ],
            "action": {"space": "tool_position"},
        }
        self._pilot = ExpertPilot(profile)
        self._learner = learner
        self._world = World(sample_scene(0, layout=self._layout), profile)

    def episode(self, seed: int) -> Iterator[tuple[Arrays, list[Label]]]:
        """Runs one episode of several tasks in the scene of a seed and yields its kept frames."""
        rng = np.random.default_rng([seed, 7])
        scene = sample_scene(seed, layout=self._layout)
        world = self._world
        world.reset(scene)
        self._scatter(rng)
        task, instruction = scene.task, scene.instruction
        noise = float(rng.choice([0.0, 0.008, 0.02]))
        offset = np.zeros(3)
        target, _ = world.joint_state()
        plan: list[Array] = []
        after = 0
        for step in range(EPISODE_STEPS if self._learner is None else LEARNER_STEPS):
            joints, velocities = world.joint_state()
            tool, _ = self._kinematics.tool_pose(joints)
            state = observe_state(world, tool, self._kinematics.tool_velocity(joints, velocities))
            done = is_done(
                scene.items, task, {i: np.array(p) for i, p in state.items.items()}, state.opening, state.held, 0.0
            )
            after = after + 1 if done else 0
            if after > 6 or rng.random() < 0.012:
                tasks = self._tasks(scene, state)
                if tasks:
                    task = tasks[int(rng.integers(len(tasks)))]
                    instruction, after, plan = phrase(scene.items, task, rng), 0, []
            asks = self._learner is not None and (not plan or step % INFER_EVERY == 0)
            keep = asks or rng.random() < (KEEP_SHARE if self._learner is None else 0.1)
            if keep:
                pixels = {camera.name: self._world.render(camera.name) for camera in self._profile.cameras}
                frame: Arrays = {
                    **{f"image_{name}": image for name, image in pixels.items()},
                    **{f"mask_{name}": np.packbits(world.background(name), axis=-1) for name in pixels},
                    "state": np.concatenate([state.tool, state.velocity, [state.finger]]),
                }
                yield frame, self._labels(scene, state, task, instruction, rng)
            if self._learner is None:
                if rng.random() < 0.03 and noise:
                    offset = rng.normal(0, 3 * noise, 3)
                offset = 0.85 * offset + rng.normal(0, noise * 0.5, 3)
                row = rollout(scene, state, task, 1, STEP_S).actions[0]
                target = self._drive(target, row[:3] + offset, float(row[3]))
            else:
                if asks:
                    plan = self._infer(joints, velocities, pixels, instruction)
                target = self._follow(target, plan.pop(0))

    def _scatter(self, rng: np.random.Generator) -> None:
        """Starts half the episodes from anywhere above the table, fingers anywhere."""
        if rng.random() < 0.5:
            return
        joints, _ = self._world.joint_state()
        layout, low = self._layout, self._layout.hover_z - 0.02
        lower, upper = np.transpose([layout.area_x, layout.area_y, (low, low + 0.21)])
        place = rng.uniform(lower - SCATTER[0], upper + SCATTER[1])
        start = self._kinematics.inverse_down(place, joints)
        start[self._finger] = self._gripper.position(rng.choice([0.0, 0.015, 0.04]))
        self._world.reset_joints(start)

    def _tasks(self, scene: Scene, state: ExpertState) -> list[Task]:
        return feasible_tasks(
            scene.items, scene.layout, {i: np.array(p) for i, p in state.items.items()}, state.opening, state.held
        )

    def _infer(self, joints: Array, velocities: Array, pixels: Arrays, instruction: str) -> list[Array]:
        assert self._learner is not None
        images = {name: Image(stamp_ns=0, pixels=image.astype(np.uint8)) for name, image in pixels.items()}
        observation = Observation(
            stamp_ns=self._world.time_ns,
            joint_position=joints,
            joint_velocity=velocities,
            images=images,
            instruction=instruction,
        )
        return list(self._learner.infer(observation).actions)

    def _labels(
        self, scene: Scene, state: ExpertState, task: Task, instruction: str, rng: np.random.Generator
    ) -> list[Label]:
        others = self._tasks(scene, state)
        chosen = [(task, instruction)]
        for _ in range(LABELS - 1):
            other = others[int(rng.integers(len(others)))] if others else task
            chosen.append((other, phrase(scene.items, other, rng)))
        return [_label(scene, state, which, words, task, rng) for which, words in chosen]

    def _drive(self, target: Array, goal: Array, finger: float) -> Array:
        """Moves the tool toward a goal for one step; returns the joint target reached."""
        return self._follow(target, self._pilot.aim(goal, finger, target))

    def _follow(self, target: Array, aim: Array) -> Array:
        """Servos from one joint target to the next in one step, the finger at its own speed limit."""
        ticks = round(STEP_S * PHYSICS_HZ)
        velocity = (aim - target) / STEP_S
        velocity[self._finger] = 0.0
        stroke = self._profile.joints[self._finger].velocity / PHYSICS_HZ
        joints = np.array(target)
        for tick in range(1, ticks + 1):
            finger = joints[self._finger] + float(np.clip(aim[self._finger] - joints[self._finger], -stroke, stroke))
            joints = target + (aim - target) * (tick / ticks)
            joints[self._finger] = finger
            self._world.set_target(joints, velocity)
            self._world.step()
        return joints

    def close(self) -> None:
        """Closes the world."""
        self._world.close()


def _label(
    scene: Scene, state: ExpertState, task: Task, instruction: str, running: Task, rng: np.random.Generator
) -> Label:
    """Labels a state: a prefix of some plan, then the expert from where the prefix ends."""
    prefix_rows = draw_prefix_rows(rng)
    start, head = state, np.empty((0, 4))
    if prefix_rows:
        prefix = rollout(scene, state, running if rng.random() < 0.35 else task, prefix_rows, STEP_S)
        drift = rng.normal(0, 0.012, 3) * (rng.random() < 0.5)
        ramp = np.arange(1, prefix_rows + 1)[:, None] / prefix_rows
        head = prefix.actions.copy()
        head[:, :3] += ramp * drift
        speed = np.array(prefix.final.velocity) + drift / (prefix_rows * STEP_S)
        items = dict(prefix.final.items)
        if prefix.final.held is not None and scene.items[prefix.final.held].kind != "drawer":
            x, y, z = items[prefix.final.held]
            items[prefix.final.held] = (x + drift[0], y + drift[1], z + drift[2])
        start = replace(prefix.final, tool=to_vector(head[-1]), velocity=to_vector(speed), items=items)
    tail = rollout(scene, start, task, ROWS - prefix_rows, STEP_S).actions
    actions = np.concatenate([head, tail])
    actions[:, :3] -= np.array(state.tool)
    positions = {i: np.array(p) for i, p in state.items.items()}
    done = is_done(scene.items, task, positions, state.opening, state.held, state.lifted)
    return Label(
        instruction=instruction,
        actions=actions,
        prefix_rows=prefix_rows,
        points=np.stack([positions[task.target], destination(scene.items, task, positions)]),
        flags=np.array([float(state.held == task.target), float(done)]),
    )

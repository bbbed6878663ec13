"""The tabletop: a robot with a gripper at a table with things on it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tendon.core.types import Array
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile
from tendon.sim.engine import Engine, Light, Pose
from tendon.sim.engine_world import EngineWorld
from tendon.sim.robot_body import robot_body
from tendon.sim.simulators import AUTO, open_engine
from tendon.sim.tabletop.bodies import body_of, table
from tendon.sim.tabletop.items import HANDLE_STANDOFF, MOVABLE, Item
from tendon.sim.tabletop.layout import FAMILIES
from tendon.sim.tabletop.scene import Scene, another_task
from tendon.sim.tabletop.tasks import destination
from tendon.sim.world_state import WorldState


def item_place(item: Item, pose: Pose, opening: float) -> Array:
    """Returns the centre (3,) [m] of an item in a pose; of a drawer that is open so far, its handle's post."""
    if item.kind == "drawer":
        x, y, _ = item.position
        return np.array([x - HANDLE_STANDOFF - opening, y, 0.055])
    if item.kind in ("bowl", "bin"):
        return np.array([pose[0], pose[1], item.height / 2])
    return np.array(pose[:3])


def table_of(scene: Scene, state: WorldState) -> tuple[dict[int, Array], float, int | None]:
    """Returns the centre (3,) [m] of each item, how far the drawer is open [m], and the item between the fingers."""
    opening, held = next(iter(state.openings), 0.0), state.held[0]
    poses = enumerate(zip(scene.items, state.poses, strict=True))
    places = {i: item_place(item, pose, opening) for i, (item, pose) in poses}
    return places, opening, None if held < 0 else held


class World(EngineWorld):
    """A simulated robot at a table. Not thread-safe.

    Args:
        scene: what stands there.
        profile: the robot; its first gripper acts.
        simulator: see `tendon.sim.simulators`.
        engine: a simulator that is open, with that robot, in place of that.

    Raises:
        KinematicsError: the robot does not reach where the scene starts; `layout_of` finds that out before.
    """

    def __init__(
        self, scene: Scene, profile: RobotProfile, simulator: str = AUTO, engine: Engine | None = None
    ) -> None:
        self._gripper = profile.grippers[0]
        self._finger = profile.joint_names.index(self._gripper.joint)
        self._kinematics = Kinematics(profile, self._gripper.frame, self._gripper.group)
        super().__init__(profile, engine or open_engine(robot_body(profile), simulator))
        self.reset(scene)

    def reset(self, scene: Scene) -> None:
        """Replaces everything by a new scene, the robot at the scene's start pose, at rest, time zero."""
        self.scene, self.lifted = scene, 0.0
        self.load([table(self.scene.look)], [body_of(item) for item in scene.items])
        home = self.profile.vector("home")
        self.reset_joints(self._kinematics.inverse_down(np.array(scene.tool_start), home))
        self.check_start(
            [item.name for item in scene.items],
            f"seed {scene.seed}: change the area or the start of its layout in suites/tabletop.yaml",
        )

    def render(self, camera: str, width: int | None = None, height: int | None = None) -> npt.NDArray[np.uint8]:
        """Returns what a camera of the profile sees now, see `CameraRig.render`."""
        look = self.scene.look
        light = Light(direction=look.light_direction, rgb=look.light_rgb, ambient=look.ambient)
        return self.cameras.render(camera, light, look.camera_offset, look.camera_tilt, width, height)

    def background(self, camera: str) -> npt.NDArray[np.bool_]:
        """Returns which pixels of `render` show neither the robot nor an item, (height, width)."""
        return self.cameras.background(camera, self.scene.look.camera_offset, self.scene.look.camera_tilt)

    @property
    def items(self) -> tuple[Item, ...]:
        """What stands on the table."""
        return self.scene.items

    def item_position(self, index: int) -> Array:
        """Returns the centre (3,) [m] of an item; of a drawer, its handle's post."""
        return item_place(self.scene.items[index], self.engine.pose(index), self.opening())

    def item_positions(self) -> dict[int, Array]:
        """Returns the centre of every item."""
        return {i: self.item_position(i) for i in range(len(self.scene.items))}

    def opening(self) -> float:
        """Returns how far the drawer is open [m]; 0 when there is none."""
        for i, item in enumerate(self.scene.items):
            if item.kind == "drawer":
                return self.engine.opening(i)
        return 0.0

    def half_width(self) -> float:
        """Returns half the distance between the fingers [m]."""
        return self._gripper.half_width(float(self.joint_state()[0][self._finger]))

    def held(self) -> int | None:
        """Returns the item that both fingers press on, if any."""
        held = self._held_by(0)
        return None if held < 0 else held

    def _held_by(self, gripper: int) -> int:
        graspable = (i for i, item in enumerate(self.scene.items) if item.kind in (*MOVABLE, "drawer"))
        return next((i for i in graspable if self.engine.gripped(i, gripper)), -1)

    def facts(self) -> Array:
        """Returns (F,) numbers that say how far the task is: places are from where the tool really is [m]."""
        task, positions = self.scene.task, self.item_positions()
        tool, _ = self._kinematics.tool_pose(self.joint_state()[0])
        target = positions[task.target]
        goal = destination(self.items, task, positions)
        friction, mass = self.items[task.target].friction, self.items[task.target].mass
        kind = np.array([task.family == each for each in FAMILIES] + [task.relation in ("open", "left_of")], float)
        done = [self.held() == task.target, self.highest(task.target), self.opening(), task.progress(self)]
        return np.concatenate([tool, target - tool, goal - target, done, [self.half_width(), friction, mass], kind])

    def highest(self, index: int) -> float:
        """Returns the largest height of an item's bottom [m] at this and earlier calls since the task was asked for."""
        bottom = float(self.item_position(index)[2]) - self.scene.items[index].height / 2
        self.lifted = max(self.lifted, bottom)
        return self.lifted

    def ask(self, scene: Scene) -> None:
        """Makes the task of a scene, whose items are these, the one that success is judged by."""
        self.scene, self.lifted = scene, 0.0

    def another_task(self) -> Scene | None:
        """Returns this scene with another task, drawn by its seed, that can be done from here on, or `None`."""
        return another_task(self.scene, self.item_positions(), self.opening(), self.held())

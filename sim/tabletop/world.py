"""The tabletop: a Panda with gripper at a table with things on it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tendon.core.errors import MismatchError
from tendon.core.types import Array
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile
from tendon.sim.engine import Engine, Pose
from tendon.sim.engine_world import EngineWorld
from tendon.sim.panda import TOOL_DOWN, panda
from tendon.sim.simulators import AUTO, open_engine
from tendon.sim.tabletop.bodies import body_of, table
from tendon.sim.tabletop.cameras import CameraRig, check_cameras
from tendon.sim.tabletop.items import HANDLE_STANDOFF, MOVABLE, Item
from tendon.sim.tabletop.phrases import phrase
from tendon.sim.tabletop.scene import ROBOT, Scene
from tendon.sim.tabletop.tasks import feasible_tasks


@dataclass(frozen=True, kw_only=True)
class WorldState:
    """Everything that moves, as plain numbers: what a camera process needs to draw the same picture.

    Attributes:
        time_ns: simulation time.
        joint_position: (9,) of the robot's seven arm joints and two fingers.
        poses: one (x, y, z, qx, qy, qz, qw) for each item.
        opening: of the drawer [m].
    """

    time_ns: int
    joint_position: tuple[float, ...]
    poses: tuple[Pose, ...]
    opening: float


class World(EngineWorld):
    """A simulated robot at a table. Not thread-safe.

    Args:
        scene: what stands there.
        profile: the robot; only a Panda is modelled.
        simulator: see `tendon.sim.simulators`.
        engine: a simulator that is open, with a Panda, in place of that.

    Raises:
        MismatchError: the profile is of another robot.
        ConfigError: it names a camera that is not modelled.
    """

    def __init__(
        self, scene: Scene, profile: RobotProfile, simulator: str = AUTO, engine: Engine | None = None
    ) -> None:
        if profile.name != ROBOT:
            raise MismatchError(f"the simulated robot is a {ROBOT}, the profile is for {profile.name}")
        check_cameras(profile)
        super().__init__(profile, engine or open_engine(panda(profile.joint_names[:-1]), simulator))
        self.cameras = CameraRig(self.engine, profile)
        self._kinematics = Kinematics(profile)
        self.reset(scene)

    def reset(self, scene: Scene) -> None:
        """Replaces everything by a new scene, the robot at the scene's start pose, at rest, time zero."""
        self.scene, self.lifted = scene, 0.0
        self.engine.load([table(self.scene.look)], [body_of(item) for item in scene.items])
        home = self.profile.vector("home")
        self.reset_joints(self._kinematics.inverse(np.array(scene.tool_start), TOOL_DOWN, home))

    def render(self, camera: str, width: int | None = None, height: int | None = None) -> npt.NDArray[np.uint8]:
        """Returns what a camera of the profile sees now, see `CameraRig.render`."""
        return self.cameras.render(camera, self.scene.look, width, height)

    @property
    def items(self) -> tuple[Item, ...]:
        """What stands on the table."""
        return self.scene.items

    def item_position(self, index: int) -> Array:
        """Returns the centre (3,) [m] of an item; of a drawer, its handle's post."""
        item = self.scene.items[index]
        if item.kind == "drawer":
            x, y, _ = item.position
            return np.array([x - HANDLE_STANDOFF - self.opening(), y, 0.055])
        position = self.engine.pose(index)[:3]
        if item.kind in ("bowl", "bin"):
            return np.array([position[0], position[1], item.height / 2])
        return np.array(position)

    def item_positions(self) -> dict[int, Array]:
        """Returns the centre of every item."""
        return {i: self.item_position(i) for i in range(len(self.scene.items))}

    def opening(self) -> float:
        """Returns how far the drawer is open [m]; 0 when there is none."""
        for i, item in enumerate(self.scene.items):
            if item.kind == "drawer":
                return self.engine.opening(i)
        return 0.0

    def held(self) -> int | None:
        """Returns the item that both fingers press on, if any."""
        for i, item in enumerate(self.scene.items):
            if item.kind in (*MOVABLE, "drawer") and self.engine.gripped(i):
                return i
        return None

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
        scene = self.scene
        possible = feasible_tasks(scene.items, self.item_positions(), self.opening(), self.held())
        others = [task for task in possible if task != scene.task]
        if not others:
            return None
        rng = np.random.default_rng([scene.seed, 17])
        task = others[int(rng.integers(len(others)))]
        return replace(scene, task=task, instruction=phrase(scene.items, task, rng))

    def state(self) -> WorldState:
        """Returns everything that moves, for drawing elsewhere."""
        return WorldState(
            time_ns=self.time_ns,
            joint_position=self.engine.driven(),
            poses=tuple(self.engine.pose(i) for i in range(len(self.scene.items))),
            opening=self.opening(),
        )

    def set_state(self, state: WorldState) -> None:
        """Puts everything where another world had it; for the camera process, which steps no physics."""
        self.engine.set_driven(state.joint_position)
        for i, (item, pose) in enumerate(zip(self.scene.items, state.poses, strict=True)):
            self.engine.move(i, pose)
            if item.kind == "drawer":
                self.engine.set_opening(i, state.opening)

"""The tabletop: a Panda with gripper at a table with things on it, in PyBullet."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tendon.core.errors import MismatchError
from tendon.core.types import Array
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile
from tendon.sim.pybullet.client import pybullet
from tendon.sim.pybullet.panda import TOOL_DOWN, Panda
from tendon.sim.pybullet.world import BulletWorld
from tendon.sim.tabletop.bodies import make_body, texture_files
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
    poses: tuple[tuple[float, ...], ...]
    opening: float


class World(BulletWorld):
    """A simulated robot at a table. Not thread-safe; every PyBullet call names its client.

    Args:
        scene: what stands there.
        profile: the robot; only a Panda is modelled.
        gui: open PyBullet's window.

    Raises:
        MismatchError: the profile is of another robot.
        ConfigError: it names a camera that is not modelled.
    """

    def __init__(self, scene: Scene, profile: RobotProfile, gui: bool = False) -> None:
        if profile.name != ROBOT:
            raise MismatchError(f"the simulated robot is a {ROBOT}, the profile is for {profile.name}")
        check_cameras(profile)
        super().__init__(profile, gui)
        self.robot: Panda = self._robot()
        self.cameras = CameraRig(self.robot, profile)
        self._kinematics = Kinematics(profile)
        self.reset(scene)

    def reset(self, scene: Scene) -> None:
        """Replaces everything by a new scene, the robot at the scene's start pose, at rest, time zero."""
        self.clear()
        self.scene, self.lifted = scene, 0.0
        self.table = self._table()
        self.robot.load()
        self.bodies = [make_body(self.client, item) for item in scene.items]
        home = self.profile.vector("home")
        self.reset_joints(self._kinematics.inverse(np.array(scene.tool_start), TOOL_DOWN, home))

    def _robot(self) -> Panda:
        return Panda(self.client, self.profile.joint_names[:-1])

    def _table(self) -> int:
        look = self.scene.look
        half = [0.5, 0.7, 0.02]
        shape = {"halfExtents": half, "physicsClientId": self.client}
        collision = pybullet.createCollisionShape(pybullet.GEOM_BOX, **shape)
        visual = pybullet.createVisualShape(pybullet.GEOM_BOX, rgbaColor=[*look.table_rgb, 1], **shape)
        table = pybullet.createMultiBody(0, collision, visual, [0.55, 0, -0.02], physicsClientId=self.client)
        if look.texture:
            texture = pybullet.loadTexture(texture_files()[look.texture - 1], physicsClientId=self.client)
            pybullet.changeVisualShape(table, -1, textureUniqueId=texture, physicsClientId=self.client)
        pybullet.changeDynamics(table, -1, lateralFriction=0.7, physicsClientId=self.client)
        return table

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
        position, _ = pybullet.getBasePositionAndOrientation(self.bodies[index], physicsClientId=self.client)
        if item.kind in ("bowl", "bin"):
            return np.array([position[0], position[1], item.height / 2])
        return np.array(position)

    def item_positions(self) -> dict[int, Array]:
        """Returns the centre of every item."""
        return {i: self.item_position(i) for i in range(len(self.scene.items))}

    def opening(self) -> float:
        """Returns how far the drawer is open [m]; 0 when there is none."""
        for item, body in zip(self.scene.items, self.bodies, strict=True):
            if item.kind == "drawer":
                return float(pybullet.getJointState(body, 0, physicsClientId=self.client)[0])
        return 0.0

    def held(self) -> int | None:
        """Returns the item that both fingers press on, if any."""
        for i, (item, body) in enumerate(zip(self.scene.items, self.bodies, strict=True)):
            if item.kind not in (*MOVABLE, "drawer"):
                continue
            touching = [
                any(
                    contact[9] > 0.5
                    for contact in pybullet.getContactPoints(self.robot.body, body, finger, physicsClientId=self.client)
                )
                for finger in self.robot.fingers
            ]
            if all(touching):
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
        rows = pybullet.getJointStates(self.robot.body, self.robot.joints, physicsClientId=self.client)
        poses = []
        for body in self.bodies:
            position, turn = pybullet.getBasePositionAndOrientation(body, physicsClientId=self.client)
            poses.append((*position, *turn))
        return WorldState(
            time_ns=self.time_ns,
            joint_position=tuple(row[0] for row in rows),
            poses=tuple(poses),
            opening=self.opening(),
        )

    def set_state(self, state: WorldState) -> None:
        """Puts everything where another world had it; for the camera process, which steps no physics."""
        for joint, value in zip(self.robot.joints, state.joint_position, strict=True):
            pybullet.resetJointState(self.robot.body, joint, value, physicsClientId=self.client)
        for item, body, pose in zip(self.scene.items, self.bodies, state.poses, strict=True):
            pybullet.resetBasePositionAndOrientation(body, pose[:3], pose[3:], physicsClientId=self.client)
            if item.kind == "drawer":
                pybullet.resetJointState(body, 0, state.opening, physicsClientId=self.client)

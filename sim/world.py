"""The PyBullet world: a Panda with gripper at a table, stepped in fixed time, owned by one client."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tendon.core.errors import MismatchError
from tendon.core.types import Array, freeze
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile
from tendon.sim.bodies import make_body, robot_urdf, texture_files
from tendon.sim.bullet import pybullet
from tendon.sim.scene import HANDLE_STANDOFF, MOVABLE, ROBOT, Scene
from tendon.sim.tasks import is_done

WINDOW_VIEW = (1.7, 60.0, -28.0, (0.35, 0.0, 0.25))
"""Of the window: distance [m], yaw and pitch [deg], and what it looks at [m]."""
PHYSICS_HZ = 300
TOOL_DOWN = np.diag([1.0, -1.0, -1.0])
FINGERS = ("panda_finger_joint1", "panda_finger_joint2")
GRIP_FORCE = 30.0


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


class World:
    """A simulated robot at a table. Not thread-safe; every PyBullet call names its client.

    Args:
        scene: what stands there.
        profile: the robot; only a Panda is modelled.
        gui: open PyBullet's window.

    Raises:
        MismatchError: the profile is of another robot.
    """

    def __init__(self, scene: Scene, profile: RobotProfile, gui: bool = False) -> None:
        if profile.name != ROBOT:
            raise MismatchError(f"the simulated robot is a {ROBOT}, the profile is for {profile.name}")
        self.profile = profile
        self.client = pybullet.connect(pybullet.GUI if gui else pybullet.DIRECT)
        if gui:
            pybullet.configureDebugVisualizer(pybullet.COV_ENABLE_GUI, 0, physicsClientId=self.client)
            pybullet.resetDebugVisualizerCamera(*WINDOW_VIEW, physicsClientId=self.client)
        self._kinematics = Kinematics(profile)
        self.load(scene)

    def load(self, scene: Scene) -> None:
        """Replaces everything by a new scene, the robot at the scene's start pose, at rest, time zero."""
        client = self.client
        self.scene = scene
        pybullet.resetSimulation(physicsClientId=client)
        pybullet.setGravity(0, 0, -9.81, physicsClientId=client)
        pybullet.setTimeStep(1.0 / PHYSICS_HZ, physicsClientId=client)
        self.table = self._table()
        self.robot = pybullet.loadURDF(robot_urdf(), useFixedBase=True, physicsClientId=client)
        count = pybullet.getNumJoints(self.robot, physicsClientId=client)
        info = [pybullet.getJointInfo(self.robot, j, physicsClientId=client) for j in range(count)]
        index = {row[1].decode(): row[0] for row in info}
        self.link_index = {row[12].decode(): row[0] for row in info}
        self.joints = [index[name] for name in (*self.profile.joint_names[:-1], *FINGERS)]
        self._forces = [87.0] * 4 + [12.0 * 2] * 3 + [GRIP_FORCE] * 2
        for link in range(-1, count):
            rgba = [0.25, 0.25, 0.28, 1] if link in self.joints[7:] else [0.93, 0.93, 0.93, 1]
            pybullet.changeVisualShape(self.robot, link, rgbaColor=rgba, physicsClientId=client)
        for finger in self.joints[7:]:
            pybullet.changeDynamics(
                self.robot, finger, lateralFriction=1.3, spinningFriction=0.02, physicsClientId=client
            )
        mirror = pybullet.createConstraint(
            self.robot,
            self.joints[7],
            self.robot,
            self.joints[8],
            pybullet.JOINT_GEAR,
            [1, 0, 0],
            [0, 0, 0],
            [0, 0, 0],
            physicsClientId=client,
        )
        pybullet.changeConstraint(mirror, gearRatio=-1, erp=0.2, maxForce=200, physicsClientId=client)
        self.bodies = [make_body(client, item) for item in scene.items]
        home = self.profile.vector("home")
        start = self._kinematics.inverse(np.array(scene.tool_start), TOOL_DOWN, home)
        self.reset_joints(start)
        self._steps = 0
        self.lifted = 0.0

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

    def reset_joints(self, joint_position: Array) -> None:
        """Puts the robot at a joint vector, at rest."""
        for joint, value in zip(self.joints, [*joint_position, joint_position[-1]], strict=True):
            pybullet.resetJointState(self.robot, joint, value, physicsClientId=self.client)
        self.set_target(np.asarray(joint_position), np.zeros(len(joint_position)))

    @property
    def time_ns(self) -> int:
        """Simulation time since the scene was loaded."""
        return self._steps * 1_000_000_000 // PHYSICS_HZ

    def set_target(self, position: Array, velocity: Array) -> None:
        """Sets what the joint servos track from the next step on, in the profile's joint order."""
        pybullet.setJointMotorControlArray(
            self.robot,
            self.joints,
            pybullet.POSITION_CONTROL,
            targetPositions=[*position.tolist(), float(position[-1])],
            targetVelocities=[*velocity.tolist(), float(velocity[-1])],
            forces=self._forces,
            positionGains=[0.4] * 7 + [0.2] * 2,
            velocityGains=[1.0] * 9,
            physicsClientId=self.client,
        )

    def step(self) -> None:
        """Advances physics by one period of 1 / `PHYSICS_HZ`."""
        pybullet.stepSimulation(physicsClientId=self.client)
        self._steps += 1

    def joint_state(self) -> tuple[Array, Array]:
        """Returns measured (n,) positions and (n,) velocities in the profile's joint order."""
        rows = pybullet.getJointStates(self.robot, self.joints[:8], physicsClientId=self.client)
        return (
            freeze("joint_position", [row[0] for row in rows], (8,)),
            freeze("joint_velocity", [row[1] for row in rows], (8,)),
        )

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
                    for contact in pybullet.getContactPoints(self.robot, body, finger, physicsClientId=self.client)
                )
                for finger in self.joints[7:]
            ]
            if all(touching):
                return i
        return None

    def ask(self, scene: Scene) -> None:
        """Makes the task of a scene, whose items are these, the one that success is judged by."""
        self.scene, self.lifted = scene, 0.0

    def succeeded(self) -> bool:
        """Returns whether the scene's task is done now. Call it at the policy's rate: it also watches pushes."""
        task = self.scene.task
        positions = self.item_positions()
        item = self.scene.items[task.target]
        self.lifted = max(self.lifted, float(positions[task.target][2]) - item.height / 2)
        return is_done(self.scene, task, positions, self.opening(), self.held(), self.lifted)

    def state(self) -> WorldState:
        """Returns everything that moves, for drawing elsewhere."""
        rows = pybullet.getJointStates(self.robot, self.joints, physicsClientId=self.client)
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
        for joint, value in zip(self.joints, state.joint_position, strict=True):
            pybullet.resetJointState(self.robot, joint, value, physicsClientId=self.client)
        for item, body, pose in zip(self.scene.items, self.bodies, state.poses, strict=True):
            pybullet.resetBasePositionAndOrientation(body, pose[:3], pose[3:], physicsClientId=self.client)
            if item.kind == "drawer":
                pybullet.resetJointState(body, 0, state.opening, physicsClientId=self.client)

    def close(self) -> None:
        """Disconnects the client."""
        if pybullet.isConnected(physicsClientId=self.client):
            pybullet.disconnect(physicsClientId=self.client)

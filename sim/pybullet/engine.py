"""PyBullet as an `Engine`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tendon.core.types import Array
from tendon.sim.bodies import Body
from tendon.sim.engine import GRIP_N, PHYSICS_HZ, ROBOT, Light, Overlap, Pose, View
from tendon.sim.pybullet.client import pybullet
from tendon.sim.pybullet.robot import Robot
from tendon.sim.pybullet.things import SLIDING, add_body
from tendon.sim.robot_body import RobotBody

WINDOW_VIEW = (1.7, 60.0, -28.0, (0.35, 0.0, 0.25))
"""Of the window: distance [m], yaw and pitch [deg], and what it looks at [m]."""


class BulletEngine:
    """Every PyBullet call names its client. It holds the GIL while it draws: in a graph, give cameras a process.

    Args:
        robot: what it loads.
        gui: open PyBullet's window.
    """

    def __init__(self, robot: RobotBody, gui: bool = False) -> None:
        self.client: int = pybullet.connect(pybullet.GUI if gui else pybullet.DIRECT)
        if gui:
            pybullet.configureDebugVisualizer(pybullet.COV_ENABLE_GUI, 0, physicsClientId=self.client)
            pybullet.resetDebugVisualizerCamera(*WINDOW_VIEW, physicsClientId=self.client)
        self.robot = Robot(self.client, robot)
        self.surroundings: list[int] = []
        self.things: list[int] = []
        self._steps = 0

    @property
    def middle_off(self) -> tuple[float, float]:
        """See `Engine`: its renderer draws what is seen at a pixel's corner, the lower left one."""
        return 0.5, -0.5

    @property
    def time_ns(self) -> int:
        """See `Engine`."""
        return self._steps * 1_000_000_000 // PHYSICS_HZ

    def load(self, surroundings: Sequence[Body], things: Sequence[Body]) -> None:
        """See `Engine`."""
        pybullet.resetSimulation(physicsClientId=self.client)
        pybullet.setGravity(0, 0, -9.81, physicsClientId=self.client)
        pybullet.setTimeStep(1.0 / PHYSICS_HZ, physicsClientId=self.client)
        self._steps = 0
        self.surroundings = [add_body(self.client, body) for body in surroundings]
        self.robot.load()
        self.things = [add_body(self.client, body) for body in things]

    def reset_joints(self, position: Array) -> None:
        """See `Engine`."""
        self.robot.reset(position)

    def joint_state(self) -> tuple[Array, Array]:
        """See `Engine`."""
        return self.robot.state()

    def joint_effort(self) -> Array:
        """See `Engine`."""
        return self.robot.effort()

    def set_target(self, position: Array, velocity: Array) -> None:
        """See `Engine`."""
        self.robot.set_target(position, velocity)

    def weaken_grippers(self, share: float) -> None:
        """See `Engine`."""
        self.robot.weaken_grippers(share)

    def step(self) -> None:
        """See `Engine`."""
        pybullet.stepSimulation(physicsClientId=self.client)
        self._steps += 1

    def link_pose(self, link: str) -> tuple[Array, Array]:
        """See `Engine`."""
        robot = self.robot
        if robot.links[link] < 0:
            return np.zeros(3), np.eye(3)
        state = pybullet.getLinkState(
            robot.body, robot.links[link], computeForwardKinematics=True, physicsClientId=self.client
        )
        return np.array(state[4]), np.array(pybullet.getMatrixFromQuaternion(state[5])).reshape(3, 3)

    def pose(self, thing: int) -> Pose:
        """See `Engine`."""
        position, turn = pybullet.getBasePositionAndOrientation(self.things[thing], physicsClientId=self.client)
        return (*position, *turn)

    def move(self, thing: int, pose: Pose) -> None:
        """See `Engine`."""
        body = self.things[thing]
        pybullet.resetBasePositionAndOrientation(body, pose[:3], pose[3:], physicsClientId=self.client)

    def opening(self, thing: int) -> float:
        """See `Engine`."""
        return float(pybullet.getJointState(self.things[thing], SLIDING, physicsClientId=self.client)[0])

    def set_opening(self, thing: int, opening: float) -> None:
        """See `Engine`."""
        pybullet.resetJointState(self.things[thing], SLIDING, opening, physicsClientId=self.client)

    def gripped(self, thing: int, gripper: int = 0) -> bool:
        """See `Engine`."""
        fingers, body = self.robot.fingers[gripper], self.things[thing]
        return all(
            any(
                contact[9] > GRIP_N
                for contact in pybullet.getContactPoints(self.robot.body, body, finger, physicsClientId=self.client)
            )
            for finger in fingers
        )

    def overlaps(self) -> list[Overlap]:
        """See `Engine`."""
        bodies = {ROBOT: self.robot.body, **dict(enumerate(self.things))}
        found = []
        for one in range(len(self.things)):
            for other in range(ROBOT, one):
                near = pybullet.getClosestPoints(bodies[one], bodies[other], 0.0, physicsClientId=self.client)
                found += [Overlap(one, other, -min(point[8] for point in near))] if near else []
        return found

    def driven(self) -> tuple[float, ...]:
        """See `Engine`."""
        rows = pybullet.getJointStates(self.robot.body, self.robot.joints, physicsClientId=self.client)
        return tuple(row[0] for row in rows)

    def set_driven(self, position: Sequence[float]) -> None:
        """See `Engine`."""
        for joint, value in zip(self.robot.joints, position, strict=True):
            pybullet.resetJointState(self.robot.body, joint, value, physicsClientId=self.client)

    def render(self, view: View, light: Light, width: int, height: int) -> npt.NDArray[np.uint8]:
        """See `Engine`."""
        _, _, rgba, _, _ = pybullet.getCameraImage(
            width,
            height,
            *_matrices(view, width / height),
            lightDirection=light.direction,
            lightColor=light.rgb,
            lightDistance=2.0,
            lightAmbientCoeff=light.ambient,
            lightDiffuseCoeff=1.0 - light.ambient,
            lightSpecularCoeff=0.05,
            shadow=0,
            renderer=pybullet.ER_TINY_RENDERER,
            flags=pybullet.ER_NO_SEGMENTATION_MASK,
            physicsClientId=self.client,
        )
        return np.ascontiguousarray(np.asarray(rgba, dtype=np.uint8).reshape(height, width, 4)[..., :3])

    def background(self, view: View, width: int, height: int) -> npt.NDArray[np.bool_]:
        """See `Engine`."""
        *_, bodies = pybullet.getCameraImage(
            width,
            height,
            *_matrices(view, width / height),
            renderer=pybullet.ER_TINY_RENDERER,
            physicsClientId=self.client,
        )
        return ~np.isin(np.reshape(bodies, (height, width)), [self.robot.body, *self.things])

    def close(self) -> None:
        """See `Engine`."""
        if pybullet.isConnected(physicsClientId=self.client):
            pybullet.disconnect(physicsClientId=self.client)


def _matrices(view: View, aspect: float) -> tuple[list[float], list[float]]:
    """Returns the matrices of a view and of its projection."""
    return (
        pybullet.computeViewMatrix(list(view.eye), list(view.at), list(view.up)),
        pybullet.computeProjectionMatrixFOV(math.degrees(view.height_rad), aspect, view.near, view.far),
    )

"""What somebody writes who needs one robot in one engine: a Gymnasium environment right on PyBullet and on MuJoCo.

Robot, things and step of physics are those of a world of ours, which has loaded them; everything in a step of time
is the engine's own calls. `benchmarks/sim_speed.py` measures what ours costs more.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from tendon.core.types import Array
from tendon.robots.camera_view import camera_axes
from tendon.robots.profile import Camera
from tendon.sim.cameras import mount_of
from tendon.sim.engine import PHYSICS_HZ
from tendon.sim.engine_world import EngineWorld
from tendon.sim.mujoco.camera import EYE
from tendon.sim.mujoco.client import mujoco
from tendon.sim.mujoco.engine import SUBSTEPS, MujocoEngine
from tendon.sim.pybullet.client import pybullet
from tendon.sim.pybullet.engine import BulletEngine

NEAR_M, FAR_M = 0.02, 3.0
Step = tuple[dict[str, Any], float, bool, bool, dict[str, Any]]


class PlainEnv(gymnasium.Env[dict[str, Any], Array]):
    """The base of both: an action is a position of each of k driven joints, an observation what they measure.

    Args:
        world: whose scene is loaded; nobody else steps it.
        camera: whose picture an observation has, `None` for none.
        step_s: how far a step goes.
    """

    def __init__(self, world: EngineWorld, camera: Camera | None, step_s: float) -> None:
        self._count, self._camera, self._profile = round(step_s * PHYSICS_HZ), camera, world.profile
        self._world = world
        joints = spaces.Box(-np.inf, np.inf, (len(world.engine.driven()),), np.float64)
        picture = {"image": spaces.Box(0, 255, (camera.height, camera.width, 3), np.uint8)} if camera else {}
        self.action_space = joints
        self.observation_space = spaces.Dict({"joint_position": joints, "joint_velocity": joints, **picture})

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Returns what is measured; the scene stays."""
        super().reset(seed=seed)
        return self._observe(), {}

    def step(self, action: Array) -> Step:
        """Leads the joints."""
        self._advance(action)
        return self._observe(), 0.0, False, False, {}

    def _advance(self, action: Array) -> None:
        raise NotImplementedError

    def _observe(self) -> dict[str, Any]:
        raise NotImplementedError

    def close(self) -> None:
        """Closes the world."""
        self._world.close()


class PlainBullet(PlainEnv):
    """On PyBullet."""

    def __init__(self, world: EngineWorld, camera: Camera | None, step_s: float) -> None:
        super().__init__(world, camera, step_s)
        assert isinstance(world.engine, BulletEngine)
        self._client, robot = world.engine.client, world.engine.robot
        self._body, self._joints = robot.body, robot.joints
        if camera is not None:
            mount = mount_of(world.profile, camera)
            self._view = pybullet.computeViewMatrix(mount.position, mount.looks_at, mount.up)
            aspect = camera.width / camera.height
            self._lens = pybullet.computeProjectionMatrixFOV(mount.vertical_deg, aspect, NEAR_M, FAR_M)

    def _advance(self, action: Array) -> None:
        pybullet.setJointMotorControlArray(
            self._body,
            self._joints,
            pybullet.POSITION_CONTROL,
            targetPositions=action.tolist(),
            physicsClientId=self._client,
        )
        for _ in range(self._count):
            pybullet.stepSimulation(physicsClientId=self._client)

    def _observe(self) -> dict[str, Any]:
        rows = pybullet.getJointStates(self._body, self._joints, physicsClientId=self._client)
        seen = {
            "joint_position": np.array([row[0] for row in rows]),
            "joint_velocity": np.array([row[1] for row in rows]),
        }
        if self._camera is not None:
            width, height = self._camera.width, self._camera.height
            rgba = pybullet.getCameraImage(
                width,
                height,
                self._view,
                self._lens,
                shadow=0,
                renderer=pybullet.ER_TINY_RENDERER,
                flags=pybullet.ER_NO_SEGMENTATION_MASK,
                physicsClientId=self._client,
            )[2]
            seen["image"] = np.asarray(rgba, dtype=np.uint8).reshape(height, width, 4)[..., :3]
        return seen


class PlainMujoco(PlainEnv):
    """On MuJoCo, with its own `Renderer`."""

    def __init__(self, world: EngineWorld, camera: Camera | None, step_s: float) -> None:
        super().__init__(world, camera, step_s)
        assert isinstance(world.engine, MujocoEngine)
        self._model, self._data = world.engine.model, world.engine.data
        joints = self._model.actuator_trnid[:, 0]
        self._positions, self._dofs = self._model.jnt_qposadr[joints], self._model.jnt_dofadr[joints]
        if camera is not None:
            mount, eye = mount_of(world.profile, camera), self._model.camera(EYE).id
            axes = camera_axes(*(np.array(each) for each in (mount.position, mount.looks_at, mount.up)))
            self._model.cam_pos[eye] = mount.position
            mujoco.mju_mat2Quat(self._model.cam_quat[eye], np.ascontiguousarray(axes.T).ravel())
            self._model.cam_fovy[eye] = mount.vertical_deg
            buffer = self._model.vis.global_
            buffer.offwidth, buffer.offheight = camera.width, camera.height
            self._renderer = mujoco.Renderer(self._model, camera.height, camera.width)

    def _advance(self, action: Array) -> None:
        self._data.ctrl[:] = action
        mujoco.mj_step(self._model, self._data, SUBSTEPS * self._count)

    def _observe(self) -> dict[str, Any]:
        seen = {"joint_position": self._data.qpos[self._positions], "joint_velocity": self._data.qvel[self._dofs]}
        if self._camera is not None:
            self._renderer.update_scene(self._data, EYE)
            seen["image"] = self._renderer.render()
        return seen

    def close(self) -> None:
        """Closes renderer and world."""
        if self._camera is not None:
            self._renderer.close()
        super().close()


PLAIN = {"pybullet": PlainBullet, "mujoco": PlainMujoco}

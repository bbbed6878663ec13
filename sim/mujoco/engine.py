"""MuJoCo as an `Engine`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tendon.core.errors import ConfigError
from tendon.core.types import Array, freeze
from tendon.sim.bodies import Body
from tendon.sim.engine import GRIP_N, PHYSICS_HZ, ROBOT, Light, Overlap, Pose, View
from tendon.sim.mujoco.camera import Camera, add_camera
from tendon.sim.mujoco.client import mujoco
from tendon.sim.mujoco.robot import Servos, add_robot, hold_fast
from tendon.sim.mujoco.things import add_body
from tendon.sim.robot_body import RobotBody

SUBSTEPS = 2
"""Steps of MuJoCo in one of ours: contacts of things that are held need less than 3 ms."""


class MujocoEngine:
    """MuJoCo frees the GIL while it steps and draws.

    Args:
        robot: what it loads.
        gui: is refused: MuJoCo's window needs a process of its own.
        fine: draw for people: slower, with shadows and smooth edges.

    Raises:
        ConfigError: a window was asked for.
    """

    def __init__(self, robot: RobotBody, gui: bool = False, fine: bool = False) -> None:
        if gui:
            raise ConfigError("gui:=true needs PyBullet's window: take simulator:=pybullet, or look with `tendon view`")
        self._robot, self._fine = robot, fine
        self._camera: Camera | None = None
        self._steps = 0

    @property
    def middle_off(self) -> tuple[float, float]:
        """See `Engine`: OpenGL draws what is seen at a pixel's centre."""
        return 0.0, 0.0

    @property
    def time_ns(self) -> int:
        """See `Engine`."""
        return self._steps * 1_000_000_000 // PHYSICS_HZ

    def load(self, surroundings: Sequence[Body], things: Sequence[Body]) -> None:
        """See `Engine`."""
        spec = add_robot(self._robot)
        spec.option.timestep = 1.0 / (PHYSICS_HZ * SUBSTEPS)
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        spec.option.cone, spec.option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, 10.0  # what is held does not creep
        hold_fast(spec, self._robot)
        for kind, bodies in (("surrounding", surroundings), ("thing", things)):
            for number, body in enumerate(bodies):
                add_body(spec, f"{kind}{number}", body)
        add_camera(spec, self._fine)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self._steps = 0
        self.close()  # its camera draws the model before
        self._bodies = [self.model.body(f"thing{k}").id for k in range(len(things))]
        self._surroundings = [self.model.body(f"surrounding{k}").id for k in range(len(surroundings))]
        self._slides = {
            k: self.model.joint(f"thing{k}/slide") for k, body in enumerate(things) if body.slide is not None
        }
        for k, body in enumerate(things):
            if body.slide is not None:
                self.data.qpos[self._slides[k].qposadr[0]] = body.slide.opening
        self._parts = {k: {body, *self._below(body)} for k, body in enumerate(self._bodies)}
        self._fingers = [[self.model.body(link).id for link in links] for links in self._robot.fingers]
        self._servos = Servos(self.model, self.data, self._robot)
        mujoco.mj_forward(self.model, self.data)

    def _below(self, body: int) -> list[int]:
        return [child for child in range(self.model.nbody) if self.model.body_parentid[child] == body]

    def reset_joints(self, position: Array) -> None:
        """See `Engine`."""
        self.set_driven(self._servos.spread(position).tolist())
        self._servos.tune()
        self.set_target(position, np.zeros(len(position)))

    def joint_state(self) -> tuple[Array, Array]:
        """See `Engine`."""
        servos, count = self._servos, self._robot.count
        return (
            freeze("joint_position", self.data.qpos[servos.positions[:count]], (count,)),
            freeze("joint_velocity", self.data.qvel[servos.dofs[:count]], (count,)),
        )

    def joint_effort(self) -> Array:
        """See `Engine`."""
        count = self._robot.count
        return freeze("joint_effort", self.data.actuator_force[:count], (count,))

    def set_target(self, position: Array, velocity: Array) -> None:
        """See `Engine`."""
        self._servos.set_target(position, velocity)

    def weaken_grippers(self, share: float) -> None:
        """See `Engine`."""
        self._servos.weaken_grippers(share)

    def step(self) -> None:
        """See `Engine`."""
        mujoco.mj_step(self.model, self.data, SUBSTEPS)
        mujoco.mj_kinematics(self.model, self.data)  # else poses are those before the last substep
        self._steps += 1

    def link_pose(self, link: str) -> tuple[Array, Array]:
        """See `Engine`."""
        body = self.data.body(link)
        return body.xpos.copy(), body.xmat.reshape(3, 3).copy()

    def pose(self, thing: int) -> Pose:
        """See `Engine`."""
        body = self._bodies[thing]
        x, y, z = self.data.xpos[body].tolist()
        qw, qx, qy, qz = self.data.xquat[body].tolist()
        return x, y, z, qx, qy, qz, qw

    def move(self, thing: int, pose: Pose) -> None:
        """See `Engine`."""
        body = self._bodies[thing]
        place = [*pose[:3], pose[6], *pose[3:6]]
        if self.model.body_jntnum[body]:
            joint = self.model.joint(self.model.body_jntadr[body])
            self.data.qpos[joint.qposadr[0] : joint.qposadr[0] + 7] = place
            self.data.qvel[joint.dofadr[0] : joint.dofadr[0] + 6] = 0.0
        else:
            self.model.body_pos[body], self.model.body_quat[body] = place[:3], place[3:]
        mujoco.mj_forward(self.model, self.data)

    def opening(self, thing: int) -> float:
        """See `Engine`."""
        return float(self.data.qpos[self._slides[thing].qposadr[0]])

    def set_opening(self, thing: int, opening: float) -> None:
        """See `Engine`."""
        slide = self._slides[thing]
        self.data.qpos[slide.qposadr[0]], self.data.qvel[slide.dofadr[0]] = opening, 0.0
        mujoco.mj_forward(self.model, self.data)

    def gripped(self, thing: int, gripper: int = 0) -> bool:
        """See `Engine`."""
        return all(self._presses(finger, self._parts[thing]) for finger in self._fingers[gripper])

    def _presses(self, finger: int, parts: set[int]) -> bool:
        force = np.zeros(6)
        for k, (one, other) in enumerate(self.model.geom_bodyid[self.data.contact.geom].tolist()):
            if (one == finger and other in parts) or (other == finger and one in parts):
                mujoco.mj_contactForce(self.model, self.data, k, force)
                if force[0] > GRIP_N:
                    return True
        return False

    def overlaps(self) -> list[Overlap]:
        """See `Engine`."""
        owner = {body: thing for thing, bodies in self._parts.items() for body in bodies}
        surroundings = {0, *self._surroundings}
        deepest: dict[tuple[int, int], float] = {}
        contact = self.data.contact
        for bodies, distance in zip(self.model.geom_bodyid[contact.geom].tolist(), contact.dist, strict=True):
            if surroundings.isdisjoint(bodies):
                other, one = sorted(owner.get(body, ROBOT) for body in bodies)
                if one != other:
                    deepest[one, other] = max(deepest.get((one, other), 0.0), -float(distance))
        return [Overlap(one, other, depth) for (one, other), depth in deepest.items()]

    def driven(self) -> tuple[float, ...]:
        """See `Engine`."""
        return tuple(self.data.qpos[self._servos.positions].tolist())

    def set_driven(self, position: Sequence[float]) -> None:
        """See `Engine`."""
        self.data.qpos[self._servos.positions] = position
        self.data.qvel[self._servos.dofs] = 0.0
        mujoco.mj_forward(self.model, self.data)

    def render(self, view: View, light: Light, width: int, height: int) -> npt.NDArray[np.uint8]:
        """See `Engine`."""
        if self._camera is None:
            self._camera = Camera(self.model)
        return self._camera.draw(self.data, view, light, width, height)

    def background(self, view: View, width: int, height: int) -> npt.NDArray[np.bool_]:
        """See `Engine`."""
        if self._camera is None:
            self._camera = Camera(self.model)
        bodies = self._camera.bodies(self.data, view, width, height)
        return np.isin(bodies, [0, *self._surroundings])

    def close(self) -> None:
        """See `Engine`."""
        if self._camera is not None:
            self._camera.close()
            self._camera = None

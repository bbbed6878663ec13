"""A running robot as a Rerun recording: links, cameras, plan, margin and mode on the robot's own clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from tendon.core.distribution import pip_install
from tendon.core.errors import MissingDependencyError
from tendon.core.types import Array
from tendon.pictures.palette import pastel_colour
from tendon.robots.collision.fit import LinkMesh
from tendon.robots.collision.model import load_collisions
from tendon.robots.environment import Environment
from tendon.robots.model import link_index, load_model
from tendon.robots.profile import RobotProfile
from tendon.robots.shapes import Capsule, Cuboid, HalfSpace, Shape, Sphere
from tendon.safety.reports import ControlState

if TYPE_CHECKING:
    import rerun

APPLICATION = "tendon"
TIMELINE = "robot time"
ENVIRONMENT_RGB = (200, 190, 170)
PLAN_RGB, WORKSPACE_RGB = (240, 120, 20), (120, 120, 120)
FLOOR_M, FLOOR_THICKNESS_M = 2.0, 0.002
"""A half space is shown as a plate of this size."""
JPEG_QUALITY = 80


def require_rerun() -> None:
    """Checks that Rerun can be imported.

    Raises:
        MissingDependencyError: it cannot; the message says how to get it.
    """
    try:
        import rerun
    except ImportError as error:
        raise MissingDependencyError(f"the live view needs Rerun ({error}): {pip_install('view')}") from error
    del rerun


class LiveScene:
    """Logs what it is given. Any thread, one at a time.

    Args:
        stream: where it goes; its sink (viewer, file, web) is the caller's.
        profile: the robot.
        environment: what stands around it.
        meshes: the surfaces of its links; without them its collision model is shown.
    """

    def __init__(
        self,
        stream: rerun.RecordingStream,
        profile: RobotProfile,
        environment: Environment | None = None,
        meshes: Sequence[LinkMesh] = (),
    ) -> None:
        import rerun as rr

        self._rr, self._stream, self._profile = rr, stream, profile
        robot = load_model(profile)
        self._robot, self._data = robot, robot.model.createData()
        self._tool = link_index(robot.model, profile.tool_frame)
        self._links: dict[str, int] = {}
        self._said = ""
        stream.log("robot", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
        bodies = {} if profile.collision_file is None else load_collisions(profile.collision_file).bodies
        for i, link in enumerate(dict.fromkeys([mesh.link for mesh in meshes] or list(bodies))):
            self._links[link] = link_index(robot.model, link)
            rgb = [round(255 * part) for part in pastel_colour(i)]
            if not meshes:
                self._log_shapes(f"robot/{link}", bodies[link], rgb)
        for mesh in meshes:
            self._log_mesh(mesh)
        for name, shapes in (environment.bodies if environment is not None else {}).items():
            self._log_shapes(f"robot/environment/{name}", shapes, ENVIRONMENT_RGB)
        box = profile.workspace
        corners = np.array([box.lower, box.upper])
        stream.log(
            "robot/workspace",
            rr.Boxes3D(mins=[corners[0]], sizes=[corners[1] - corners[0]], colors=[WORKSPACE_RGB]),
            static=True,
        )
        stream.send_blueprint(self._blueprint())

    def joints(self, stamp_ns: int, position: Array, velocity: Array) -> None:
        """Shows a joint state: (n,) position [rad or m] and velocity, in the profile's order."""
        self._at(stamp_ns)
        pin.framesForwardKinematics(self._robot.model, self._data, self._robot.expand(position))
        for link, index in self._links.items():
            pose = self._data.oMf[index]
            self._stream.log(f"robot/{link}", self._rr.Transform3D(translation=pose.translation, mat3x3=pose.rotation))
        for name, value, speed in zip(self._profile.joint_names, position, velocity, strict=True):
            self._stream.log(f"joints/position/{name}", self._rr.Scalars(value))
            self._stream.log(f"joints/velocity/{name}", self._rr.Scalars(speed))

    def plan(self, stamp_ns: int, source: str, rows: Array) -> None:
        """Shows the tool's path along the (T, n) rows of an action chunk."""
        self._at(stamp_ns)
        path = []
        for row in rows:
            pin.framesForwardKinematics(self._robot.model, self._data, self._robot.expand(row))
            path.append(self._data.oMf[self._tool].translation.copy())
        self._stream.log(
            f"robot/plan/{source}", self._rr.LineStrips3D([path], colors=[PLAN_RGB], radii=[0.003], labels=[source])
        )

    def image(self, stamp_ns: int, camera: str, pixels: npt.NDArray[np.uint8]) -> None:
        """Shows a camera's (height, width, 3) RGB frame."""
        self._at(stamp_ns)
        self._stream.log(f"cameras/{camera}", self._rr.Image(pixels).compress(jpeg_quality=JPEG_QUALITY))

    def state(self, stamp_ns: int, state: ControlState) -> None:
        """Shows the filter's margin, and mode and reason whenever they change."""
        self._at(stamp_ns)
        self._stream.log("safety/margin", self._rr.Scalars(state.margin))
        mode, least = state.mode.value, f", least free: {state.binding}" if state.binding else ""
        said = f"{mode}: {state.reason}" if state.reason else mode
        if said != self._said:
            self._said = said
            self._stream.log("safety/log", self._rr.TextLog(said))
        text = f"**{mode}** {state.reason}\n\nmargin {state.margin:.3f}{least}"
        self._stream.log("safety/mode", self._rr.TextDocument(text, media_type=self._rr.MediaType.MARKDOWN))

    def _at(self, stamp_ns: int) -> None:
        self._stream.set_time(TIMELINE, timestamp=np.datetime64(stamp_ns, "ns"))

    def _blueprint(self) -> rerun.blueprint.Blueprint:
        import rerun.blueprint as rrb

        cameras = [rrb.Spatial2DView(origin=f"cameras/{each.name}", name=each.name) for each in self._profile.cameras]
        side: list[Any] = [
            *([rrb.Horizontal(*cameras)] if cameras else []),
            rrb.TextDocumentView(origin="safety/mode", name="mode"),
            rrb.TimeSeriesView(origin="safety/margin", name="filter margin"),
            rrb.TimeSeriesView(origin="joints/position", name="joints"),
        ]
        scene = rrb.Spatial3DView(origin="robot", name=self._profile.name)
        return rrb.Blueprint(rrb.Horizontal(scene, rrb.Vertical(*side), column_shares=[3, 2]), collapse_panels=True)

    def _log_mesh(self, mesh: LinkMesh) -> None:
        corners = mesh.triangles.reshape(-1, 3)
        faces = np.arange(len(corners)).reshape(-1, 3)
        normals = np.cross(
            mesh.triangles[:, 1] - mesh.triangles[:, 0], mesh.triangles[:, 2] - mesh.triangles[:, 0]
        ).repeat(3, axis=0)
        length = np.linalg.norm(normals, axis=1, keepdims=True)
        self._stream.log(
            f"robot/{mesh.link}/mesh",
            self._rr.Mesh3D(
                vertex_positions=corners,
                triangle_indices=faces,
                vertex_normals=normals / np.where(length, length, 1.0),
                albedo_factor=[round(255 * part) for part in pastel_colour(list(self._links).index(mesh.link))],
            ),
            static=True,
        )

    def _log_shapes(self, place: str, shapes: Sequence[Shape], rgb: Sequence[int]) -> None:
        for i, shape in enumerate(shapes):
            self._stream.log(f"{place}/shape{i}", self._archetype(shape, rgb), static=True)

    def _archetype(self, shape: Shape, rgb: Sequence[int]) -> rerun.AsComponents:
        rr = self._rr
        look: dict[str, Any] = {"colors": [rgb], "fill_mode": "solid"}
        if isinstance(shape, Sphere):
            return rr.Ellipsoids3D(centers=[shape.centre], radii=[shape.radius], **look)
        if isinstance(shape, Capsule):
            a, b = np.array(shape.a), np.array(shape.b)
            turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), b - a) if (a != b).any() else None
            turns = [rr.Quaternion(xyzw=[0, 0, 0, 1] if turn is None else turn.coeffs())]
            length = float(np.linalg.norm(b - a))
            return rr.Capsules3D(lengths=[length], radii=[shape.radius], translations=[a], quaternions=turns, **look)
        if isinstance(shape, Cuboid):
            turns = [rr.Quaternion(xyzw=pin.Quaternion(pin.rpy.rpyToMatrix(*shape.rpy)).coeffs())]
            return rr.Boxes3D(centers=[shape.centre], sizes=[shape.size], quaternions=turns, **look)
        return self._plate(shape, look)

    def _plate(self, shape: HalfSpace, look: dict[str, Any]) -> rerun.AsComponents:
        normal = np.array(shape.normal)
        turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), normal)
        centre = normal * (shape.offset - FLOOR_THICKNESS_M / 2)
        size = [FLOOR_M, FLOOR_M, FLOOR_THICKNESS_M]
        turns = [self._rr.Quaternion(xyzw=turn.coeffs())]
        return self._rr.Boxes3D(centers=[centre], sizes=[size], quaternions=turns, **look)

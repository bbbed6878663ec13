"""A rig as something to fit: where cameras and boards are, the joints' zeros, intrinsics on choice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tendon.calibration.cameras.model import CameraModel
from tendon.calibration.rig.chain import Chain
from tendon.calibration.rig.parts import Rig, View
from tendon.calibration.transforms import Pose, skews
from tendon.core.types import Array


@dataclass(frozen=True, kw_only=True, eq=False)
class RigState:
    """A guess; see `tendon.calibration.fitting.State`.

    A change is, in this order: (6,) of each camera, (6,) of each board, a number for each joint of `rig.joints`, the
    change of `CameraModel.values` of each camera that is refined.

    Attributes:
        rig: what there is.
        views: in order; corners of one follow those of the one before.
        chain: kinematics of the robot.
        cameras: where each camera is on its link.
        boards: where each board is on its link.
        zeros: (n,) how much larger each joint is said to be than it is, rad or m.
        models: intrinsics of each camera.
        shares_joints: whether the robot is not exactly where it says, view by view.
        scale_of: a board whose size is one more unknown, at the end of a change, to tell whether it was given wrong.
        scale: how much larger it is than it was said to be.
    """

    rig: Rig
    views: tuple[View, ...]
    chain: Chain
    cameras: Mapping[str, Pose]
    boards: Mapping[str, Pose]
    zeros: Array
    models: Mapping[str, CameraModel]
    shares_joints: bool = True
    scale_of: str = ""
    scale: float = 1.0

    @property
    def groups(self) -> npt.NDArray[np.int64]:
        """See `State`."""
        return np.repeat(np.arange(len(self.views)), [len(view.found.ids) for view in self.views])

    @property
    def kinds(self) -> npt.NDArray[np.int64]:
        """See `State`: corners of one board in pictures of one camera."""
        pairs = [(view.camera, view.board) for view in self.views]
        known = list(dict.fromkeys(pairs))
        return np.array([known.index(pair) for pair in pairs])[self.groups]

    @property
    def size(self) -> int:
        """m: how long a change is."""
        return max(place.stop for place in self.places().values()) + bool(self.scale_of)

    def places(self) -> dict[tuple[str, str], slice]:
        """Returns where in a change what is: ("camera", name), ("board", name), ("joint", name), ("model", name)."""
        found, begin = dict[tuple[str, str], slice](), 0
        parts = [("camera", camera.name, 6) for camera in self.rig.cameras]
        parts += [("board", board.name, 6) for board in self.rig.boards]
        parts += [("joint", joint, 1) for joint in self.rig.joints]
        parts += [("model", c.name, len(self.models[c.name].values)) for c in self.rig.cameras if c.refine]
        for kind, name, length in parts:
            found[kind, name] = slice(begin, begin + length)
            begin += length
        return found

    def linearise(self) -> tuple[Array, Array]:
        """See `State`."""
        residuals, jacobian, _ = self._derived
        return residuals, jacobian

    def shared(self) -> Array | None:
        """See `State`: what the robot's joints would do to a view."""
        return self._derived[2] if self.shares_joints else None

    def prior(self) -> tuple[Array, Array]:
        """See `State`: boards whose place is known, zeros and lenses that were calibrated before."""
        rows, places = [], self.places()
        for board in self.rig.boards:
            if board.known is not None:
                weight = np.repeat([1.0 / board.known_m, 1.0 / board.known_rad], 3)
                row = np.zeros((6, self.size))
                row[:, places["board", board.name]] = np.diag(weight)
                rows.append((weight * self.boards[board.name].change_to(board.known), row))
        told = [joint for joint in self.rig.joints if joint in self.rig.known.joints]
        if told:
            names = self.rig.profile.joint_names
            now = np.array([self.zeros[names.index(joint)] for joint in told])
            known, covariance = self.rig.known.of(told)
            root = np.linalg.inv(np.linalg.cholesky(covariance))
            row = np.zeros((len(now), self.size))
            row[:, [places["joint", joint].start for joint in told]] = root
            rows.append((root @ (known - now), row))
        for camera in self.rig.cameras:
            if camera.refine and camera.lens_covariance is not None:
                # Of rank less than full where a lens has no such distortion: a floor keeps it invertible.
                spread = np.sqrt(np.diag(camera.lens_covariance)) + 1e-9
                scaled = camera.lens_covariance / np.outer(spread, spread) + 1e-9 * np.eye(len(spread))
                root = np.linalg.inv(np.linalg.cholesky(scaled)) / spread
                row = np.zeros((len(spread), self.size))
                row[:, places["model", camera.name]] = root
                rows.append((root @ (camera.model.values - self.models[camera.name].values), row))
        if not rows:
            return np.zeros(0), np.zeros((0, self.size))
        return np.concatenate([known for known, _ in rows]), np.concatenate([row for _, row in rows])

    def moved(self, change: Array) -> RigState:
        """See `State`."""
        places = self.places()
        cameras = {name: pose.moved(change[places["camera", name]]) for name, pose in self.cameras.items()}
        boards = {name: pose.moved(change[places["board", name]]) for name, pose in self.boards.items()}
        zeros, models = self.zeros.copy(), dict(self.models)
        for joint in self.rig.joints:
            zeros[self.rig.profile.joint_names.index(joint)] += change[places["joint", joint]][0]
        for camera in self.rig.cameras:
            if camera.refine:
                values = models[camera.name].values + change[places["model", camera.name]]
                values[:2] = np.maximum(values[:2], 0.2 * models[camera.name].focal)
                models[camera.name] = models[camera.name].with_values(values)
        scale = self.scale + (change[-1] if self.scale_of else 0.0)
        return replace(self, cameras=cameras, boards=boards, zeros=zeros, models=models, scale=scale)

    @cached_property
    def _derived(self) -> tuple[Array, Array, Array]:
        """Residuals, derivatives by a change, and those by the joints of the view's arm."""
        groups, places = self.groups, self.places()
        names = self.rig.profile.joint_names
        columns = [names.index(joint) for joint in self.rig.joints]
        count, moving = len(groups), self.moving()
        in_camera, by_all = np.empty((count, 3)), np.zeros((count, 3, self.size))
        by_joints = np.empty((count, 3, len(moving)))
        begin = 0
        for view in self.views:
            here = slice(begin, begin + len(view.found.ids))
            begin = here.stop
            camera, board = self.rig.camera(view.camera), self.rig.board(view.board)
            mount, place = self.cameras[view.camera], self.boards[view.board]
            (eye, eye_by), (bearer, bearer_by) = self.chain.poses(view.joints - self.zeros, (camera.link, board.link))
            points = board.board.points[view.found.ids]
            points = points * self.scale if view.board == self.scale_of else points
            arms = points @ place.rotation.T
            in_base = bearer.apply(arms + place.translation)
            to_camera = (eye.rotation @ mount.rotation).T
            from_eye = in_base - eye.apply(mount.translation)
            in_camera[here] = from_eye @ to_camera.T
            to_link = mount.rotation.T
            offset = from_eye @ eye.rotation
            spot = places["camera", view.camera]
            by_all[here, :, spot.start : spot.start + 3] = -to_link
            by_all[here, :, spot.start + 3 : spot.stop] = to_link @ skews(offset)
            spot, turn = places["board", view.board], to_camera @ bearer.rotation
            by_all[here, :, spot.start : spot.start + 3] = turn
            by_all[here, :, spot.start + 3 : spot.stop] = -turn @ skews(arms)
            carried = bearer_by[:3] - skews(in_base - bearer.translation) @ bearer_by[3:]
            watching = eye_by[:3] - skews(in_base - eye.translation) @ eye_by[3:]
            relative = to_camera @ (carried - watching)
            by_joints[here] = relative[:, :, moving]
            for joint, column in zip(self.rig.joints, columns, strict=True):
                by_all[here, :, places["joint", joint].start] = -relative[:, :, column]
            if self.scale_of == view.board:
                by_all[here, :, -1] = arms / self.scale @ turn.T
        residuals, jacobian = np.empty((count, 2)), np.zeros((count, 2, self.size))
        shared = np.empty((count, 2, len(moving)))
        owners = np.array([view.camera for view in self.views])[groups]
        seen = np.concatenate([view.found.pixels for view in self.views])
        for camera in self.rig.cameras:
            mine = owners == camera.name
            if not mine.any():
                continue
            pixels, by_point, by_values = self.models[camera.name].project(in_camera[mine])
            residuals[mine] = seen[mine] - pixels
            jacobian[mine] = by_point @ by_all[mine]
            shared[mine] = by_point @ by_joints[mine]
            if camera.refine:
                spot = places["model", camera.name]
                jacobian[mine, :, spot.start : spot.stop] = by_values
        return residuals, jacobian, shared

    def moving(self) -> list[int]:
        """Returns which joints move a camera or a board."""
        names = self.rig.profile.joint_names
        links = {camera.link for camera in self.rig.cameras} | {board.link for board in self.rig.boards}
        urdf_moving = self.chain.movers(tuple(sorted(links)))
        return [k for k in range(len(names)) if k in urdf_moving]

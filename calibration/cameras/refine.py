"""A camera and the places of a board, refined together over all corners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tendon.calibration.boards.board import Board
from tendon.calibration.boards.detect import Detection
from tendon.calibration.cameras.model import CameraModel
from tendon.calibration.fitting import fit
from tendon.calibration.transforms import Pose, skews
from tendon.core.types import Array


@dataclass(frozen=True, kw_only=True, eq=False)
class LensState:
    """A camera and where the board was in each view; see `tendon.calibration.fitting.State`."""

    board: Board
    views: tuple[Detection, ...]
    model: CameraModel
    poses: tuple[Pose, ...]
    points: tuple[Array, ...]

    @property
    def groups(self) -> npt.NDArray[np.int64]:
        """See `State`."""
        return np.repeat(np.arange(len(self.views)), [len(view.ids) for view in self.views])

    @property
    def kinds(self) -> npt.NDArray[np.int64]:
        """See `State`: one board, one camera."""
        return np.zeros(len(self.groups), np.int64)

    def linearise(self) -> tuple[Array, Array]:
        """See `State`."""
        own, groups = len(self.model.values), self.groups
        turns = np.array([pose.rotation for pose in self.poses])[groups]
        shifts = np.array([pose.translation for pose in self.poses])[groups]
        arms = np.einsum("kij,kj->ki", turns, np.concatenate(self.points))
        pixels, by_point, by_values = self.model.project(arms + shifts)
        jacobian = np.zeros((len(groups), 2, own + 6 * len(self.views)))
        jacobian[:, :, :own] = by_values
        by_pose = np.concatenate([by_point, -by_point @ skews(arms)], axis=2)
        for k in range(len(self.views)):
            here = groups == k
            jacobian[here, :, own + 6 * k : own + 6 * k + 6] = by_pose[here]
        return np.concatenate([view.pixels for view in self.views]) - pixels, jacobian

    def prior(self) -> tuple[Array, Array]:
        """See `State`: nothing is known."""
        return np.zeros(0), np.zeros((0, len(self.model.values) + 6 * len(self.views)))

    def shared(self) -> None:
        """See `State`: no robot, nothing shared."""

    def moved(self, change: Array) -> LensState:
        """See `State`."""
        own = len(self.model.values)
        values = self.model.values + change[:own]
        values[:2] = np.maximum(values[:2], 0.2 * self.model.focal)
        poses = tuple(pose.moved(change[own + 6 * k : own + 6 * k + 6]) for k, pose in enumerate(self.poses))
        return replace(self, model=self.model.with_values(values), poses=poses)


@dataclass(frozen=True, kw_only=True, eq=False)
class Refined:
    """A camera, how sure it is, and which corners count in each view."""

    model: CameraModel
    covariance: Array
    kept: tuple[npt.NDArray[np.bool_], ...]
    view_rms_px: tuple[float, ...]
    rms_px: float


def refine_intrinsics(board: Board, views: Sequence[Detection], model: CameraModel, poses: Sequence[Pose]) -> Refined:
    """Returns the camera for which all corners fit best, from a start that is not too far off."""
    points = tuple(board.points[view.ids] for view in views)
    found = fit(LensState(board=board, views=tuple(views), model=model, poses=tuple(poses), points=points))
    own, groups = len(model.values), found.state.groups
    return Refined(
        model=found.state.model,
        covariance=found.covariance[:own, :own],
        kept=tuple(found.kept[groups == k] for k in range(len(views))),
        view_rms_px=found.view_rms_px(),
        rms_px=found.rms_px,
    )

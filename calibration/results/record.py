"""What a calibration says, as it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone

import numpy as np

from tendon.calibration.cameras.model import CameraModel, Lens
from tendon.calibration.rig.solve import RigCalibration
from tendon.calibration.transforms import Pose, from_quaternion
from tendon.core.checks import closest
from tendon.core.errors import ConfigError
from tendon.core.types import Array
from tendon.robots.calibration import FORMAT

Numbers = tuple[float, ...]


ROUNDING = 1e-6
"""Of a covariance, a share of its largest variance."""


def check_covariance(name: str, values: Array) -> None:
    """Checks that (n, n) values are a covariance: symmetric, and no variance below 0.

    Raises:
        ConfigError: they are none.
    """
    scale = np.sqrt(np.maximum(np.diag(values), 1e-24))
    shares = values / np.outer(scale, scale)
    if (np.abs(shares - shares.T) > ROUNDING).any() or np.linalg.eigvalsh(shares)[0] < -ROUNDING * len(shares):
        raise ConfigError(f"{name} is no covariance (symmetric, no variance below 0): calibrate again")


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where something is on its link.

    Attributes:
        link: that carries it.
        translation: x, y, z [m] in that link's frame.
        rotation: quaternion x, y, z, w.
        covariance: 6 rows of 6: translation [m], then a rotation vector [rad], in that link's axes.
    """

    link: str
    translation: Numbers
    rotation: Numbers
    covariance: tuple[Numbers, ...]

    @property
    def pose(self) -> Pose:
        """The same as a pose."""
        return Pose(rotation=from_quaternion(*self.rotation), translation=np.array(self.translation))

    @property
    def spread(self) -> Array:
        """(6, 6) the covariance."""
        return np.array(self.covariance)

    def __post_init__(self) -> None:
        if len(self.translation) != 3 or len(self.rotation) != 4 or np.shape(self.covariance) != (6, 6):
            raise ConfigError("a place needs translation of 3, rotation of 4 and covariance of 6 x 6 numbers")
        object.__setattr__(self, "covariance", tuple(tuple(row) for row in self.covariance))
        check_covariance(f"covariance of a place on {self.link}", self.spread)


@dataclass(frozen=True, kw_only=True)
class CameraRecord:
    """A camera: intrinsics, place, clock.

    Attributes:
        lens: see `CameraModel`; likewise the next five.
        place: its optical frame, z forward, on its link.
        rms_px: of the reprojection error.
        views: that show a board.
        with_zeros: 6 rows: covariance of its place with the zero of each joint, in the order of `joints`.
        latency_s: how much later than the exposure its stamp is; `None` is not measured.
        latency_deviation_s: of that.
    """

    lens: Lens
    width: int
    height: int
    focal: Numbers
    centre: Numbers
    distortion: Numbers
    place: Place
    rms_px: float
    views: int
    with_zeros: tuple[Numbers, ...] = ()
    latency_s: float | None = None
    latency_deviation_s: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "with_zeros", tuple(tuple(row) for row in self.with_zeros))

    @property
    def model(self) -> CameraModel:
        """Its intrinsics."""
        return CameraModel(
            lens=self.lens,
            width=self.width,
            height=self.height,
            focal=np.array(self.focal),
            centre=np.array(self.centre),
            distortion=np.array(self.distortion),
        )


@dataclass(frozen=True, kw_only=True)
class JointRecord:
    """A joint.

    Attributes:
        zero: how much larger it is said to be than it is, rad or m.
        deviation: standard deviation of that.
    """

    zero: float
    deviation: float


@dataclass(frozen=True, kw_only=True)
class CalibrationRecord:
    """A calibration.

    Attributes:
        format: of the file.
        robot: name of the profile.
        date: when it was made, ISO 8601 in UTC.
        cameras: by name.
        boards: by name: where they were.
        joints: whose zero was found.
        zero_covariance: a row for each of them.
        measured: zeros that were found without a camera, by stops or a jig: what views tell is added to that.
        held: joints whose zero the views did not tell: why.
        sigma_px: standard deviation of a corner's column or row.
        shared_rad: how far off the robot was where it said, a standard deviation of a joint [rad].
        command_latency_s: from a command to the motion; `None` is not measured.
        dates: when each part was found: "camera NAME", "board NAME", "joint NAME", "latency of camera NAME", "latency
            of commands".
        found_with: zeros of now that are not those a part was found with: what they were then, by part and joint.
        stale: where that is more than the zero was known then, in 95 %: by how much it is larger now, rad or m.
        verdict: "good" or what is doubtful, in words; of the last views.
        sha256: of all other values.
    """

    format: int = FORMAT
    robot: str
    date: str
    cameras: Mapping[str, CameraRecord]
    boards: Mapping[str, Place] = field(default_factory=dict)
    joints: Mapping[str, JointRecord] = field(default_factory=dict)
    zero_covariance: tuple[Numbers, ...] = ()
    measured: Mapping[str, JointRecord] = field(default_factory=dict)
    held: Mapping[str, str] = field(default_factory=dict)
    sigma_px: float
    shared_rad: float = 0.0
    command_latency_s: float | None = None
    dates: Mapping[str, str] = field(default_factory=dict)
    found_with: Mapping[str, Mapping[str, JointRecord]] = field(default_factory=dict)
    stale: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    verdict: str = "good"
    sha256: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "zero_covariance", tuple(tuple(row) for row in self.zero_covariance))
        count = len(self.joints)
        if np.shape(self.zero_covariance) != ((count, count) if count else (0,)):
            raise ConfigError(f"zero_covariance must have {count} rows of {count}, one for each joint: calibrate again")
        if count:
            check_covariance("zero_covariance", np.array(self.zero_covariance))
        for name, camera in self.cameras.items():
            if count and np.shape(camera.with_zeros) != (6, count):
                raise ConfigError(f"camera {name} with_zeros must have 6 rows of {count}: calibrate again")

    def board(self, name: str, link: str) -> Place:
        """Returns where a board lies on a link.

        Raises:
            ConfigError: it is none of the calibration, or on another link.
        """
        if name not in self.boards:
            raise ConfigError(f"the calibration has no board {name}{closest(name, tuple(self.boards))}")
        if self.boards[name].link != link:
            raise ConfigError(
                f"board {name} is on link {self.boards[name].link}, must be on {link}: take one that lies still"
            )
        return self.boards[name]


def without_cameras(robot: str, zeros: Mapping[str, JointRecord]) -> CalibrationRecord:
    """Returns a calibration of joints alone, whose zeros were found one by one."""
    rows = tuple(tuple(zeros[one].deviation ** 2 if one == other else 0.0 for other in zeros) for one in zeros)
    return CalibrationRecord(
        robot=robot, date=now(), cameras={}, joints=dict(zeros), zero_covariance=rows, sigma_px=0.0
    )


def record_of(found: RigCalibration, verdict: str) -> CalibrationRecord:
    """Returns what is kept of a calibration."""
    state, fit = found.state, found.fit
    rig, cameras, places = state.rig, {}, state.places()
    columns = [places["joint", joint].start for joint in rig.joints]
    square, groups = np.mean(fit.residuals**2, axis=1), state.groups
    for camera in rig.cameras:
        model = state.models[camera.name]
        mine = np.array([view.camera == camera.name for view in state.views])
        counted = mine[groups] & fit.kept
        cameras[camera.name] = CameraRecord(
            lens=model.lens,
            width=model.width,
            height=model.height,
            focal=_numbers(model.focal),
            centre=_numbers(model.centre),
            distortion=_numbers(model.distortion),
            place=place_of(camera.link, state.cameras[camera.name], found.covariance("camera", camera.name)),
            rms_px=rounded(float(np.sqrt(square[counted].mean())) if counted.any() else 0.0),
            views=int(mine.sum()),
            with_zeros=tuple(_numbers(row) for row in fit.covariance[places["camera", camera.name]][:, columns])
            if columns
            else (),
        )
    boards = {
        board.name: place_of(board.link, state.boards[board.name], found.covariance("board", board.name))
        for board in rig.boards
    }
    joints = {
        name: JointRecord(zero=rounded(zero), deviation=rounded(spread))
        for name, (zero, spread) in ((joint, found.zero(joint)) for joint in rig.joints)
    }
    date, asked = now(), [joint for joint in rig.joints if joint not in rig.known.kept]
    parts = {"camera": list(cameras), "board": list(boards), "joint": asked}
    return CalibrationRecord(
        robot=rig.profile.name,
        date=date,
        cameras=cameras,
        boards=boards,
        joints=joints,
        zero_covariance=tuple(_numbers(row) for row in fit.covariance[np.ix_(columns, columns)]) if columns else (),
        held=dict(found.held),
        sigma_px=rounded(fit.sigma_px),
        shared_rad=rounded(fit.shared_rad),
        dates={f"{kind} {name}": date for kind, names in parts.items() for name in names},
        verdict=verdict,
    )


def now() -> str:
    """Returns the time, as a calibration has it."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def place_of(link: str, pose: Pose, covariance: np.ndarray) -> Place:
    """Returns where something is on a link, with the (6, 6) covariance of its pose."""
    return Place(
        link=link,
        translation=_numbers(pose.translation),
        rotation=_numbers(np.array(pose.quaternion)),
        covariance=tuple(_numbers(row) for row in covariance),
    )


def _numbers(values: np.ndarray) -> Numbers:
    return tuple(rounded(float(value)) for value in values)


def rounded(value: float) -> float:
    """Returns a number with nine digits: what is beyond is nobody's."""
    return float(f"{value:.9g}")

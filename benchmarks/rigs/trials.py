"""Random rigs whose truth is known, and what calibration makes of them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tendon.calibration.boards.board import Board
from tendon.calibration.boards.detect import Detection, detect, fits_plane
from tendon.calibration.cameras.intrinsics import calibrate_intrinsics
from tendon.calibration.cameras.locate import locate
from tendon.calibration.cameras.model import CameraModel
from tendon.calibration.latency import find_delay
from tendon.calibration.motion.plan import plan_views
from tendon.calibration.results.record import record_of
from tendon.calibration.rig.chain import Chain
from tendon.calibration.rig.parts import Rig, RigBoard, RigCamera, View
from tendon.calibration.rig.solve import RigCalibration, solve
from tendon.calibration.rig.state import RigState
from tendon.calibration.transforms import Pose, exp, mm_and_deg
from tendon.calibration.verify import Verification, verify
from tendon.core.errors import CalibrationError
from tendon.demo.calibration.lens import Flaws
from tendon.demo.calibration.rig import draw_rig
from tendon.demo.calibration.story import lens_views
from tendon.demo.calibration.world import RigWorld
from tendon.robots.profile import load_profile

VIEWS, LENS_VIEWS = 16, 14
WRONG, WRONG_PX = 0.05, 30.0
NOISE_PX = 0.2
HAND, CAMERA = "panda_hand", "wrist"
PANDA = load_profile("panda")
JOINTS = tuple(f"panda_joint{k}" for k in range(2, 7))
DRIFTS = {"none": (0.0, 0.0), "2 mm": (0.002, 0.0), "0.2 deg": (0.0, 0.2), "2 mm and 0.2 deg": (0.002, 0.2)}
"""Of the camera, m and deg, in random directions."""
CHI_SQUARED_95 = {6: 12.5916, 11: 19.6751}


@dataclass(frozen=True, kw_only=True, eq=False)
class Trial:
    """A rig, its views and its truth.

    Attributes:
        rig: what is asked.
        views: of the board.
        camera: where the camera is.
        zeros: (n,) of joints.
        lens_rms_px: of the intrinsics.
    """

    rig: Rig
    views: list[View]
    camera: Pose
    zeros: np.ndarray
    lens_rms_px: float = 0.0

    def error(self, found: RigCalibration) -> tuple[float, float]:
        """Returns how far the camera is off, mm and deg."""
        return mm_and_deg(found.state.cameras[CAMERA].change_to(self.camera))

    def error_of(self, values: list[float]) -> tuple[float, float]:
        """Returns the same of a row-major 4 x 4 pose."""
        pose = np.array(values).reshape(4, 4)
        if not np.isfinite(pose).all():
            return 1e3, 180.0
        return mm_and_deg(Pose(rotation=pose[:3, :3], translation=pose[:3, 3]).change_to(self.camera))

    def zero_error(self, found: RigCalibration) -> float:
        """Returns the largest error of a zero [deg]; one that was held counts in full."""
        return float(np.degrees(np.abs(self._zero_errors(found)).max()))

    def _zero_errors(self, found: RigCalibration) -> np.ndarray:
        names = PANDA.joint_names
        return np.array([self.zeros[names.index(joint)] - found.state.zeros[names.index(joint)] for joint in JOINTS])

    def squares(self, found: RigCalibration) -> tuple[float, float]:
        """Returns squared Mahalanobis distances of the truth: of the camera, and of camera and zeros."""
        places = found.state.places()
        spots = [*range(places["camera", CAMERA].start, places["camera", CAMERA].stop)]
        spots += [places["joint", joint].start for joint in JOINTS]
        error = np.concatenate([found.state.cameras[CAMERA].change_to(self.camera), self._zero_errors(found)])
        covariance = found.fit.covariance[np.ix_(spots, spots)]
        camera = error[:6] @ np.linalg.solve(covariance[:6, :6], error[:6])
        return float(camera), float(error @ np.linalg.solve(covariance, error))

    def poses(self) -> dict[str, list[list[float]]]:
        """Returns what calibrateHandEye is fed: hand in base as the robot says it, board in camera by the same lens."""
        chain, board = Chain(PANDA), self.rig.boards[0].board
        model = self.rig.cameras[0].model
        hands = [chain.poses(view.joints, (HAND,))[0][0] for view in self.views]
        boards = []
        for view in self.views:
            good = view.found.only(fits_plane(board, view.found.ids, view.found.pixels))
            boards.append(locate(board, good, model))
        return {"hand_in_base": [_flat(pose) for pose in hands], "board_in_camera": [_flat(pose) for pose in boards]}


def chi_squared(freedom: int) -> float:
    """Returns what 95 % of a chi-squared variable are below."""
    return CHI_SQUARED_95[freedom]


def rendered_trial(seed: int, simulator: str, zero_deg: tuple[float, float]) -> Trial:
    """Returns a trial with rendered pictures, each with other flaws, and zeros off by so much."""
    rng = np.random.default_rng(seed)
    profile = replace(PANDA, cameras=tuple(camera for camera in PANDA.cameras if camera.name == CAMERA))
    true = draw_rig(profile, rng, zero_deg)
    world = RigWorld(profile, true.cameras, true.boards, true.zeros, simulator, seed)
    board = true.boards[0].board
    try:
        world.flaws = _flaws(rng)
        held = [_spoiled(view, rng) for view in lens_views(world, CAMERA, rng, LENS_VIEWS)]
        lens = calibrate_intrinsics(board, held)
        known = true.state(true.nominal.models)
        views: list[View] = []
        for pose in plan_views(known, lambda joints: True, VIEWS + 8, seed):
            world.put(pose)
            world.flaws = _flaws(rng)
            try:
                corners = detect(board, world.take(CAMERA))
            except CalibrationError:
                continue
            views.append(View(camera=CAMERA, board=board.name, joints=pose, found=_spoiled(corners, rng)))
    finally:
        world.close()
    camera = replace(true.nominal.rig.cameras[0], model=lens.model, refine=True, lens_covariance=lens.covariance)
    return Trial(
        rig=replace(true.nominal.rig, cameras=(camera,)),
        views=views[:VIEWS],
        camera=true.cameras[CAMERA].place,
        zeros=true.zeros,
        lens_rms_px=lens.rms_px,
    )


def synthetic_trial(seed: int, joint_noise: float) -> tuple[Trial, RigCalibration]:
    """Returns a trial with computed corners, and what is found."""
    rng = np.random.default_rng(seed)
    state, zeros = _synthetic_rig(rng)
    views = [_computed(state, pose, zeros, joint_noise, rng) for pose in _poses(state, rng, 20)]
    trial = Trial(rig=state.rig, views=views, camera=state.cameras[CAMERA], zeros=zeros)
    return trial, solve(trial.rig, trial.views)


def drift_trial(seed: int, joint_noise: float) -> tuple[Trial, RigCalibration, dict[str, Verification]]:
    """Returns a calibration of twenty views, and what eight views say of it after each of `DRIFTS`."""
    rng = np.random.default_rng(seed)
    state, zeros = _synthetic_rig(rng)
    views = [_computed(state, pose, zeros, joint_noise, rng) for pose in _poses(state, rng, 20)]
    trial = Trial(rig=state.rig, views=views, camera=state.cameras[CAMERA], zeros=zeros)
    found = solve(trial.rig, trial.views)
    record, said = record_of(found, "good"), {}
    for name, (moved_m, moved_deg) in DRIFTS.items():
        way, turn = rng.normal(size=3), rng.normal(size=3)
        change = [moved_m * way / np.linalg.norm(way), np.radians(moved_deg) * turn / np.linalg.norm(turn)]
        board = state.boards["board"].moved(np.array([*rng.uniform(-0.02, 0.02, 3), 0.0, 0.0, rng.uniform(-0.2, 0.2)]))
        camera = state.cameras[CAMERA].moved(np.concatenate(change))
        now = replace(state, cameras={CAMERA: camera}, boards={"board": board})
        few = [_computed(now, pose, zeros, joint_noise, rng) for pose in _poses(now, rng, 8)]
        said[name] = verify(record, state.rig, few)
    return trial, found, said


def latency_errors(count: int) -> list[float]:
    """Returns errors [ms] of delays between -50 and 100 ms."""
    errors = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        delay, faster = rng.uniform(-0.05, 0.1), rng.uniform(0.8, 1.3)
        phases = rng.uniform(0, 6, 2)

        def wave(at: np.ndarray, faster: float = faster, phases: np.ndarray = phases) -> np.ndarray:
            return 0.1 * np.sin(4.1 * faster * at + phases[0]) + 0.05 * np.sin(6.7 * faster * at + phases[1])

        said, seen = np.arange(0, 10, 0.01), np.sort(np.arange(0, 10, 0.05) + rng.uniform(-0.005, 0.005, 200))
        joints = wave(said) + rng.normal(0, 1e-4, len(said))
        pictures = -250.0 * wave(seen - delay) + 300 + rng.normal(0, 0.5, len(seen))
        errors.append(1000 * (find_delay(said, joints, seen, pictures, 0.3).seconds - delay))
    return errors


def opencv4() -> Path:
    """Returns a folder with OpenCV 4, installed beside the environment at first."""
    folder = Path(sys.executable).parents[1] / "opencv4"
    if not (folder / "cv2").is_dir():
        wanted = "opencv-python-headless>=4.9,<5"
        words = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), wanted]
        subprocess.run([sys.executable, *words], check=True)
    return folder


def _flaws(rng: np.random.Generator) -> Flaws:
    return Flaws(
        blur_px=rng.uniform(0.3, 1.5),
        motion_px=rng.uniform(0.0, 2.0),
        motion_rad=rng.uniform(0.0, np.pi),
        gain=rng.uniform(0.4, 1.5),
        noise=rng.uniform(1.0, 6.0),
    )


def _spoiled(found: Detection, rng: np.random.Generator) -> Detection:
    """Returns a detection 5 % of whose corners are wrong."""
    pixels, wrong = found.pixels.copy(), rng.random(len(found.ids)) < WRONG
    pixels[wrong] += rng.uniform(-WRONG_PX, WRONG_PX, (int(wrong.sum()), 2))
    return replace(found, pixels=pixels)


def _synthetic_rig(rng: np.random.Generator) -> tuple[RigState, np.ndarray]:
    board, chain = Board(), Chain(PANDA)
    model = CameraModel(
        width=640,
        height=480,
        focal=rng.uniform(480, 560) * np.array([1.0, 1.005]),
        centre=np.array([319.5, 239.5]) + rng.uniform(-8, 8, 2),
        distortion=np.array([rng.uniform(-0.15, 0.05), 0.05, 0.001, -0.001, 0.0]),
    )
    turn = exp(rng.normal(0, 0.1, 3)) @ exp(np.array([0.0, 0.0, rng.uniform(-3, 3)]))
    camera = Pose(rotation=turn, translation=np.array([0.06, 0.0, 0.03]) + rng.normal(0, 0.01, 3))
    (hand, _), *_ = chain.poses(PANDA.vector("home"), (HAND,))
    ahead = (hand @ camera).apply(np.array([0.0, 0.0, 0.35]))
    flat = exp(np.array([np.pi, 0.0, 0.0])) @ exp(rng.normal(0, 0.1, 3))
    middle = board.points.mean(axis=0)
    zeros = np.zeros(len(PANDA.joints))
    for joint in JOINTS:
        zeros[PANDA.joint_names.index(joint)] = np.radians(rng.uniform(1, 3) * rng.choice([-1, 1]))
    rig = Rig(
        profile=PANDA,
        cameras=(RigCamera(name=CAMERA, link=HAND, model=model),),
        boards=(RigBoard(board=board, link=PANDA.base_frame),),
        joints=JOINTS,
    )
    state = RigState(
        rig=rig,
        views=(),
        chain=chain,
        cameras={CAMERA: camera},
        boards={board.name: Pose(rotation=flat, translation=ahead - flat @ middle)},
        zeros=np.zeros(len(PANDA.joints)),
        models={CAMERA: model},
    )
    return state, zeros


def _poses(state: RigState, rng: np.random.Generator, count: int) -> list[np.ndarray]:
    """Returns random true joint vectors that see the board."""
    found: list[np.ndarray] = []
    home, arm = PANDA.vector("home"), PANDA.group_indices("arm")
    while len(found) < count:
        joints = home.copy()
        joints[arm] += rng.normal(0.0, 0.3, len(arm))
        if _inside(state, joints).sum() >= 12:
            found.append(joints)
    return found


def _inside(state: RigState, joints: np.ndarray) -> np.ndarray:
    (hand, _), *_ = state.chain.poses(joints, (HAND,))
    seen = (hand @ state.cameras[CAMERA]).inverse @ state.boards["board"]
    points = seen.apply(Board().points)
    if (points[:, 2] < 0.1).any() or seen.rotation[2, 2] < 0.5:
        return np.zeros(len(points), bool)
    pixels, _, _ = state.models[CAMERA].project(points)
    return np.asarray(((pixels > 0) & (pixels < (639, 479))).all(axis=1))


def _computed(state: RigState, joints: np.ndarray, zeros: np.ndarray, noise: float, rng: np.random.Generator) -> View:
    inside = _inside(state, joints)
    (hand, _), *_ = state.chain.poses(joints, (HAND,))
    seen = (hand @ state.cameras[CAMERA]).inverse @ state.boards["board"]
    pixels = state.models[CAMERA].project(seen.apply(Board().points))[0][inside]
    found = Detection(
        ids=np.flatnonzero(inside), pixels=pixels + rng.normal(0, NOISE_PX, pixels.shape), width=640, height=480
    )
    off = np.zeros(len(joints))
    off[PANDA.group_indices("arm")] = noise * rng.normal(size=7)
    return View(camera=CAMERA, board="board", joints=joints + zeros + off, found=_spoiled(found, rng))


def _flat(pose: Pose) -> list[float]:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = pose.rotation, pose.translation
    return [float(value) for value in matrix.ravel()]

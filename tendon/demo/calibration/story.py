"""A whole rig calibrated in simulation: lenses, cameras, zeros, latencies; then the bundle check, and a drift found."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tendon.calibration.boards.detect import Detection, detect
from tendon.calibration.boards.pdf import write_pdf
from tendon.calibration.cameras.camera_info import write_camera_info
from tendon.calibration.cameras.intrinsics import Intrinsics, calibrate_intrinsics
from tendon.calibration.motion.guide import Guide, clear_of
from tendon.calibration.motion.plan import plan_views
from tendon.calibration.motion.taking import Pictures, follow_plan
from tendon.calibration.results.file import load_record, write_record
from tendon.calibration.results.record import CalibrationRecord, record_of
from tendon.calibration.results.report import faults, sentences, write_report
from tendon.calibration.rig.parts import View
from tendon.calibration.rig.solve import RigCalibration, solve
from tendon.calibration.rig.state import RigState
from tendon.calibration.session import Session, SessionBoard, SessionCamera, Setup
from tendon.calibration.transforms import Pose, exp, mm_and_deg
from tendon.calibration.verify import Verification, verify
from tendon.control.clearance.model import Clearance
from tendon.core.errors import CalibrationError
from tendon.demo.calibration.delays import measure_delays
from tendon.demo.calibration.lens import ORDINARY
from tendon.demo.calibration.rig import TrueRig, draw_rig
from tendon.demo.calibration.scenery import TrueCamera
from tendon.demo.calibration.world import RigWorld
from tendon.robots.environment import load_environment
from tendon.robots.profile import RobotProfile, load_profile, profile_file
from tendon.robots.profile_edit import name_calibration

Tell = Callable[[str], None]
LENS_VIEWS, VERIFY_VIEWS = 20, 8


@dataclass(frozen=True, kw_only=True)
class Told:
    """What came of it.

    Attributes:
        calibration: what was found.
        record: of it, as the file has it.
        profile: of the robot in its own folder, which names the calibration.
        report: the page.
        camera_mm: how far each camera is from the truth.
        camera_deg: likewise.
        zero_deg: largest error of a joint's zero.
    """

    calibration: RigCalibration
    record: CalibrationRecord
    profile: Path
    report: Path
    camera_mm: dict[str, float]
    camera_deg: dict[str, float]
    zero_deg: float


def lens_views(world: RigWorld, camera: str, rng: np.random.Generator, count: int = LENS_VIEWS) -> list[Detection]:
    """Returns views of a board that somebody holds before a camera, near and far, tilted, in all corners."""
    board, model = world.boards[0].board, world.cameras[camera].model
    found: list[Detection] = []
    middle = board.points.mean(axis=0)
    for _ in range(6 * count):
        away = model.focal[0] * board.size_m[0] / (rng.uniform(0.45, 0.8) * model.width)
        spot = rng.uniform(-0.28, 0.28, 2) * (model.width, model.height) / model.focal
        turn = exp(np.array([0.0, 0.0, rng.uniform(-0.6, 0.6)])) @ exp(np.array([*rng.uniform(-0.6, 0.6, 2), 0.0]))
        place = Pose(rotation=turn, translation=away * np.array([*spot, 1.0]) - turn @ middle)
        try:
            found.append(detect(board, world.take_free(camera, 0, place), f"lens view of {camera}"))
        except CalibrationError:
            continue
        if len(found) == count:
            return found
    raise CalibrationError(f"camera {camera}: {len(found)} lens views show the board, needed are {count}")


def calibrate_lenses(world: RigWorld, rng: np.random.Generator) -> dict[str, Intrinsics]:
    """Returns the intrinsics of every camera of a world."""
    board = world.boards[0].board
    return {name: calibrate_intrinsics(board, lens_views(world, name, rng)) for name in world.cameras}


def new_session(folder: Path, true: TrueRig, lenses: dict[str, Intrinsics], robot: str) -> Session:
    """Returns a session with what `tendon calibrate solve` needs besides views."""
    for name, each in lenses.items():
        write_camera_info(each.model, name, folder / f"{name}.yaml", each.covariance)
    rig = true.nominal.rig
    return Session(
        folder,
        Setup(
            robot=robot,
            cameras={
                c.name: SessionCamera(link=c.link, camera_info=f"{c.name}.yaml", refine=True) for c in rig.cameras
            },
            boards={b.name: SessionBoard(link=b.link, board=b.board) for b in rig.boards},
            joints=rig.joints,
        ),
    )


class LedWorld:
    """A `tendon.calibration.motion.taking.Mover` in simulation."""

    def __init__(self, guide: Guide, world: RigWorld) -> None:
        self.go, self._world = guide.go, world

    def pictures(self) -> Pictures:
        """See `Mover`."""
        return {camera: (self._world.now_ns, self._world.take(camera)) for camera in self._world.cameras}


def capture(world: RigWorld, poses: list[np.ndarray], session: Session, clearance: Clearance, tell: Tell) -> None:
    """Leads the robot from pose to pose and takes a picture with every camera at each; Ctrl-C stops the robot first.

    Poses that the session has views of are left out, so that it goes on after a stop.
    """
    guide = Guide(world.profile, world, clearance)
    try:
        follow_plan(LedWorld(guide, world), session, poses, world.profile.joint_names, tell)
    finally:
        guide.stop("views are taken")


def tell_story(
    out: Path, robot: str = "panda", simulator: str = "auto", seed: int = 0, views: int = 15, tell: Tell = print
) -> Told:
    """Calibrates a simulated rig whose cameras, lenses and zeros are off, and writes everything below a folder.

    Args:
        out: the folder.
        robot: name of a profile with cameras.
        simulator: that draws and moves it.
        seed: of what is off.
        views: of the guided motion.
        tell: gets lines.

    Raises:
        CalibrationError: the calibration is not good.
    """
    rng = np.random.default_rng(seed)
    home = out / "robot"
    if home.exists():
        shutil.rmtree(home)
    shutil.copytree(profile_file(robot).parent, home)
    profile = load_profile(home / "profile.yaml")
    true = draw_rig(profile, rng)
    board = true.boards[0].board
    paper, _ = write_pdf(board, out / "board.pdf")
    tell(f"board.pdf: {board.columns} x {board.rows} squares of {1000 * board.square_m:g} mm on {paper}")
    world = RigWorld(profile, true.cameras, true.boards, true.zeros, simulator, seed)
    world.flaws = ORDINARY
    try:
        lenses = calibrate_lenses(world, rng)
        for name, lens in lenses.items():
            tell(f"lens of {name}: {lens.rms_px:.3f} px, fx {lens.model.focal[0]:.1f} +-{lens.deviation[0]:.1f} px")
        session_folder = out / "session"
        if session_folder.exists():
            shutil.rmtree(session_folder)
        session = new_session(session_folder, true, lenses, str(home / "profile.yaml"))
        clearance = Clearance(profile, load_environment("tabletop"))
        models = {name: lens.model for name, lens in lenses.items()}
        nominal, clear, first = replace(true.nominal, models=models), clear_of(clearance), max(5, views // 3)
        roughly = replace(nominal, rig=replace(nominal.rig, joints=()))
        poses = plan_views(roughly, clear, first, seed, wide=True)
        capture(world, poses, session, clearance, tell)
        # What these tell is enough to see where boards will be: the rest of the poses are planned with it.
        nominal = _better(nominal, session, profile)
        poses += plan_views(nominal, clear, views - first, seed + 1)
        capture(world, poses, session, clearance, tell)
        rig = session.rig(profile)
        found = solve(rig, session.views(rig, skip=lambda *_: None))
        guide = Guide(profile, world, clearance)
        guide.go(poses[0])  # where all of the board is seen
        delays = measure_delays(world, guide, models, found)
        guide.stop("delays are measured")
        notes = [
            f"pictures of camera {name} are stamped {1000 * delay.seconds:.1f} ms late, "
            f"+-{1960 * delay.deviation_s:.1f} ms"
            for name, delay in delays.cameras.items()
        ]
        notes.append(
            f"the robot moves {1000 * delays.command.seconds:.1f} ms after a command's time, "
            f"+-{1960 * delays.command.deviation_s:.1f} ms"
        )
    finally:
        world.close()
    report = out / "report.html"
    wrong = faults(found)
    write_report(found, wrong, report, session.pixels, notes)
    if wrong:
        raise CalibrationError(f"not good, see {report}: {'; '.join(wrong)}")
    record = record_of(found, "good")
    cameras = {
        name: replace(
            each, latency_s=delays.cameras[name].seconds, latency_deviation_s=delays.cameras[name].deviation_s
        )
        if name in delays.cameras
        else each
        for name, each in record.cameras.items()
    }
    record = replace(record, cameras=cameras, command_latency_s=delays.command.seconds)
    write_record(record, home / "calibration.yaml")
    name_calibration(home / "profile.yaml", "calibration.yaml")
    for sentence in (*sentences(found), *notes):
        tell(sentence)
    camera_mm, camera_deg, zero_deg = errors(found, true)
    return Told(
        calibration=found,
        record=load_record(home / "calibration.yaml"),
        profile=home / "profile.yaml",
        report=report,
        camera_mm=camera_mm,
        camera_deg=camera_deg,
        zero_deg=zero_deg,
    )


def _better(nominal: RigState, session: Session, profile: RobotProfile) -> RigState:
    """Returns the guess with what the views so far tell of it: a board that is in none stays where it was guessed."""
    rig = session.rig(profile)
    views = session.views(rig, skip=lambda *_: None)
    boards = {view.board for view in views}
    cameras = {view.camera for view in views}
    seen = replace(
        rig,
        cameras=tuple(replace(each, refine=False) for each in rig.cameras if each.name in cameras),
        boards=tuple(each for each in rig.boards if each.name in boards),
    )
    found = solve(seen, views).state
    return replace(
        nominal,
        cameras={**nominal.cameras, **found.cameras},
        boards={**nominal.boards, **found.boards},
        zeros=found.zeros,
    )


def errors(found: RigCalibration, true: TrueRig) -> tuple[dict[str, float], dict[str, float], float]:
    """Returns how far each camera is from the truth [mm] and [deg], and the largest error of a zero [deg]."""
    off_by = {n: mm_and_deg(found.state.cameras[n].change_to(camera.place)) for n, camera in true.cameras.items()}
    names = found.state.rig.profile.joint_names
    off = [abs(found.zero(joint)[0] - true.zeros[names.index(joint)]) for joint in found.state.rig.joints]
    away, turned = ({name: each[k] for name, each in off_by.items()} for k in (0, 1))
    return away, turned, float(np.degrees(max(off, default=0.0)))


def check_again(
    told: Told, simulator: str, seed: int, moved_m: float, moved_deg: float = 0.0, views: int = VERIFY_VIEWS
) -> Verification:
    """Returns what `verify` says of the demo's calibration after its first camera was moved.

    Args:
        told: the demo.
        simulator: that draws.
        seed: the demo's, which draws the same rig.
        moved_m: along the link's y.
        moved_deg: about the link's z.
        views: that are taken.
    """
    profile = load_profile(told.profile)
    rng = np.random.default_rng(seed)
    true = draw_rig(profile, rng)
    name = next(name for name, c in true.cameras.items() if true.nominal.chain.movers((c.link,)))
    change = np.array([0.0, moved_m, 0.0, 0.0, 0.0, np.radians(moved_deg)])
    camera = true.cameras[name]
    cameras = {name: TrueCamera(link=camera.link, place=camera.place.moved(change), model=camera.model)}
    world = RigWorld(profile, cameras, true.boards, true.zeros, simulator, seed + 1)
    world.flaws = ORDINARY
    rig = told.calibration.state.rig
    only = replace(rig, cameras=tuple(c for c in rig.cameras if c.name == name))
    known = told.calibration.state
    only = replace(only, boards=tuple(b for b in rig.boards if b.name == "table"))
    nominal = replace(
        known,
        rig=replace(only, joints=()),
        cameras={name: known.cameras[name]},
        boards={"table": known.boards["table"]},
        models={name: known.models[name]},
    )
    clearance = Clearance(profile, load_environment("tabletop"))
    try:
        taken = []
        for pose in plan_views(nominal, clear_of(clearance), 2 * views, seed + 7):
            world.put(pose)
            try:
                found = detect(true.boards[0].board, world.take(name), "a view to verify")
            except CalibrationError:
                continue  # a hand before the board, as happens
            taken.append(View(camera=name, board="table", joints=pose, found=found))
    finally:
        world.close()
    return verify(told.record, only, taken[:views])

"""A robot whose zeros and cameras are off, what a calibration finds of it, and the shipped policy on it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tendon.calibration.boards.detect import detect
from tendon.calibration.cameras.intrinsics import calibrate_intrinsics
from tendon.calibration.motion.plan import plan_views
from tendon.calibration.results.file import write_record
from tendon.calibration.results.record import CalibrationRecord, JointRecord, record_of, without_cameras
from tendon.calibration.results.report import faults
from tendon.calibration.rig.parts import View
from tendon.calibration.rig.solve import solve
from tendon.calibration.transforms import Pose
from tendon.core.errors import CalibrationError
from tendon.demo.calibration.lens import Flaws
from tendon.demo.calibration.rig import TrueRig, draw_rig
from tendon.demo.calibration.story import lens_views
from tendon.demo.calibration.world import RigWorld
from tendon.evaluation.episode import Episode, Setting
from tendon.evaluation.runner import Runner
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.bundle.places import find_bundle
from tendon.policies.inference.policy import BundlePolicy
from tendon.robots.profile import RobotProfile, load_profile, profile_file
from tendon.robots.profile_edit import name_calibration
from tendon.robots.simulated_parts import Mount
from tendon.sim.backend import SimBackend
from tendon.sim.tabletop.suite import TABLETOP

ROBOT, BUNDLE, CAMERA = "panda", "bundles/tabletop", "wrist"
VIEWS, LENS_VIEWS, SPARE = 16, 14, 8
ORDINARY = Flaws(blur_px=0.6, noise=3.0, gain=0.95)
DELAY_NS = 50_000_000
OFF = ("nothing", "zeros", "cameras", "zeros and cameras")
KNOWN = ("nothing", "calibration", "truth")
"""What control and policy know of the zeros."""
CELLS = (
    ("nothing", "nothing"),
    *((off, known) for off in ("zeros", "zeros and cameras") for known in KNOWN),
    ("cameras", "nothing"),
)
"""Of what is off, and what is known of it. No part of the policy uses where a camera is, so nothing can be known."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """An episode of a rig."""

    rig: int
    seed: int
    off: str
    known: str
    success: bool
    stop: str


def outcomes(rig: int, seeds: Sequence[int], cells: Sequence[tuple[str, str]], folder: Path) -> list[Outcome]:
    """Returns an outcome for each scene and cell of a rig, which is calibrated first, unless it was before."""
    plain = load_profile(ROBOT)
    true = draw_rig(plain, np.random.default_rng(rig))
    known = {"nothing": plain, **_calibrated(rig, true, folder)}
    policies = {
        name: BundlePolicy(load_bundle(find_bundle(BUNDLE)), profile, threads=1) for name, profile in known.items()
    }
    found = []
    for moved in (False, True):
        mine = [(off, knows) for off, knows in cells if ("cameras" in off) is moved]
        if not mine:
            continue
        backend = SimBackend(TABLETOP.world(_with_cameras(plain, true) if moved else plain))
        try:
            for off, knows in mine:
                runner = Runner(backend, policies[knows], TABLETOP.load_environment(), profile=known[knows])
                backend.joint_zero = true.zeros if "zeros" in off else np.zeros_like(true.zeros)
                for seed in seeds:
                    policies[knows].reseed(seed)
                    episode: Episode = runner.run(TABLETOP.scene(plain, seed), Setting(delay_ns=DELAY_NS))
                    found.append(
                        Outcome(rig=rig, seed=seed, off=off, known=knows, success=episode.success, stop=episode.stop)
                    )
        finally:
            backend.close()
    return found


def _calibrated(rig: int, true: TrueRig, folder: Path) -> dict[str, RobotProfile]:
    """Returns the robot with what pictures tell of its zeros, and with the zeros as they are."""
    files = {name: folder / f"{rig:03d}-{name}" / "profile.yaml" for name in KNOWN[1:]}
    for name, file in files.items():
        if file.is_file():
            continue
        shutil.copytree(profile_file(ROBOT).parent, file.parent, dirs_exist_ok=True)
        if name == "truth":
            names = true.nominal.rig.profile.joint_names
            zeros = {joint: JointRecord(zero=float(true.zeros[names.index(joint)]), deviation=1e-6) for joint in names}
            record = without_cameras(ROBOT, zeros)
        else:
            record = _record(rig, true)
        write_record(record, file.parent / "calibration.yaml")
        name_calibration(file, "calibration.yaml")
    return {name: load_profile(file) for name, file in files.items()}


def _record(rig: int, true: TrueRig) -> CalibrationRecord:
    """Returns what pictures of the camera in the hand tell: lens, place and zeros."""
    rng = np.random.default_rng(1000 + rig)
    only, board = {CAMERA: true.cameras[CAMERA]}, true.boards[0]
    world = RigWorld(true.nominal.rig.profile, only, (board,), true.zeros, "mujoco", rig)
    world.flaws = ORDINARY
    try:
        lens = calibrate_intrinsics(board.board, lens_views(world, CAMERA, rng, LENS_VIEWS))
        camera = replace(
            true.nominal.rig.camera(CAMERA), model=lens.model, refine=True, lens_covariance=lens.covariance
        )
        asked = replace(
            true.nominal.rig, cameras=(camera,), boards=tuple(b for b in true.nominal.rig.boards if b.name == "table")
        )
        planned = replace(
            true.nominal,
            rig=asked,
            cameras={CAMERA: only[CAMERA].place},
            boards={"table": board.place},
            zeros=true.zeros,
            models={CAMERA: lens.model},
        )
        views: list[View] = []
        for pose in plan_views(planned, lambda joints: True, VIEWS + SPARE, rig):
            world.put(pose)
            try:
                corners = detect(board.board, world.take(CAMERA))
            except CalibrationError:
                continue  # a hand before the board
            views.append(View(camera=CAMERA, board="table", joints=pose, found=corners, name=str(len(views))))
    finally:
        world.close()
    found = solve(asked, views[:VIEWS])
    if wrong := faults(found):
        raise CalibrationError(f"rig {rig}: {'; '.join(wrong)}")
    return record_of(found, "good")


def _with_cameras(profile: RobotProfile, true: TrueRig) -> RobotProfile:
    """Returns a robot whose cameras are where they truly are."""
    cameras = []
    for camera in profile.cameras:
        place = true.cameras[camera.name].place
        assert camera.mount is not None
        cameras.append(replace(camera, mount=_mount(camera.mount, place)))
    return replace(profile, cameras=tuple(cameras))


def _mount(mount: Mount, place: Pose) -> Mount:
    eye = place.translation
    at, up = eye + place.rotation[:, 2], -place.rotation[:, 1]
    return replace(mount, position=tuple(eye.tolist()), looks_at=tuple(at.tolist()), up=tuple(up.tolist()))

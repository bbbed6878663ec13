"""A robot whose zeros and cameras are off, what a calibration finds of it, and the shipped policy on it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rigs.pictures import views_from
from tendon.calibration.cameras.intrinsics import calibrate_intrinsics
from tendon.calibration.motion.plan import plan_views
from tendon.calibration.results.file import write_record
from tendon.calibration.results.record import (
    CalibrationRecord,
    CameraRecord,
    JointRecord,
    place_of,
    record_of,
    without_cameras,
)
from tendon.calibration.results.report import faults
from tendon.calibration.rig.solve import solve
from tendon.calibration.transforms import Pose
from tendon.demo.calibration.lens import ORDINARY
from tendon.demo.calibration.rig import TrueRig, draw_rig
from tendon.demo.calibration.story import lens_views
from tendon.demo.calibration.world import RigWorld
from tendon.evaluation.episode import Episode, Setting
from tendon.evaluation.runner import Runner
from tendon.policies.bundle.bundle import Bundle, load_bundle
from tendon.policies.bundle.places import find_bundle
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.inference.virtual_cameras import with_views
from tendon.robots.profile import RobotProfile, load_profile, profile_file
from tendon.robots.profile_edit import name_calibration
from tendon.robots.simulated_parts import Mount
from tendon.sim.backend import SimBackend
from tendon.sim.tabletop.suite import TABLETOP

ROBOT, BUNDLE = "panda", "bundles/tabletop"
VIEWS, LENS_VIEWS = 36, 14
PLANE_M = 0.02
"""Over which pictures are redrawn: the middle of most items."""
DELAY_NS = 50_000_000
OFF = ("nothing", "zeros", "cameras", "zeros and cameras")
KNOWN = ("nothing", "calibration", "truth")
"""What control and policy know of the robot."""
CELLS = (("nothing", "nothing"), *((off, known) for off in OFF[1:] for known in KNOWN))
"""Of what is off, and what is known of it."""
LITTLE = 1e-12 * np.eye(6)
"""Covariance of what is known as it is."""


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
    drawn = draw_rig(plain, np.random.default_rng(rig))
    found = []
    for off in dict.fromkeys(off for off, _ in cells):
        true = _off(drawn, off)
        known = {"nothing": plain, **_calibrated(rig, off, true, folder)} if off != "nothing" else {"nothing": plain}
        backend = SimBackend(TABLETOP.world(_with_cameras(plain, true)))
        backend.joint_zero = true.zeros
        try:
            for knows in (knows for each, knows in cells if each == off):
                policy = BundlePolicy(_bundle(plain), known[knows], threads=1)
                runner = Runner(backend, policy, TABLETOP.load_environment(), profile=known[knows])
                for seed in seeds:
                    policy.reseed(seed)
                    episode: Episode = runner.run(TABLETOP.scene(plain, seed), Setting(delay_ns=DELAY_NS))
                    found.append(
                        Outcome(rig=rig, seed=seed, off=off, known=knows, success=episode.success, stop=episode.stop)
                    )
        finally:
            backend.close()
    return found


def _off(true: TrueRig, off: str) -> TrueRig:
    """Returns a rig of which only a part is off."""
    cameras = {name: replace(each, place=true.nominal.cameras[name]) for name, each in true.cameras.items()}
    return replace(
        true,
        cameras=true.cameras if "cameras" in off else cameras,
        zeros=true.zeros if "zeros" in off else np.zeros_like(true.zeros),
    )


def _calibrated(rig: int, off: str, true: TrueRig, folder: Path) -> dict[str, RobotProfile]:
    """Returns the robot with what pictures tell of it, and with what is so."""
    files = {name: folder / f"{rig:03d}-{off.replace(' ', '-')}-{name}" / "profile.yaml" for name in KNOWN[1:]}
    for name, file in files.items():
        if file.is_file():
            continue
        shutil.copytree(profile_file(ROBOT).parent, file.parent, dirs_exist_ok=True)
        if name == "truth":
            record = _truth(true)
        else:
            record = _record(rig, true)
        write_record(record, file.parent / "calibration.yaml")
        name_calibration(file, "calibration.yaml")
    return {name: load_profile(file) for name, file in files.items()}


def _bundle(plain: RobotProfile) -> Bundle:
    """Returns the shipped bundle, which tells then from where its cameras saw in training."""
    bundle = load_bundle(find_bundle(BUNDLE))
    return replace(
        bundle, manifest=replace(bundle.manifest, cameras=with_views(bundle.manifest.cameras, plain, PLANE_M))
    )


def _truth(true: TrueRig) -> CalibrationRecord:
    """Returns a calibration that says what is."""
    names = true.nominal.rig.profile.joint_names
    zeros = {joint: JointRecord(zero=float(true.zeros[names.index(joint)]), deviation=1e-6) for joint in names}
    cameras = {}
    for name, camera in true.cameras.items():
        model = camera.model
        cameras[name] = CameraRecord(
            lens=model.lens,
            width=model.width,
            height=model.height,
            focal=tuple(model.focal.tolist()),
            centre=tuple(model.centre.tolist()),
            distortion=tuple(model.distortion.tolist()),
            place=place_of(camera.link, camera.place, LITTLE),
            rms_px=0.0,
            views=0,
            with_zeros=((0.0,) * len(zeros),) * 6,
        )
    return replace(without_cameras(ROBOT, zeros), cameras=cameras)


def _record(rig: int, true: TrueRig) -> CalibrationRecord:
    """Returns what rendered pictures tell: lenses, places and zeros."""
    rng = np.random.default_rng(1000 + rig)
    nominal = true.nominal.rig
    world = RigWorld(nominal.profile, true.cameras, true.boards, true.zeros, "mujoco", rig)
    world.flaws = ORDINARY
    try:
        lenses = {
            name: calibrate_intrinsics(true.boards[0].board, lens_views(world, name, rng, LENS_VIEWS))
            for name in true.cameras
        }
        known = true.state({name: lens.model for name, lens in lenses.items()})
        asked = replace(
            known.rig,
            cameras=tuple(
                replace(each, refine=True, lens_covariance=lenses[each.name].covariance) for each in known.rig.cameras
            ),
        )
        poses = plan_views(replace(known, rig=asked), lambda joints: True, VIEWS, rig)
        views = [view for number, pose in enumerate(poses) for view in views_from(world, pose, str(number))]
    finally:
        world.close()
    found = solve(asked, views)
    # One that knows the camera that stands still within somewhat more than is good is taken, as by --anyway.
    return record_of(found, "; ".join(faults(found)) or "good")


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

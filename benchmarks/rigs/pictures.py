"""A rig as its pictures show it: a camera in the hand, and one that stands and sees a small board from far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rigs.trials import PANDA, chi_squared
from tendon.calibration.boards.detect import detect
from tendon.calibration.motion.plan import plan_views
from tendon.calibration.results.record import record_of
from tendon.calibration.rig.parts import View
from tendon.calibration.rig.solve import solve
from tendon.calibration.verify import verify
from tendon.core.errors import CalibrationError
from tendon.demo.calibration.lens import ORDINARY
from tendon.demo.calibration.rig import draw_rig
from tendon.demo.calibration.world import RigWorld

VIEWS, CHECKED = 16, 8
"""Poses of a calibration, and of a look whether it still holds."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What pictures tell of a camera.

    Attributes:
        held: whether its 95 % region holds the truth.
        drifted: whether it is said to have drifted. It did not.
    """

    held: bool
    drifted: bool


def seen_trial(seed: int, simulator: str) -> dict[str, Seen]:
    """Returns what pictures tell of each camera; lenses are known."""
    true = draw_rig(PANDA, np.random.default_rng(seed))
    known = true.state({name: camera.model for name, camera in true.cameras.items()})
    world = RigWorld(PANDA, true.cameras, true.boards, true.zeros, simulator, seed)
    world.flaws = ORDINARY
    try:
        poses = plan_views(known, lambda joints: True, VIEWS + CHECKED, seed)
        views = [views_from(world, pose, str(number)) for number, pose in enumerate(poses)]
    finally:
        world.close()
    order = np.random.default_rng(seed).permutation(len(views))
    to_solve, to_check = ([view for k in part for view in views[k]] for part in (order[:VIEWS], order[VIEWS:]))
    found = solve(known.rig, to_solve)
    said = {drift.camera: drift for drift in verify(record_of(found, "good"), known.rig, to_check).cameras}
    seen = {}
    for name, camera in true.cameras.items():
        off = found.state.cameras[name].change_to(camera.place)
        square = float(off @ np.linalg.solve(found.covariance("camera", name), off))
        seen[name] = Seen(held=square < chi_squared(6), drifted=said[name].drifted)
    return seen


def views_from(world: RigWorld, pose: np.ndarray, name: str) -> list[View]:
    """Returns every board that every camera sees from a pose."""
    world.put(pose)
    views = []
    for camera in world.cameras:
        pixels = world.take(camera)
        for board in world.boards:
            try:
                corners = detect(board.board, pixels)
            except CalibrationError:
                continue  # out of the picture, or a hand before it
            views.append(View(camera=camera, board=board.board.name, joints=pose, found=corners, name=name))
    return views

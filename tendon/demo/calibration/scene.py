"""Scenes of the suite `calibration`: a rig whose cameras and zeros are off by what the seed hides, and its world."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from tendon.calibration.cameras.model import CameraModel
from tendon.core.errors import MismatchError
from tendon.core.types import Array
from tendon.demo.calibration.described import rig_file
from tendon.demo.calibration.lens import ORDINARY
from tendon.demo.calibration.rig import TrueRig, draw_rig
from tendon.demo.calibration.scenery import Scenery, table
from tendon.robots.profile import RobotProfile
from tendon.sim.cameras import CameraRig
from tendon.sim.engine import Engine
from tendon.sim.engine_world import EngineWorld
from tendon.sim.robot_body import robot_body
from tendon.sim.simulators import AUTO, open_engine
from tendon.sim.suite import LIMIT_S
from tendon.sim.world_state import WorldState

FAMILY = "rig"
MAX_SEED = 2**63 - 1


@dataclass(frozen=True, kw_only=True)
class LookTask:
    """Look at the boards. Nothing says when that is done: what a calibration is worth, its own command says."""

    family: str = FAMILY
    relation: str = "look"
    limit_s: float = LIMIT_S

    def progress(self, world: Any) -> float:
        """Returns 0."""
        return 0.0

    def success(self, world: Any) -> bool:
        """Returns that it is not done."""
        return False


@dataclass(frozen=True, kw_only=True)
class RigScene:
    """A robot among boards.

    Attributes:
        seed: draws it again, for the same robot.
        robot: name of its profile.
        rig: as it is; `rig.zeros` are those of the joints.
        start: (n,) joints that it begins with, as they are.
        task: see `LookTask`.
        instruction: in words.
    """

    seed: int
    robot: str
    rig: TrueRig = field(compare=False, repr=False)
    start: tuple[float, ...]
    task: LookTask = LookTask()
    instruction: str = "look at the boards"


def scene_of(profile: RobotProfile, seed: int, family: str = "") -> RigScene:
    """Returns the scene of a seed. The calibration of the profile changes nothing in it.

    Raises:
        ValueError: a seed of more than 64 bits, or another family.
        MismatchError: the robot has no camera.
        ConfigError: the suite's file does not fit it.
    """
    if not -MAX_SEED - 1 <= seed <= MAX_SEED:
        raise ValueError(f"seed is {seed}: it must be an integer of 64 bits")
    if family not in ("", FAMILY):
        raise ValueError(f"unknown task family {family}; known: {FAMILY}")
    if not profile.cameras:
        raise MismatchError(f"the suite calibration needs a camera, and profile {profile.name} has none")
    return _scene(profile, seed)


@functools.lru_cache(maxsize=32)
def _scene(profile: RobotProfile, seed: int) -> RigScene:
    rig = draw_rig(profile, np.random.default_rng(seed % (2 * MAX_SEED + 2)), size=None)
    start = rig_file().places(profile.name).start_of(profile)
    return RigScene(seed=seed, robot=profile.name, rig=rig, start=tuple(start.tolist()))


def zeros_of(profile: RobotProfile, scene: RigScene) -> Array:
    """Returns (n,) how much larger each joint of a rig is said to be than it is, rad or m."""
    return np.array(scene.rig.zeros)


class KnownLenses(CameraRig):
    """Tells the lenses as they are: those of cameras that were measured where they were made.

    Args:
        engine: see `CameraRig`.
        profile: likewise.
        lenses: by camera.
    """

    def __init__(self, engine: Engine, profile: RobotProfile, lenses: Mapping[str, CameraModel]) -> None:
        super().__init__(engine, profile)
        self._lenses = lenses

    def intrinsics(self, name: str) -> Array:
        """See `CameraRig`."""
        return np.array(self._lenses[name].matrix)

    def distortion(self, name: str) -> tuple[float, ...]:
        """See `CameraRig`."""
        return tuple(self._lenses[name].distortion.tolist())


class CalibrationWorld(EngineWorld):
    """A simulated robot, and boards that it or the table carries. Not thread-safe.

    Args:
        scene: what there is.
        profile: the robot.
        engine: the simulator, which has that robot.
    """

    def __init__(self, scene: RigScene, profile: RobotProfile, engine: Engine) -> None:
        super().__init__(profile, engine)
        self._scenery: Scenery | None = None
        self.reset(scene)

    def reset(self, scene: RigScene) -> None:
        """Replaces everything; the robot stands at the scene's start, at rest, time zero."""
        if self._scenery is not None:
            self._scenery.close()
        self.scene = scene
        true = scene.rig
        self._scenery = Scenery(self.engine, true.cameras, true.boards)
        lenses = {name: camera.model for name, camera in true.cameras.items()}
        self.cameras = KnownLenses(self.engine, self.profile, lenses)
        self._rng = np.random.default_rng(0)
        self.load([table(self.profile)], self._scenery.things())
        self.reset_joints(np.array(scene.start))
        self._scenery.place_boards()

    def render(self, camera: str, width: int | None = None, height: int | None = None) -> npt.NDArray[np.uint8]:
        """Returns what a camera sees now, (height, width, 3) RGB, through its lens, with blur and noise."""
        assert self._scenery is not None  # as after every reset
        self._scenery.place_boards()
        pixels = self._scenery.draw(camera, ORDINARY, self._rng)
        if width is None and height is None:
            return pixels
        size = (width or pixels.shape[1], height or pixels.shape[0])
        return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)

    def state(self) -> WorldState:
        """Returns everything that moves; boards are where their links have them."""
        assert self._scenery is not None  # as after every reset
        self._scenery.place_boards()
        return super().state()

    def close(self) -> None:
        """Frees the world."""
        super().close()
        if self._scenery is not None:
            self._scenery.close()


ANY_SEED = 100_000
"""The scene a world starts with; who opens one loads its own."""


def open_world(profile: RobotProfile, simulator: str = AUTO, gui: bool = False) -> CalibrationWorld:
    """Returns a world with some scene in it."""
    return CalibrationWorld(scene_of(profile, ANY_SEED), profile, open_engine(robot_body(profile), simulator, gui))

"""Latencies of a simulated rig: the robot waves, cameras look, and stamps are late by what one asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tendon.calibration.boards.detect import detect
from tendon.calibration.cameras.locate import locate
from tendon.calibration.cameras.model import CameraModel
from tendon.calibration.latency import Delay, find_delay
from tendon.calibration.motion.guide import Guide
from tendon.calibration.rig.solve import RigCalibration
from tendon.control.tick import Tick
from tendon.core.errors import CalibrationError
from tendon.core.types import Observation
from tendon.demo.calibration.world import RigWorld

WAVE_S, PICTURE_HZ = 6.0, 20.0
STAMP_LATE_S, COMMAND_LATE_S = 0.034, 0.012
"""What the simulated cameras and the simulated robot side are late by."""
SHARE = 0.06
"""Of a turn, that the wave is wide [rad]."""


@dataclass(frozen=True, kw_only=True)
class Delays:
    """What was measured.

    Attributes:
        cameras: stamps of those that move, behind the joints' stamps.
        command: of motion behind its command.
    """

    cameras: Mapping[str, Delay]
    command: Delay


def measure_delays(world: RigWorld, guide: Guide, models: Mapping[str, CameraModel], found: RigCalibration) -> Delays:
    """Waves a joint through controller and filter, and compares what is said with what is seen.

    Raises:
        CalibrationError: the two are not one motion.
        StoppedError: the robot was stopped.
    """
    name = next(n for n, c in world.cameras.items() if found.state.chain.movers((c.link,)))
    joint = world.profile.joint_names.index(found.state.rig.joints[-1])
    step_ns = 50_000_000
    times = np.arange(0, WAVE_S, step_ns * 1e-9)
    fade = np.minimum(1.0, np.minimum(times, WAVE_S - times - step_ns * 1e-9) / 0.8)
    rows = np.tile(world.observe_joints()[0], (len(times), 1))
    rows[:, joint] += SHARE * fade * (np.sin(4.1 * times) + 0.5 * np.sin(6.7 * times + 1.0) - 0.5 * np.sin(1.0))
    commanded, measured, seen = list[tuple[float, float]](), list[tuple[float, float]](), list[tuple[float, float]]()
    board, begin_s, tried = world.boards[0].board, world.now_ns * 1e-9, list[float]()

    def watch(joints: Observation, tick: Tick) -> None:
        now_s = joints.stamp_ns * 1e-9
        measured.append((now_s, float(joints.joint_position[joint])))
        if tick.command is not None:
            commanded.append((now_s - COMMAND_LATE_S, float(tick.command.trajectory.position[0][joint])))
        if now_s < begin_s + len(tried) / PICTURE_HZ:
            return
        tried.append(now_s)
        try:
            corners = detect(board, world.take(name), "a picture of the wave")
            where = locate(board, corners, models[name])
        except CalibrationError:
            return
        seen.append((now_s + STAMP_LATE_S, float(where.apply(board.points.mean(axis=0))[1])))

    guide.play(rows, step_ns, watch)
    (command_s, command), (joint_s, joints), (picture_s, pictures) = (
        np.array(rows).T for rows in (commanded, measured, seen)
    )
    return Delays(
        cameras={name: find_delay(joint_s, joints, picture_s, pictures, 0.2, f"camera {name}")},
        command=find_delay(command_s, command, joint_s, joints, 0.2, "command"),
    )

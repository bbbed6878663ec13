"""Latencies of a simulated rig: the robot waves, cameras look, and stamps are late by what one asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tendon.calibration.boards.detect import detect
from tendon.calibration.cameras.locate import locate
from tendon.calibration.cameras.model import CameraModel
from tendon.calibration.latency import Delay, find_delay
from tendon.calibration.rig.solve import RigCalibration
from tendon.control.clearance.model import Clearance
from tendon.control.controller import Controller
from tendon.core.errors import CalibrationError
from tendon.core.types import ActionChunk, Observation
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


def measure_delays(
    world: RigWorld, clearance: Clearance, models: Mapping[str, CameraModel], found: RigCalibration
) -> Delays:
    """Waves a joint through controller and filter, and compares what is said with what is seen."""
    profile = world.profile
    name = next(n for n, c in world.cameras.items() if found.state.chain.movers((c.link,)))
    joint = profile.joint_names.index(found.state.rig.joints[-1])
    begin = np.array(world.observe_joints()[0])
    controller = Controller(profile, clearance=clearance, held=begin)
    period_ns = controller.period_ns

    def tick() -> None:
        position, velocity = world.observe_joints()
        now_ns = world.now_ns
        said = Observation(stamp_ns=now_ns, joint_position=position, joint_velocity=velocity)
        answer = controller.tick(now_ns, said)
        if answer.command is not None:
            world.apply(answer.command)
            commanded.append((now_ns * 1e-9 - COMMAND_LATE_S, float(answer.command.trajectory.position[0][joint])))
        measured.append((now_ns * 1e-9, float(position[joint])))
        world.advance(now_ns + period_ns)

    commanded: list[tuple[float, float]] = []
    measured: list[tuple[float, float]] = []
    tick()
    controller.arm()
    while world.now_ns * 1e-9 < measured[0][0] + profile.safety.arm_settle_s + 0.05:
        tick()
    step_ns = 50_000_000
    times = np.arange(0, WAVE_S, step_ns * 1e-9)
    fade = np.minimum(1.0, np.minimum(times, WAVE_S - times - step_ns * 1e-9) / 0.8)
    rows = np.tile(begin, (len(times), 1))
    rows[:, joint] += SHARE * fade * (np.sin(4.1 * times) + 0.5 * np.sin(6.7 * times + 1.0) - 0.5 * np.sin(1.0))
    start_ns = world.now_ns + controller.lead_ns
    controller.submit(
        ActionChunk(actions=rows, start_ns=start_ns, step_ns=step_ns, observation_stamp_ns=world.now_ns),
        world.now_ns,
    )
    commanded.clear()
    measured.clear()
    seen: list[tuple[float, float]] = []
    board, next_s = world.boards[0].board, world.now_ns * 1e-9
    until_s = next_s + WAVE_S + 0.3
    while world.now_ns * 1e-9 < until_s:
        if world.now_ns * 1e-9 >= next_s:
            next_s += 1.0 / PICTURE_HZ
            try:
                corners = detect(board, world.take(name), "a picture of the wave")
                where = locate(board, corners, models[name])
                seen.append((world.now_ns * 1e-9 + STAMP_LATE_S, float(where.apply(board.points.mean(axis=0))[1])))
            except CalibrationError:
                pass
        tick()
    (command_s, command), (joint_s, joints), (picture_s, pictures) = (
        np.array(rows).T for rows in (commanded, measured, seen)
    )
    return Delays(
        cameras={name: find_delay(joint_s, joints, picture_s, pictures, 0.2, f"camera {name}")},
        command=find_delay(command_s, command, joint_s, joints, 0.2, "command"),
    )

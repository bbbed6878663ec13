"""Commands of a log, carried out by a simulated robot that nothing is around of."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline

from tendon.core.types import Array
from tendon.robots.profile import RobotProfile
from tendon.robots.servo_response import ServoResponse
from tendon.sim.engine import PERIOD_NS
from tendon.sim.response import Responding
from tendon.sim.robot_body import robot_body
from tendon.sim.simulators import AUTO, open_engine

PERIOD_S = PERIOD_NS * 1e-9


def replay(
    profile: RobotProfile,
    times_s: Array,
    commanded: Array,
    response: ServoResponse | None = None,
    simulator: str = AUTO,
) -> Array:
    """Returns where the joints of a simulated robot are at times when commands are sent to it.

    Args:
        profile: the robot.
        times_s: (k,) rising [s].
        commanded: (k, n) at these, by a cubic spline between them.
        response: of its servos; `None` has the simulator's own.
        simulator: see `tendon.sim.simulators`.

    Returns:
        (k, n) rad or m.
    """
    engine = open_engine(robot_body(profile), simulator)
    try:
        engine.load([], [])
        engine.reset_joints(commanded[0])
        steps = np.arange(times_s[0] + PERIOD_S, times_s[-1] + PERIOD_S, PERIOD_S)
        spline = CubicSpline(times_s, commanded)
        sent, rates = spline(np.minimum(steps, times_s[-1])), spline(np.minimum(steps, times_s[-1]), 1)
        answer = None if response is None else Responding(response, profile, PERIOD_S)
        if answer is not None:
            answer.restart(commanded[0])
        reached = [engine.joint_state()[0].copy()]
        for position, velocity in zip(sent, rates, strict=True):
            engine.set_target(*((position, velocity) if answer is None else answer.step(position)))
            engine.step()
            reached.append(engine.joint_state()[0].copy())
    finally:
        engine.close()
    ends = np.concatenate([times_s[:1], steps])
    return np.stack([np.interp(times_s, ends, column) for column in np.array(reached).T], axis=1)

"""A simulated robot that answers commands as the real one does, see `tendon.robots.servo_response`."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin

from tendon.core.types import Array
from tendon.robots.model import load_model
from tendon.robots.profile import RobotProfile
from tendon.robots.servo_response import MAX_DELAY_S, ServoResponse, step_share
from tendon.sim.robot_body import robot_body


class Gravity:
    """What gravity exerts on the joints of a robot, by the masses that a simulator has of it."""

    def __init__(self, profile: RobotProfile) -> None:
        weighty = replace(profile, urdf=Path(robot_body(profile).urdf), calibration=None)
        self._robot = load_model(weighty)
        self._data = self._robot.model.createData()

    def at(self, position: Array) -> Array:
        """Returns (n,) that each joint has to hold at a joint vector (n,), N m or N."""
        torque = pin.computeGeneralizedGravity(self._robot.model, self._data, self._robot.expand(position))
        return np.asarray(self._robot.spread.T @ torque)


class Responding:
    """Turns what a robot is sent into what a servo without error would have to be sent, a step at a time.

    Args:
        response: of the robot.
        profile: of it.
        period_s: of a step.
    """

    def __init__(self, response: ServoResponse, profile: RobotProfile, period_s: float) -> None:
        self._response, self._period_s = response, period_s
        self._gravity = Gravity(profile)
        steps = response.delay_s / period_s
        self._whole, self._part = steps.astype(int), steps % 1.0
        self._columns = np.arange(len(steps))
        self._share = step_share(response.settling_s, period_s)
        self._sent: deque[Array] = deque(maxlen=2 + int(MAX_DELAY_S / period_s))

    def restart(self, position: Array) -> None:
        """Begins anew: the robot has stood at a joint vector for long."""
        still = np.zeros(len(position))
        self._sent.clear()
        self._sent.append(position.copy())
        self._settled, self._speed = position.copy(), still
        self._wanted = position + self._response.away(still, still, self._gravity.at(position))

    def step(self, position: Array) -> tuple[Array, Array]:
        """Takes what is sent for the end of a step; returns (n,) positions and velocities to track instead."""
        self._sent.append(position.copy())
        sent = np.array(self._sent)
        newest = len(sent) - 1
        later, earlier = np.maximum(newest - self._whole, 0), np.maximum(newest - self._whole - 1, 0)
        late = (1.0 - self._part) * sent[later, self._columns] + self._part * sent[earlier, self._columns]
        settled = self._settled + self._share * (late - self._settled)
        speed = (settled - self._settled) / self._period_s
        acceleration = (speed - self._speed) / self._period_s
        wanted = settled + self._response.away(speed, acceleration, self._gravity.at(settled))
        rate = (wanted - self._wanted) / self._period_s
        self._settled, self._speed, self._wanted = settled, speed, wanted
        return wanted, rate

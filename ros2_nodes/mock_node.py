"""The mock robot: takes what a profile's controllers take, publishes `joint_states`, and nothing else is there.

Subscribes `CONTROLLER/joint_trajectory` or `CONTROLLER/commands`; publishes `joint_states` at the control rate, or at
the first multiple of it that is at least 100 times a second. Time goes as in every node that stands in for a robot
(`stand_in`). Parameters `lag_s`, `noise` and `effort` may be set while it runs.
"""

from __future__ import annotations

import math
import sys
from functools import partial

import numpy as np
from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from tendon.core.clock import ManualClock
from tendon.core.errors import TendonError
from tendon.core.node_status import Level, MockStatus, NodeStatus
from tendon.core.types import Array, Observation
from tendon.graph import topics
from tendon.robots.controllers import Controllers
from tendon.robots.drivers.mock.driver import MockDriver, MockSettings
from tendon.robots.rest import STILL_SPEED
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.base.runtime import Urgency, run_node
from tendon.ros2_nodes.stand_ins.stand_in import StandIn

MIN_HZ = 100.0
SENSOR_NOISE = 1e-6
"""Of a good encoder [rad or m]. Readings that are equal to the last bit are what the safety monitor calls frozen."""


class MockNode(StandIn):
    """Plays the profile's controllers on a mock driver."""

    def __init__(self) -> None:
        super().__init__("mock_node", loop="loop")
        settings = MockSettings(
            lag_s=self.setting("lag_s", 0.0),
            noise=self.setting("noise", SENSOR_NOISE),
            effort=self.setting("effort", 0.0),
        )
        self._driver_time = ManualClock(self.time.now_ns())
        self._driver = MockDriver(self.profile, self._driver_time, settings)
        self._driver.connect()
        self._controllers = Controllers(self.profile, self._driver.read().position)
        self._steps = math.ceil(MIN_HZ / self.profile.control_hz)
        self._moving = False
        self._states = self.create_publisher(JointState, topics.JOINT_STATES, qos.NEWEST)
        for controller in self.profile.controllers:
            if controller.type == "joint_trajectory":
                self.take_trajectories(controller, self._controllers.accept_trajectory)
            else:
                take = partial(self._take_positions, controller.name)
                self.create_subscription(Float64MultiArray, topics.commands(controller), take, qos.EACH)
        self.add_on_set_parameters_callback(self._set)

    @property
    def moving(self) -> bool:
        """Whether a controller commands motion."""
        return self._moving

    def commanded(self, now_ns: int) -> tuple[Array, Array]:
        """Returns what the controllers command."""
        return self._controllers.sample(now_ns)

    def measured(self, now_ns: int) -> Observation:
        """Returns what the mock reads."""
        reading = self._driver.read()
        return Observation(stamp_ns=now_ns, joint_position=reading.position, joint_velocity=reading.velocity)

    def health(self) -> tuple[Level, str]:
        """Returns, besides, that nobody gets hurt."""
        level, text = super().health()
        return level, f"{text}: nothing real moves" if level is Level.OK else text

    def describe(self, status: NodeStatus) -> NodeStatus:
        """Returns a status with how it differs from what it is told, and how time goes."""
        settings = self._driver.settings
        return MockStatus(
            **vars(status),
            **self.pace(),
            lag_s=settings.lag_s,
            noise=settings.noise,
            effort=settings.effort,
            moving=self._moving,
        )

    def _take_positions(self, controller: str, message: Float64MultiArray) -> None:
        self.take(controller, self._controllers.accept_positions, message.data, stamp_ns=0)

    def _set(self, parameters: list[Parameter]) -> SetParametersResult:
        wanted = {name: self.get_parameter(name).value for name in ("lag_s", "noise", "effort")}
        wanted |= {parameter.name: parameter.value for parameter in parameters if parameter.name in wanted}
        try:
            self._driver.settings = MockSettings(**wanted)
        except TendonError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def play_in_real_time(self) -> None:
        """Steps the robot by the wall clock; what it is too late for is left out."""
        period_ns = round(wire.SECOND_NS / self.profile.control_hz / self._steps)
        deadline_ns = self.time.now_ns()
        while not self.closing.is_set():
            deadline_ns += period_ns
            self.time.sleep_until_ns(deadline_ns)
            late_ns = self.time.now_ns() - deadline_ns
            deadline_ns += max(0, late_ns) // period_ns * period_ns
            self.late.add(late_ns)
            self._step(self.time.now_ns())
            self.beat()

    def play(self, before_ns: int, now_ns: int) -> None:
        """Steps the robot from one simulated time to the next."""
        for k in range(1, self._steps + 1):
            self._step(before_ns + k * (now_ns - before_ns) // self._steps)

    def _step(self, now_ns: int) -> None:
        self._driver_time.sleep_until_ns(now_ns)
        self.obey(now_ns)
        position, velocity = self._controllers.sample(now_ns)
        self._moving = bool(np.abs(velocity).max() > STILL_SPEED)
        try:
            self._driver.command(position, velocity)
            self.accepted("robot")
        except TendonError as error:  # it stays at the last command that it took, as a real one does
            self.rejected("robot", error)
        reading = self._driver.read()
        names = self.profile.joint_names
        state = wire.joint_state_message(now_ns, names, reading.position, reading.velocity, reading.effort)
        self._states.publish(state)

    def close(self) -> None:
        """Ends the loop and lets go of the robot."""
        super().close()
        self._driver.close()


def main() -> int:
    """Runs the node."""
    return run_node(MockNode, Urgency.SECOND)


if __name__ == "__main__":
    sys.exit(main())

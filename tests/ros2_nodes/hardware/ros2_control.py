"""A stand-in for ros2_control, as a process: controllers that know no permission, their manager, and joint states.

A controller takes trajectories while it is active, whoever sends them, and joins them at the commanded state; inactive
it holds its last command. The manager answers `switch_controller` as that of ROS 2 Jazzy does. It prints what it
switched, and how fast the controller commanded the robot until then. Its parameters `refuses` and `answers` spoil it
while it runs. Arguments: a profile, then `--active` for controllers that are active from the start,
`--measured` for such as lead in from the measured position, `--without-parameters` for such as have no services.
"""

from __future__ import annotations

import sys
import threading
import time

import numpy as np
import rclpy
from controller_manager_msgs.srv import SwitchController
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from tendon.core.errors import TendonError
from tendon.graph import topics
from tendon.robots.profile import ControllerSpec, RobotProfile, load_profile
from tendon.robots.trajectory_controller import TrajectoryController
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.base.late_answers import LateAnswers
from tests.ros2_nodes.hardware.system_defaults import SYSTEM_DEFAULTS

PERIOD_S, NOISE = 0.01, 1e-6


class TrajectoryNode(Node):
    """One joint_trajectory_controller: a node of its own name."""

    def __init__(self, spec: ControllerSpec, profile: RobotProfile, flags: tuple[str, ...]) -> None:
        super().__init__(spec.name, start_parameter_services="--without-parameters" not in flags)
        self.declare_parameter("interpolate_from_desired_state", "--measured" not in flags)
        self.declare_parameter("open_loop_control", False)
        self.columns = [profile.joint_names.index(name) for name in spec.joints]
        self.playing = TrajectoryController(spec.joints, profile.vector("home")[self.columns])
        self.active = "--active" in flags
        self._lock = threading.Lock()
        self.create_subscription(JointTrajectory, topics.commands(spec), self._take, SYSTEM_DEFAULTS, raw=True)

    def _take(self, data: bytes) -> None:
        with self._lock:
            if self.active:
                try:
                    self.playing.accept(wire.read_trajectory(data), time.time_ns())
                except TendonError as error:
                    self.get_logger().info(str(error), throttle_duration_sec=1.0)

    def sample(self) -> tuple[np.ndarray, np.ndarray]:
        with self._lock:
            return self.playing.sample(time.time_ns())

    def switch(self, active: bool) -> float:
        """Makes it active or not; returns how fast it commanded the robot until now."""
        with self._lock:
            position, velocity = self.playing.sample(time.time_ns())
            self.playing.reset(position)
            self.active = active
        return float(np.abs(velocity).max())


class Manager(Node):
    """The controller manager, and what publishes joint states beside it."""

    def __init__(self, profile: RobotProfile, controllers: dict[str, TrajectoryNode]) -> None:
        super().__init__("controller_manager")
        self._profile, self._controllers = profile, controllers
        self.declare_parameter("refuses", "")
        self.declare_parameter("answers", True)
        self._states = self.create_publisher(JointState, topics.JOINT_STATES, qos.NEWEST)
        service = self.create_service(SwitchController, "controller_manager/switch_controller", self._switch)
        self._late = LateAnswers(service)
        threading.Thread(target=self._publish, daemon=True).start()

    def _switch(
        self, request: SwitchController.Request, response: SwitchController.Response
    ) -> SwitchController.Response:
        if not self.get_parameter("answers").value:
            self._late.hold(response)
            return response
        refuses = self.get_parameter("refuses").value
        wanted = dict.fromkeys(request.deactivate_controllers, False)
        wanted |= dict.fromkeys(request.activate_controllers, True)
        for name, active in wanted.items():
            known = self._controllers.get(name)
            if known is None or known.active == active:
                if request.strictness != request.BEST_EFFORT:
                    response.message = f"{name} is unknown, or already so"
                    return response
            elif refuses == ("activate" if active else "deactivate"):
                response.message = f"{name} was told to refuse"
                return response
        for name, active in wanted.items():
            known = self._controllers.get(name)
            if known is not None and known.active != active:
                speed = known.switch(active)
                print(f"{name} {'active' if active else 'inactive'} {speed:.6f}", flush=True)
        response.ok = True
        return response

    def _publish(self) -> None:
        count, deadline_s = len(self._profile.joint_names), time.monotonic()
        generator = np.random.default_rng(0)
        while rclpy.ok():
            deadline_s = max(deadline_s + PERIOD_S, time.monotonic())
            time.sleep(max(0.0, deadline_s - time.monotonic()))
            position, velocity = np.zeros(count), np.zeros(count)
            for node in self._controllers.values():
                position[node.columns], velocity[node.columns] = node.sample()
            noise = NOISE * generator.standard_normal(count)
            names = self._profile.joint_names
            self._states.publish(wire.joint_state_message(time.time_ns(), names, position + noise, velocity))


def main(robot: str, *flags: str) -> None:
    rclpy.init(args=sys.argv)
    profile = load_profile(robot)
    controllers = {each.name: TrajectoryNode(each, profile, flags) for each in profile.controllers}
    executor = EventsExecutor()
    for node in (*controllers.values(), Manager(profile, controllers)):
        executor.add_node(node)
    while True:
        executor.spin_once(1.0)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""What the robot side's trajectory controllers say of how they join a new trajectory to the one they play.

Tendon replaces a trajectory 100 times a second. A controller that leads into each from the *measured* position, as
joint_trajectory_controller does by default, jumps back by its lag each time, and lets go of what a gripper holds. One
that does not interpolate plays a stop, whose points are up to a braking time apart, as a staircase: 0.15 rad at once by
a Panda at full speed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import GetParameters

from tendon.robots.profile import ControllerSpec
from tendon.ros2_nodes.base.shell import NodeShell

WANTED, FORMERLY = "interpolate_from_desired_state", "open_loop_control"
"""Either does: releases before 4.22 of ros2_controllers have the second name alone."""
METHOD, SPLINES = "interpolation_method", "splines"
LOOK_S = 0.5
ANSWER_S = 1.0
PATIENCE_S = 5.0
"""How long arming waits for what a controller says, from when it listens to commands."""


class ControllerParameters:
    """Reads each controller's parameters once it is there, and again only while they are wrong.

    Everything in the executor's thread.

    Args:
        node: calls the services.
        listens: returns whether a controller listens to its commands.
    """

    def __init__(self, node: NodeShell, listens: Callable[[ControllerSpec], bool]) -> None:
        controllers = [each for each in node.profile.controllers if each.type == "joint_trajectory"]
        self._readings = [_Reading(node, each, listens) for each in controllers]
        node.every(LOOK_S, self._look)

    def _look(self) -> None:
        for reading in self._readings:
            reading.look()

    def obstacles(self) -> tuple[str, ...]:
        """Returns why the robot may not be armed."""
        return tuple(filter(None, (reading.obstacle for reading in self._readings)))

    @property
    def problem(self) -> str:
        """What could not be read; empty when all was, or may still be."""
        return "; ".join(filter(None, (reading.problem for reading in self._readings)))


class _Reading:
    """Of one controller.

    Attributes:
        obstacle: why the robot may not be armed; empty when it may.
        problem: what a person has to look at instead; empty without such.
    """

    def __init__(self, node: NodeShell, controller: ControllerSpec, listens: Callable[[ControllerSpec], bool]) -> None:
        self._controller, self._listens = controller, listens
        self._client = node.create_client(GetParameters, f"{controller.name}/get_parameters")
        self._futures: list[Any] = []
        self._asked_s = 0.0
        self._since_s: float | None = None
        self._said: bool | None = None
        self._method = SPLINES
        self._final = False
        self.problem = ""
        self.obstacle = f"{controller.name}: its parameter {WANTED} was not read yet"

    def look(self) -> None:
        """Asks, or takes what was answered."""
        now_s = time.monotonic()
        if not self._listens(self._controller):
            self._since_s = None
        elif self._since_s is None:
            self._since_s = now_s
        if self._futures:
            self._receive(now_s)
        elif not self._client.service_is_ready():
            self._said, self._method, self._final = None, SPLINES, False  # when it comes back it may be another
        elif not self._final:
            # One name at a time: of several, rclcpp answers with none when it does not know one.
            requests = (GetParameters.Request(names=[name]) for name in (WANTED, FORMERLY, METHOD))
            self._futures, self._asked_s = [self._client.call_async(request) for request in requests], now_s
        self._judge(now_s)

    def _receive(self, now_s: float) -> None:
        if all(future.done() for future in self._futures):
            values = [value for future in self._futures for value in future.result().values]
            said = [value.bool_value for value in values if value.type == ParameterType.PARAMETER_BOOL]
            self._said = any(said) if said else None
            methods = [value.string_value for value in values if value.type == ParameterType.PARAMETER_STRING]
            self._method = methods[0] if methods else SPLINES
            self._final = (not said or any(said)) and self._method == SPLINES
        elif now_s - self._asked_s > ANSWER_S:
            for future in self._futures:
                self._client.remove_pending_request(future)
        else:
            return
        self._futures = []

    def _judge(self, now_s: float) -> None:
        name = self._controller.name
        self.obstacle = self.problem = ""
        if self._method != SPLINES:
            self.obstacle = (
                f"{name} does not interpolate, so it would step from point to point of a stop: its parameter {METHOD} "
                f"is {self._method}, must be {SPLINES}"
            )
        elif self._said is False:
            self.obstacle = (
                f"{name} leads into each command from the measured position, so it would jump back by its lag: set its "
                f"parameter {WANTED} to true"
            )
        elif self._said is None and self._final:
            self.problem = f"{name} has no parameter {WANTED}: make sure that it leads in from the commanded position"
        elif self._said is None:
            text = f"{name}: its parameter {WANTED}"
            if self._since_s is None or now_s - self._since_s < PATIENCE_S:
                self.obstacle = f"{text} was not read yet"
            else:
                self.problem = f"{text} could not be read: make sure that it is true"

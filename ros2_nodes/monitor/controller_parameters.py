"""What the robot side's trajectory controllers say of how they join a new trajectory to the one they play.

Tendon replaces a trajectory 100 times a second. A controller that leads into each from the *measured* position, as
joint_trajectory_controller does by default, jumps back by its lag each time, and lets go of what a gripper holds. One
that does not interpolate plays a stop, whose points are up to a braking time apart, as a staircase: 0.15 rad at once by
a Panda at full speed.

Answers are believed only in the form that a controller can give them: one value or none for one name, of the type that
the parameter has. Anything else keeps the robot from being armed. Nothing is asked while the robot may move, so that no
answer, however large, holds up a permission.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from rcl_interfaces.msg import ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters

from tendon.core.errors import InvalidDataError, NoAnswerError
from tendon.core.phrases import beginning
from tendon.robots.profile import ControllerSpec
from tendon.ros2_nodes.base.guarded_client import PendingRequest
from tendon.ros2_nodes.base.shell import NodeShell

WANTED, FORMERLY = "interpolate_from_desired_state", "open_loop_control"
"""Either does: releases before 4.22 of ros2_controllers have the second name alone."""
METHOD, SPLINES = "interpolation_method", "splines"
TYPES = {
    WANTED: ParameterType.PARAMETER_BOOL,
    FORMERLY: ParameterType.PARAMETER_BOOL,
    METHOD: ParameterType.PARAMETER_STRING,
}
LOOK_S = 0.5
ANSWER_S = 1.0
PATIENCE_S = 5.0
"""How long arming waits for what a controller says, from when it listens to commands."""


class ControllerParameters:
    """Reads each controller's parameters while the robot may not move: somebody may change them, or restart it.

    Everything in the executor's thread.

    Args:
        node: calls the services.
        listens: returns whether a controller listens to its commands.
        may_move: returns whether the robot is permitted to move.
    """

    def __init__(
        self, node: NodeShell, listens: Callable[[ControllerSpec], bool], may_move: Callable[[], bool]
    ) -> None:
        controllers = [each for each in node.profile.controllers if each.type == "joint_trajectory"]
        self._readings = [_Reading(node, each, listens) for each in controllers]
        self._node, self._may_move = node, may_move
        node.every(LOOK_S, self._look)

    def _look(self) -> None:
        may_ask = not self._may_move()
        for reading in self._readings:
            self._node.guard(reading.service, partial(reading.look, may_ask))

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
        service: that is asked.
        obstacle: why the robot may not be armed; empty when it may.
        problem: what a person has to look at instead; empty without such.
    """

    def __init__(self, node: NodeShell, controller: ControllerSpec, listens: Callable[[ControllerSpec], bool]) -> None:
        self._controller, self._listens = controller, listens
        self.service = f"{controller.name}/get_parameters"
        self._client = node.create_guarded_client(GetParameters, self.service)
        self._requests: dict[str, PendingRequest] = {}
        self._since_s: float | None = None
        self._said: bool | None = None
        self._method = SPLINES
        self._nonsense = ""
        self._answered = False
        self.problem = ""
        self.obstacle = f"{controller.name}: its parameter {WANTED} was not read yet"

    def look(self, may_ask: bool) -> None:
        """Takes what was answered, or asks if it may; if not, it takes nothing either."""
        now_s = time.monotonic()
        if not self._listens(self._controller):
            self._since_s = None
        elif self._since_s is None:
            self._since_s = now_s
        if not may_ask:
            self._give_up()
        elif self._requests:
            self._receive()
        elif not self._client.ready:
            self._said, self._method, self._nonsense = None, SPLINES, ""
            self._answered = False  # it may come back another
        else:
            # One name at a time: of several, rclcpp answers with none when it does not know one.
            self._requests = {name: self._client.ask(GetParameters.Request(names=[name]), ANSWER_S) for name in TYPES}
        self._judge(now_s)

    def _give_up(self) -> None:
        for request in self._requests.values():
            request.give_up()
        self._requests = {}

    def _receive(self) -> None:
        try:
            answers = {name: request.answer() for name, request in self._requests.items()}
        except NoAnswerError:
            self._give_up()
            return
        if any(answer is None for answer in answers.values()):
            return
        self._requests = {}
        try:
            found = {name: _value(name, answer.values) for name, answer in answers.items()}
        except InvalidDataError as error:
            self._said, self._method, self._nonsense = None, SPLINES, str(error)
            return
        said = [value.bool_value for name in (WANTED, FORMERLY) if (value := found[name]) is not None]
        method = found[METHOD]
        self._said = any(said) if said else None
        self._method = SPLINES if method is None else method.string_value
        self._nonsense = ""
        self._answered = True

    def _judge(self, now_s: float) -> None:
        name = self._controller.name
        self.obstacle = self.problem = ""
        if self._nonsense:
            self.obstacle = f"{name}: {self._nonsense}"
        elif self._method != SPLINES:
            self.obstacle = (
                f"{name} does not interpolate, so it would step from point to point of a stop: its parameter {METHOD} "
                f"is {beginning(self._method)}, must be {SPLINES}"
            )
        elif self._said is False:
            self.obstacle = (
                f"{name} leads into each command from the measured position, so it would jump back by its lag: set its "
                f"parameter {WANTED} to true"
            )
        elif self._said is None and self._answered:
            self.problem = f"{name} has no parameter {WANTED}: make sure that it leads in from the commanded position"
        elif self._said is None:
            text = f"{name}: its parameter {WANTED}"
            if self._since_s is None or now_s - self._since_s < PATIENCE_S:
                self.obstacle = f"{text} was not read yet"
            else:
                self.problem = f"{text} could not be read: make sure that it is true"


def _value(name: str, values: Sequence[ParameterValue]) -> ParameterValue | None:
    """Returns the value of one parameter that a controller was asked for; `None`: it has no such.

    Raises:
        InvalidDataError: that is no answer to a question for this one.
    """
    if len(values) > 1:
        raise InvalidDataError(f"was asked for its parameter {name}, and answered with {len(values)} values, must be 1")
    if not values or values[0].type == ParameterType.PARAMETER_NOT_SET:
        return None
    if values[0].type != TYPES[name]:
        raise InvalidDataError(f"its parameter {name} has type {values[0].type}, must be {TYPES[name]}")
    return values[0]

"""What a trajectory controller says of itself decides whether the robot is armed; its services are played here."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import GetParameters
from rclpy.parameter import Parameter

from tendon.robots.profile import load_profile
from tendon.ros2_nodes.monitor.controller_parameters import ControllerParameters

PROFILE = load_profile("ur5e")
GOOD = {"interpolate_from_desired_state": True, "open_loop_control": False, "interpolation_method": "splines"}


class Played:
    """A node and the parameter services of its controllers, which answer at once."""

    profile = PROFILE

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values
        self.look: Callable[[], None] = lambda: None

    def every(self, _: float, work: Callable[[], None]) -> None:
        self.look = work

    def create_client(self, _: type, service: str) -> Played:
        assert service.endswith("/get_parameters")
        return self

    def service_is_ready(self) -> bool:
        return True

    def call_async(self, request: GetParameters.Request) -> Future[GetParameters.Response]:
        answered: Future[GetParameters.Response] = Future()
        values = [
            Parameter(name, value=self.values[name]).get_parameter_value() if name in self.values else ParameterValue()
            for name in request.names
        ]
        answered.set_result(GetParameters.Response(values=values))
        return answered


def read(values: dict[str, Any]) -> tuple[Played, ControllerParameters]:
    played = Played(values)
    parameters = ControllerParameters(played, lambda _: True)  # type: ignore[arg-type]
    assert "was not read yet" in parameters.obstacles()[0]
    played.look()
    played.look()
    return played, parameters


@pytest.mark.parametrize(
    "changed",
    [{}, {"interpolate_from_desired_state": False, "open_loop_control": True}, {"interpolation_method": None}],
    ids=["Jazzy", "before 4.22", "of another make"],
)
def test_one_that_leads_in_from_the_commanded_position_and_interpolates_is_armed(changed: dict[str, Any]) -> None:
    values = {name: value for name, value in (GOOD | changed).items() if value is not None}
    _, parameters = read(values)
    assert parameters.obstacles() == () and not parameters.problem


def test_one_that_steps_from_point_to_point_is_not_armed_until_that_is_mended() -> None:
    played, parameters = read(GOOD | {"interpolation_method": "none"})
    assert "interpolation_method is none, must be splines" in parameters.obstacles()[0]
    played.values = GOOD
    played.look()
    played.look()
    assert parameters.obstacles() == ()


def test_one_that_leads_in_from_the_measured_position_is_not_armed() -> None:
    _, parameters = read(GOOD | {"interpolate_from_desired_state": False})
    assert "set its parameter interpolate_from_desired_state to true" in parameters.obstacles()[0]

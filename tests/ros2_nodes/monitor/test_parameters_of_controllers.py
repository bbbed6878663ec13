"""What a trajectory controller says of itself decides whether the robot is armed; its services are played here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import GetParameters
from rclpy.parameter import Parameter

from tendon.core.errors import NoAnswerError
from tendon.robots.profile import load_profile
from tendon.ros2_nodes.monitor.controller_parameters import METHOD, WANTED, ControllerParameters

PROFILE = load_profile("ur5e")
GOOD = {"interpolate_from_desired_state": True, "open_loop_control": False, "interpolation_method": "splines"}


class Played:
    """A node and the parameter services of its controllers, which answer at once."""

    profile = PROFILE
    ready = True

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values
        self.asked = 0
        self.look: Callable[[], None] = lambda: None

    def every(self, _: float, work: Callable[[], None]) -> None:
        self.look = work

    def guard(self, _: str, work: Callable[[], None]) -> None:
        work()

    def create_guarded_client(self, _: type, service: str) -> Played:
        assert service.endswith("/get_parameters")
        return self

    def ask(self, request: GetParameters.Request, _: float) -> Answered:
        self.asked += 1
        (name,) = request.names
        value = self.values.get(name)
        if isinstance(value, list):
            return Answered(value)
        if value is None:
            return Answered([ParameterValue()])
        return Answered([Parameter(name, value=value).get_parameter_value()])


class Answered:
    """A request that was answered with such values; with "late": not in time."""

    def __init__(self, values: list[Any]) -> None:
        self._values = values

    def answer(self) -> GetParameters.Response | None:
        if self._values == ["late"]:
            raise NoAnswerError("it did not answer within 1 s")
        return GetParameters.Response(values=self._values)

    def give_up(self) -> None:
        pass


def read(values: dict[str, Any], may_move: Callable[[], bool] = lambda: False) -> tuple[Played, ControllerParameters]:
    played = Played(values)
    parameters = ControllerParameters(played, lambda _: True, may_move)  # type: ignore[arg-type]
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


YES, NO, WORD, NUMBER = (Parameter("x", value=value).get_parameter_value() for value in (True, False, "splines", 1))


@pytest.mark.parametrize(
    ("name", "values", "why"),
    [
        (METHOD, [YES], "its parameter interpolation_method has type 1, must be 4"),
        (WANTED, [WORD], "its parameter interpolate_from_desired_state has type 4, must be 1"),
        (WANTED, [NUMBER], "its parameter interpolate_from_desired_state has type 2, must be 1"),
        (WANTED, [ParameterValue(type=200, bool_value=True)], "has type 200, must be 1"),
        (WANTED, [NO, YES], "answered with 2 values, must be 1"),
        (METHOD, [WORD, YES], "answered with 2 values, must be 1"),
        (WANTED, [YES] * 3000, "answered with 3000 values, must be 1"),
    ],
)
def test_an_answer_to_another_question_arms_nothing(name: str, values: list[ParameterValue], why: str) -> None:
    """All but the types of numbers 2 and 200 armed the robot before, with a controller that jumps or steps."""
    played, parameters = read({name: values})
    assert why in parameters.obstacles()[0]
    played.values = GOOD
    played.look()
    played.look()
    assert parameters.obstacles() == ()


def test_a_word_that_is_too_long_to_be_read_is_cut() -> None:
    _, parameters = read(GOOD | {METHOD: "x" * 60_000})
    assert len(parameters.obstacles()[0]) < 1000


def test_one_answer_that_is_late_has_all_asked_again() -> None:
    played, parameters = read(GOOD | {METHOD: ["late"]})
    assert "was not read yet" in parameters.obstacles()[0] and played.asked == 3
    played.values = GOOD
    played.look()
    played.look()
    assert parameters.obstacles() == () and played.asked == 6


def test_nothing_is_asked_or_taken_while_the_robot_may_move() -> None:
    """Rclpy needs 0.2 s for an answer of 30 000 values, in which no permission would be renewed."""
    moves = True
    played, parameters = read({WANTED: [YES] * 3000}, lambda: moves)
    assert played.asked == 0
    moves = False
    played.look()
    moves = True
    played.look()
    assert played.asked == 3 and "was not read yet" in parameters.obstacles()[0]


def test_a_parameter_that_is_changed_before_arming_is_noticed() -> None:
    played, parameters = read(GOOD)
    assert parameters.obstacles() == ()
    played.values = GOOD | {WANTED: [NO]}
    for _ in range(3):
        played.look()
    assert "measured position" in parameters.obstacles()[0]

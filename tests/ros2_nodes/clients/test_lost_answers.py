"""The answer to a first request goes to nobody, as it does where the one who answers has not found the client yet."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_srvs.srv import Trigger

from tendon.core.errors import StoppedError
from tendon.graph import topics
from tendon.ros2_nodes.base.late_answers import LateAnswers
from tendon.ros2_nodes.clients.operator import Operator


class Forgetful:
    """Serves stop and reset, and answers no first request."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self._node = Node("forgetful")
        self._late: dict[str, LateAnswers] = {}
        for name in (topics.STOP, topics.RESET):
            self._late[name] = LateAnswers(self._node.create_service(Trigger, name, partial(self._answer, name)))
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._thread = threading.Thread(target=self._executor.spin, daemon=True)
        self._thread.start()

    def _answer(self, name: str, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self.asked[name] += 1
        if self.asked[name] == 1:
            self._late[name].hold(response)
        response.success, response.message = True, f"number {self.asked[name]}"
        return response

    def close(self) -> None:
        self._executor.shutdown()
        self._thread.join(1.0)
        self._node.destroy_node()


@pytest.fixture
def forgetful() -> Iterator[Forgetful]:
    rclpy.init()
    made = Forgetful()
    yield made
    made.close()
    rclpy.shutdown()


@pytest.fixture
def operator() -> Iterator[Operator]:
    made = Operator("asks")
    yield made
    made.close()


def test_a_stop_is_asked_for_again(forgetful: Forgetful, operator: Operator) -> None:
    assert operator.stop(20.0) == "number 2"
    assert not operator._calls[topics.STOP]._pending


def test_what_could_do_harm_a_second_time_is_asked_for_once(forgetful: Forgetful, operator: Operator) -> None:
    with pytest.raises(StoppedError, match=r"safety/reset was not answered within 2\.5 s"):
        operator.reset(2.5)
    assert forgetful.asked[topics.RESET] == 1

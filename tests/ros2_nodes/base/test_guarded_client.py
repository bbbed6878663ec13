"""A service may answer late, twice, to nobody, with nonsense or never; who asks goes on, and forgets it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_srvs.srv import Trigger

from tendon.core.errors import InvalidDataError, NoAnswerError
from tendon.ros2_nodes.base.guard import GuardedNode
from tendon.ros2_nodes.base.guarded_client import GuardedClient
from tests.poison.answering import Played


@pytest.fixture
def node() -> Iterator[GuardedNode]:
    rclpy.init()
    made = GuardedNode("asks")
    yield made
    made.destroy_node()
    rclpy.shutdown()


@pytest.fixture
def client(node: GuardedNode) -> GuardedClient:
    return node.create_guarded_client(Trigger, "something")


def test_a_service_answers_and_the_executor_has_no_part_in_it(node: GuardedNode) -> None:
    client = node.create_guarded_client(Trigger, "served")
    assert list(node.clients) == []
    server = Node("serves")
    server.create_service(Trigger, "served", lambda _, response: Trigger.Response(success=True, message="done"))
    executor = SingleThreadedExecutor()
    executor.add_node(server)
    deadline_s = time.monotonic() + 10.0
    while not client.ready and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert client.ready
    asked = [client.ask(Trigger.Request(), 10.0) for _ in range(3)]
    asked[1].give_up()
    answers: list[Any] = [None] * 3
    while answers[0] is None or answers[2] is None:
        executor.spin_once(0.01)
        answers = [answers[0] or asked[0].answer(), None, answers[2] or asked[2].answer()]
    assert [answer.message for answer in (answers[0], answers[2])] == ["done", "done"]
    assert asked[1].answer() is None and not client._pending
    executor.shutdown()
    server.destroy_node()


@pytest.mark.parametrize("way", ["late", "given up", "to nobody", "fails"])
def test_what_comes_late_or_not_for_this_request_is_no_answer(client: GuardedClient, way: str) -> None:
    played = Played(client)
    played.plan(Trigger.Response(success=True), way)
    asked = client.ask(Trigger.Request(), 60.0)
    for _ in range(3):
        with pytest.raises(NoAnswerError, match="something did not answer within 60 s"):
            while asked.answer() is None:
                pass
    assert not client._pending
    asked = client.ask(Trigger.Request(), 60.0)  # the next one is answered
    assert asked.answer().success and not client._pending


def test_an_answer_that_comes_twice_counts_once(client: GuardedClient) -> None:
    played = Played(client)
    played.plan(Trigger.Response(success=True), "twice")
    asked = client.ask(Trigger.Request(), 60.0)
    assert asked.answer().success and not played._inbox and not client._pending


def test_requests_that_are_never_answered_are_not_kept(client: GuardedClient) -> None:
    """A client of rclpy kept each of them for as long as it lived."""
    Played(client)
    client._receive = lambda: (None, None)  # type: ignore[method-assign]
    for _ in range(100):
        asked = client.ask(Trigger.Request(), -1.0)
        with pytest.raises(NoAnswerError):
            asked.answer()
    assert not client._pending


def test_an_error_of_the_middleware_is_said_and_a_fault_of_ours_is_counted(
    node: GuardedNode, client: GuardedClient
) -> None:
    def fail() -> Any:
        raise error

    client._receive = fail  # type: ignore[method-assign]
    for error, faults in ((RuntimeError("failed to take"), 0), (TypeError("no int"), 1)):  # noqa: B007
        client.take()
        assert node.faults == faults


def test_work_after_an_answer_that_raises_ends_nothing(node: GuardedNode) -> None:
    def refuse() -> None:
        raise InvalidDataError("not this")

    def fail() -> None:
        raise IndexError("not there")

    node.guard("something", refuse)
    assert node.faults == 0
    node.guard("something", fail)
    assert node.faults == 1 and "IndexError" in node.fault


def test_a_request_costs_no_wait(client: GuardedClient) -> None:
    Played(client)
    begin_s = time.monotonic()
    for _ in range(100):
        assert client.ask(Trigger.Request(), 60.0).answer().success
    assert time.monotonic() - begin_s < 5.0

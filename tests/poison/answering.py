"""Answers to what a node asks of others, as a test makes them up: spoilt, late, twice, or to nobody's request.

The middleware is left out: what a `GuardedClient` sends is answered here, in the way that was planned, or well.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest import mock

from tendon.ros2_nodes.base.guard import GuardedNode
from tendon.ros2_nodes.base.guarded_client import GuardedClient
from tests.poison import messages

WAYS = ("prompt", "prompt", "twice", "late", "prompt", "given up", "to nobody", "fails")
"""How answers come, in turn."""
IN_TIME = ("prompt", "twice")


@dataclass(kw_only=True)
class Given:
    """A request and what was answered."""

    request: Any
    answer: Any
    way: str


class Played:
    """Who serves what a client asks.

    Attributes:
        client: that one.
        given: the last requests and their answers.
    """

    def __init__(self, client: GuardedClient) -> None:
        self.client, self.given = client, deque[Given](maxlen=8)
        self._plan: tuple[Any, str] | None = None
        self._skipped, self._number = 0, 0
        self._inbox: deque[Callable[[], tuple[int | None, Any]]] = deque()
        served: Any = client._client
        served.service_is_ready = lambda: True
        spoilt: Any = client
        spoilt._send, spoilt._receive, spoilt.close = self._send, self._receive, lambda: None

    def plan(self, answer: Any, way: str, skip: int = 0) -> None:
        """Says how the next request is answered, or that after so many others."""
        self._plan, self._skipped = (answer, way), skip

    def forget(self) -> None:
        """Answers well again."""
        self._plan = None

    @property
    def planned(self) -> bool:
        """Whether the request that this was planned for is still to come."""
        return self._plan is not None

    def _send(self, request: Any) -> int:
        self._number += 1
        number, plan = self._number, self._plan
        if plan is None or self._skipped > 0:
            self._skipped -= 1
            plan = messages.answer(self.client.kind, request), "prompt"
        else:
            self._plan = None
        answer, way = plan
        time_is_over = partial(self._time_is_over, number)
        self.given.append(Given(request=request, answer=answer, way=way))
        if way in IN_TIME:
            self._inbox.extend([lambda: (number, answer)] * (1 + (way == "twice")))
        elif way == "late":
            self._inbox.extend([time_is_over, lambda: (number, answer)])
        elif way == "given up":
            self._inbox.extend([time_is_over, lambda: self._given_up(number, answer)])
        else:
            self._inbox.extend([lambda: (number + 10**6, answer), time_is_over])
            if way == "fails":
                self._inbox.appendleft(partial(self._fail, number))
        return number

    def _receive(self) -> tuple[int | None, Any]:
        return self._inbox.popleft()() if self._inbox else (None, None)

    def _time_is_over(self, number: int) -> tuple[None, None]:
        pending = self.client._pending.get(number)
        if pending is not None:
            pending._until_s = 0.0
        return None, None

    def _given_up(self, number: int, answer: Any) -> tuple[int, Any]:
        self.client._pending.pop(number, None)
        return number, answer

    def _fail(self, number: int) -> tuple[None, None]:
        self._time_is_over(number)
        raise RuntimeError("failed to take a response")  # as rclpy's RCLError


@contextmanager
def played_services() -> Iterator[list[Played]]:
    """Yields who serves what nodes ask meanwhile, one for each service that a node asks."""
    played: dict[tuple[int, str], Played] = {}
    every: list[Played] = []
    make = GuardedNode.create_guarded_client

    def made(node: GuardedNode, kind: Any, service: str) -> GuardedClient:
        key = id(node), service
        if key not in played:
            played[key] = Played(make(node, kind, service))
            every.append(played[key])
        return played[key].client

    with mock.patch.object(GuardedNode, "create_guarded_client", made):
        yield every

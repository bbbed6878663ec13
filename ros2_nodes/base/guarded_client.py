"""Services that a node asks: what is answered is looked for beside the executor, and can end nothing.

rclpy's own clients are served by the executor, where an answer that cannot be taken ends the process, and they keep
what was never answered for ever. Here a request counts until its answer is taken, its time is over, or it is given up;
what comes later, twice, or to nobody's request is dropped.

rclpy makes Python objects of a whole answer, during which nothing else runs in the process (8 us for each parameter),
and cannot be asked how long it is before that. So whoever keeps a loop asks only while the robot may not move.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from rclpy.client import Client

from tendon.core.errors import NoAnswerError

if TYPE_CHECKING:
    from tendon.ros2_nodes.base.guard import GuardedNode

KEPT = 10
"""Answers that the middleware keeps until they are taken: ROS's default for services."""


class PendingRequest:
    """A request that was sent. Made by `GuardedClient.ask`."""

    def __init__(self, client: GuardedClient, number: int, limit_s: float) -> None:
        self._client, self._number, self._limit_s = client, number, limit_s
        self._until_s = time.monotonic() + limit_s
        self._answer: Any = None

    def answer(self) -> Any:
        """Returns the answer; `None` while there is none.

        Raises:
            NoAnswerError: it did not come in time.
        """
        self._client.take()
        if self._answer is None and time.monotonic() > self._until_s:
            self.give_up()
            raise NoAnswerError(f"{self._client.service} did not answer within {self._limit_s:g} s")
        return self._answer

    def give_up(self) -> None:
        """Waits no longer; an answer that comes later is dropped."""
        self._client.forget(self._number)

    def give(self, answer: Any) -> None:
        """Takes the answer."""
        self._answer = answer


class GuardedClient:
    """Asks one service. Any thread may. Made by `GuardedNode.create_guarded_client`.

    Attributes:
        service: its name, as the node wrote it.
        kind: its type.
    """

    def __init__(self, node: GuardedNode, client: Client, kind: Any, service: str) -> None:
        self.service, self.kind = service, kind
        self._node, self._client = node, client
        self._lock = threading.Lock()
        self._pending: dict[int, PendingRequest] = {}

    @property
    def ready(self) -> bool:
        """Whether somebody serves it, as far as the middleware knows."""
        return bool(self._client.service_is_ready())

    def ask(self, request: Any, limit_s: float) -> PendingRequest:
        """Sends a request, which has to be answered within so much wall time."""
        with self._lock:
            number = self._send(request)
            self._pending[number] = PendingRequest(self, number, limit_s)
            return self._pending[number]

    def take(self) -> None:
        """Takes the answers that have come. What the middleware cannot take is said in the log, and is no answer."""
        with self._lock:
            for _ in range(KEPT):
                try:
                    number, answer = self._receive()
                except RuntimeError as error:  # the middleware's
                    self._node.complain(self.service, str(error))
                    return
                except Exception as error:  # the top of a node
                    self._node.count_fault(self.service, error)
                    return
                if number is None:
                    return
                pending = self._pending.pop(number, None)
                if pending is not None:
                    pending.give(answer)

    def forget(self, number: int) -> None:
        """Forgets a request."""
        with self._lock:
            self._pending.pop(number, None)

    def close(self) -> None:
        """Asks no more."""
        self._node.destroy_client(self._client)

    def _send(self, request: Any) -> int:
        with self._client.handle:
            return int(self._client.handle.send_request(request))

    def _receive(self) -> tuple[int | None, Any]:
        with self._client.handle:
            header, answer = self._client.handle.take_response(self.kind.Response)
        return (None if header is None else int(header.request_id.sequence_number)), answer

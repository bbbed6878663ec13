"""Answers that a service gives later than its callback returns."""

from __future__ import annotations

from typing import Any

from rclpy.service import Service


class LateAnswers:
    """Holds back the answers of a service that are not ready yet. Everything in the executor's thread.

    rclpy's executor of events awaits no coroutine: what a callback returns it sends at once, with the service's
    `send_response`, which is replaced here.

    Args:
        service: whose callback may return a response that was given to `hold`.
    """

    def __init__(self, service: Service) -> None:
        self._send = service.send_response
        self._held: list[Any] = []
        self._headers: dict[int, Any] = {}
        service.send_response = self._take  # type: ignore[method-assign]

    def hold(self, response: Any) -> None:
        """Keeps a response, which the callback returns next, until it is given."""
        self._held.append(response)

    def _take(self, response: Any, header: Any) -> None:
        if any(each is response for each in self._held):
            self._headers[id(response)] = header
        else:
            self._send(response, header)

    def give(self, response: Any) -> None:
        """Sends a response that was held.

        Raises:
            RuntimeError: the middleware does not send it, such as to a client that is gone.
        """
        self._held = [each for each in self._held if each is not response]
        header = self._headers.pop(id(response), None)
        if header is not None:
            self._send(response, header)

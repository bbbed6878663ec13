"""Client of openpi's websocket protocol, against openpi's own servers and `tendon policy serve`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from tendon.core.errors import InvalidDataError, RemoteError, TendonError
from tendon.core.phrases import without_numbers
from tendon.policies.inference.outage import MAX_PHRASES
from tendon.policies.remote.openpi.format import Packer, unpack
from tendon.policies.remote.transport import handshake
from tendon.policies.remote.transport.backoff import Backoff
from tendon.policies.remote.transport.endpoint import Deadline, Endpoint
from tendon.policies.remote.transport.websocket import WebSocket

_LOGGED = 8000

_log = logging.getLogger(__name__)


class OpenpiClient:
    """Asks a server one thing at a time. One thread.

    A request is sent once: when it fails, its observation is old, and the next one is what counts. The connection is
    then made anew with the next request, after a wait that grows with each failure (`Backoff`).

    Args:
        endpoint: of the server.
        check: takes the metadata of each new connection, and raises when it does not fit.
    """

    def __init__(self, endpoint: Endpoint, check: Callable[[Mapping[Any, Any]], None] = lambda metadata: None) -> None:
        self._endpoint, self._check = endpoint, check
        self._packer = Packer()
        self._backoff = Backoff()
        self._socket: WebSocket | None = None
        self._told: set[str] = set()

    def connect(self) -> None:
        """Connects, unless it is connected.

        Raises:
            RemoteError: the server is out of reach, or it is not yet time to try again.
            TendonError: its metadata does not fit.
        """
        if self._socket is not None and self._still_open(self._socket):
            return
        self._drop()
        self._backoff.check()
        url, deadline = self._endpoint.url, Deadline(self._endpoint.connect_s)
        headers = {"Authorization": f"Api-Key {self._endpoint.key}"} if self._endpoint.key else {}
        try:
            self._socket = handshake.connect(
                url,
                headers=headers,
                largest=self._endpoint.largest,
                deadline=deadline,
                ca_file=self._endpoint.ca_file,
            )
            self._check(self._message(self._metadata(self._socket, deadline)))
        except TendonError as error:
            self._failed(error)
            raise
        except OSError as error:
            raise self._failed(RemoteError(f"policy server {url} is out of reach: {error}")) from error

    def ask(self, request: Mapping[Any, Any], timeout_s: float) -> dict[Any, Any]:
        """Sends a request and returns the answer.

        Args:
            request: arrays, numbers, text, lists and maps.
            timeout_s: longest time from here to the answer. Connecting anew has `connect_s` of the endpoint; when that
                leaves no time the request is not sent, and the next one finds a connection.

        Raises:
            RemoteError: no connection, no answer in time, or the server answered with an error.
            InvalidDataError: the answer is too large, or not in openpi's format.
            TendonError: the server was started anew, and its metadata does not fit.
        """
        deadline = Deadline(timeout_s)
        self.connect()
        assert self._socket is not None
        try:
            deadline.left_s()
        except TimeoutError as error:
            raise RemoteError(
                f"connecting to {self._endpoint.url} took longer than {timeout_s:g} s: this observation is too old, "
                "the next one is sent"
            ) from error
        try:
            self._socket.send(self._packer.pack(request), deadline)
            answer = self._message(self._socket.receive(deadline))
        except TendonError as error:
            self._failed(error)
            raise
        except TimeoutError as error:
            problem = f"policy server {self._endpoint.url} did not answer in {timeout_s:g} s"
            raise self._failed(RemoteError(problem)) from error
        except OSError as error:
            raise self._failed(RemoteError(f"policy server {self._endpoint.url} went away: {error}")) from error
        self._backoff.succeeded()
        return answer

    def close(self) -> None:
        """Says goodbye. The next request would connect anew."""
        self._drop()

    def _metadata(self, connection: WebSocket, deadline: Deadline) -> Any:
        try:
            return connection.receive(deadline)
        except TimeoutError as error:
            raise RemoteError(
                f"{self._endpoint.url} took the connection, but said nothing of its policy in "
                f"{self._endpoint.connect_s:g} s (connect_s): is it an openpi server or `tendon policy serve`?"
            ) from error

    def _still_open(self, connection: WebSocket) -> bool:
        """Answers pings that came meanwhile, and sees whether the server has gone."""
        try:
            return connection.poll(0.0, self._endpoint.connect_s) is None  # nobody asked for a message
        except (OSError, InvalidDataError):
            return False

    def _message(self, message: Any) -> dict[Any, Any]:
        if not isinstance(message, str):
            return unpack(message)
        kind = without_numbers(message)
        if kind not in self._told and len(self._told) < MAX_PHRASES:
            self._told.add(kind)
            _log.warning("policy server %s: %s", self._endpoint.url, message[:_LOGGED])
        last = next((line.strip() for line in reversed(message.splitlines()) if line.strip()), "no reason given")
        raise RemoteError(f"policy server {self._endpoint.url} answered with an error: {last:.300}")

    def _failed(self, error: TendonError) -> TendonError:
        """Drops the connection, so that a late answer cannot be taken for the next one's; returns the error."""
        self._drop()
        self._backoff.failed(error)
        return error

    def _drop(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

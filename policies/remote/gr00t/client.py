"""Client of NVIDIA's GR00T policy server: ZeroMQ request and reply, msgpack, every wait bounded."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import zmq

from tendon.core.errors import InvalidDataError, RemoteError, TendonError
from tendon.policies.remote.gr00t import format as gr00t_format
from tendon.policies.remote.gr00t.format import Coding
from tendon.policies.remote.transport.backoff import Backoff
from tendon.policies.remote.transport.endpoint import Deadline, Endpoint


class Gr00tClient:
    """Asks a server one thing at a time. One thread.

    A REQ socket that missed its reply can neither send nor receive any more, so it is made anew after every failure.
    As in `OpenpiClient` a request is sent once.

    Args:
        endpoint: of the server.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket: zmq.Socket[bytes] | None = None
        self._monitor: zmq.Socket[bytes] | None = None
        self._backoff = Backoff()

    def ask(self, name: str, data: Mapping[str, Any] | None, timeout_s: float, coding: Coding = Coding.NPY) -> Any:
        """Calls an endpoint of the server and returns its answer.

        Args:
            name: such as `get_action`.
            data: its arguments; `None` for an endpoint without.
            timeout_s: longest time to the answer.
            coding: how the server reads arrays.

        Raises:
            RemoteError: the server is out of reach, gave no answer in time, or answered with an error.
            InvalidDataError: the answer is not in GR00T's format.
        """
        self._backoff.check()
        request: dict[str, Any] = {"endpoint": name}
        if data is not None:
            request["data"] = data
        if self._endpoint.key:
            request["api_token"] = self._endpoint.key
        packed = gr00t_format.pack(request, coding)
        where = f"policy server {self._endpoint.url}"
        try:
            answer = gr00t_format.unpack(self._exchange(packed, name, timeout_s))
            if isinstance(answer, dict) and "error" in answer:
                raise RemoteError(f"{where} answered {name} with an error: {answer['error']!s:.300}")
        except InvalidDataError as error:
            raise self._failed(InvalidDataError(f"{where}, {name}: {error}")) from error
        except RemoteError as error:
            raise self._failed(error) from error.__cause__
        except zmq.ZMQError as error:
            raise self._failed(RemoteError(f"{where}: {error}")) from error
        self._backoff.succeeded()
        return answer

    def close(self) -> None:
        """Drops the connection and what waits in it."""
        self._drop()
        self._context.term()

    def _exchange(self, request: bytes, name: str, timeout_s: float) -> bytes:
        """Sends a request and returns the reply.

        Raises:
            RemoteError: there is no connection, it ended, or there is no reply in time.
        """
        where, deadline = f"policy server {self._endpoint.url}", Deadline(timeout_s)
        if self._socket is None or self._ended():
            self._drop()
            self._socket = self._open()
        try:
            self._socket.setsockopt(zmq.SNDTIMEO, math.ceil(1e3 * deadline.left_s()))
            self._socket.send(request)
        except (zmq.Again, TimeoutError) as error:
            raise RemoteError(f"{where} is out of reach: no ZeroMQ server took {name} in {timeout_s:g} s") from error
        poller = zmq.Poller()
        for each in (self._socket, self._monitor):
            poller.register(each, zmq.POLLIN)
        try:
            ready = dict(poller.poll(math.ceil(1e3 * deadline.left_s())))
            if self._socket in ready:
                return self._socket.recv()
            if ready:
                raise RemoteError(
                    f"{where} ended the connection in place of an answer to {name}: it died, is no GR00T server, or "
                    f"its answer is larger than largest_reply ({self._endpoint.largest} bytes)"
                )
        except TimeoutError:
            pass  # the request took all of it
        raise RemoteError(f"{where} did not answer {name} in {timeout_s:g} s")

    def _open(self) -> zmq.Socket[bytes]:
        opened = self._context.socket(zmq.REQ)
        opened.setsockopt(zmq.LINGER, 0)
        opened.setsockopt(zmq.IMMEDIATE, 1)  # nothing is kept for a server that is not there
        opened.setsockopt(zmq.CONNECT_TIMEOUT, round(1e3 * self._endpoint.connect_s))
        opened.setsockopt(zmq.MAXMSGSIZE, self._endpoint.largest)
        self._monitor = opened.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        opened.connect(self._endpoint.url)
        return opened

    def _ended(self) -> bool:
        """Returns whether the connection ended since the last answer."""
        return self._monitor is not None and bool(self._monitor.poll(0))

    def _failed(self, error: TendonError) -> TendonError:
        self._drop()
        self._backoff.failed(error)
        return error

    def _drop(self) -> None:
        if self._socket is not None:
            self._socket.disable_monitor()
        for each in (self._monitor, self._socket):
            if each is not None:
                each.close(linger=0)
        self._socket = self._monitor = None

"""Client of NVIDIA's GR00T policy server: ZeroMQ request and reply, msgpack, every wait bounded."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import zmq

from tendon.core.errors import InvalidDataError, RemoteError, TendonError
from tendon.policies.remote import gr00t_format
from tendon.policies.remote.backoff import Backoff
from tendon.policies.remote.endpoint import Deadline, Endpoint


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
        self._backoff = Backoff()

    def ask(self, name: str, data: Mapping[str, Any] | None, timeout_s: float) -> Any:
        """Calls an endpoint of the server and returns its answer.

        Args:
            name: such as `get_action`.
            data: its arguments; `None` for an endpoint without.
            timeout_s: longest time to the answer.

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
        url = self._endpoint.url
        try:
            answer = gr00t_format.unpack(self._exchange(gr00t_format.pack(request), Deadline(timeout_s)))
        except InvalidDataError as error:
            self._failed(error)
            raise
        except (zmq.Again, TimeoutError) as error:
            problem = f"policy server {url} did not answer {name} in {timeout_s:g} s"
            raise self._failed(RemoteError(problem)) from error
        except zmq.ZMQError as error:
            raise self._failed(RemoteError(f"policy server {url}: {error}")) from error
        if isinstance(answer, dict) and "error" in answer:
            raise self._failed(RemoteError(f"policy server {url} answered with an error: {answer['error']!s:.300}"))
        self._backoff.succeeded()
        return answer

    def close(self) -> None:
        """Drops the connection and what waits in it."""
        self._drop()
        self._context.term()

    def _exchange(self, request: bytes, deadline: Deadline) -> bytes:
        if self._socket is None:
            self._socket = self._open()
        self._socket.setsockopt(zmq.SNDTIMEO, math.ceil(1e3 * deadline.left_s()))
        self._socket.send(request)
        self._socket.setsockopt(zmq.RCVTIMEO, math.ceil(1e3 * deadline.left_s()))
        return self._socket.recv()

    def _open(self) -> zmq.Socket[bytes]:
        opened = self._context.socket(zmq.REQ)
        opened.setsockopt(zmq.LINGER, 0)
        opened.setsockopt(zmq.IMMEDIATE, 1)  # nothing is kept for a server that is not there
        opened.setsockopt(zmq.CONNECT_TIMEOUT, round(1e3 * self._endpoint.connect_s))
        opened.setsockopt(zmq.MAXMSGSIZE, self._endpoint.largest)
        opened.connect(self._endpoint.url)
        return opened

    def _failed(self, error: TendonError) -> TendonError:
        self._drop()
        self._backoff.failed(error)
        return error

    def _drop(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

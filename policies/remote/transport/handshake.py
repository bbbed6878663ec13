"""How a WebSocket comes about: TCP, TLS, HTTP upgrade, each bounded by one deadline; for client and server."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidStatus
from websockets.frames import Frame
from websockets.http11 import Request, Response
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.uri import parse_uri

from tendon.core.errors import RemoteError
from tendon.policies.remote.transport.endpoint import Deadline
from tendon.policies.remote.transport.websocket import READ_BYTES, WebSocket, flush


def connect(
    url: str, *, headers: Mapping[str, str], largest: int, deadline: Deadline, ca_file: Path | None = None
) -> WebSocket:
    """Opens a connection.

    Args:
        url: `ws://` or, with TLS, `wss://`. Proxies of the environment are not used.
        headers: of the request, beside those of the protocol.
        largest: bytes of a message that may arrive.
        deadline: for all of it but the look-up of a host name, which the system bounds.
        ca_file: certificates to trust instead of the system's.

    Raises:
        OSError: the server is out of reach, its certificate is not trusted, or it took too long.
        RemoteError: it answered, but not with a WebSocket; the message has its HTTP status.
    """
    uri = parse_uri(url)
    stream = socket.create_connection((uri.host, uri.port), deadline.left_s())
    try:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream.settimeout(deadline.left_s())
        if uri.secure:
            stream = ssl.create_default_context(cafile=ca_file).wrap_socket(stream, server_hostname=uri.host)
        protocol = ClientProtocol(uri, max_size=largest)
        request = protocol.connect()
        request.headers.update(headers)
        protocol.send_request(request)
        while protocol.state is State.CONNECTING and protocol.handshake_exc is None:
            _exchange(stream, protocol, deadline)
        if protocol.handshake_exc is not None:
            raise _refusal(url, protocol.handshake_exc)
        return WebSocket(stream, protocol)
    except BaseException:
        stream.close()
        raise


def accept(
    stream: socket.socket,
    *,
    check: Callable[[ServerProtocol, Request], Response | None],
    largest: int,
    deadline: Deadline,
    tls: ssl.SSLContext | None = None,
) -> WebSocket | None:
    """Answers a client that has just connected.

    Args:
        stream: its socket; closed unless a WebSocket is returned.
        check: returns what to answer instead of opening a WebSocket; `None` opens it.
        largest: bytes of a message that may arrive.
        deadline: for all of it.
        tls: certificate and key of the server.

    Returns:
        `None` when `check` or the protocol answered with something else.

    Raises:
        OSError: the client went away, took too long or does not speak TLS.
    """
    try:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream.settimeout(deadline.left_s())
        if tls is not None:
            stream = tls.wrap_socket(stream, server_side=True)
        protocol = ServerProtocol(max_size=largest)
        events: list[Request | Response | Frame] = []
        while not events:
            _exchange(stream, protocol, deadline)
            events = protocol.events_received()
            if protocol.handshake_exc is not None:
                raise ConnectionError(f"no HTTP request: {protocol.handshake_exc}")
        request = events[0]
        if not isinstance(request, Request) or len(events) > 1:
            raise ConnectionError("the client talked before it was welcome (RFC 6455, section 4.1)")
        protocol.send_response(check(protocol, request) or protocol.accept(request))
        flush(stream, protocol, deadline)
        if protocol.state is State.OPEN:
            return WebSocket(stream, protocol)
    except BaseException:
        stream.close()
        raise
    stream.close()
    return None


def _exchange(stream: socket.socket, protocol: ClientProtocol | ServerProtocol, deadline: Deadline) -> None:
    """Sends what the protocol has to send and waits for something to arrive."""
    flush(stream, protocol, deadline)
    stream.settimeout(deadline.left_s())
    data = stream.recv(READ_BYTES)
    if data:
        protocol.receive_data(data)
    else:
        protocol.receive_eof()


def _refusal(url: str, problem: Exception) -> RemoteError:
    if not isinstance(problem, InvalidStatus):
        return RemoteError(f"{url} is no policy server: {problem}")
    status = problem.response.status_code
    if status in (401, 403):
        return RemoteError(f"policy server {url} refused the key (HTTP {status}): set key_file to the server's key")
    said = bytes(problem.response.body or b"")[:200].decode("utf-8", "replace").strip()
    return RemoteError(f"policy server {url} answered HTTP {status} {said}".rstrip())

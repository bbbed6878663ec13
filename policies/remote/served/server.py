"""A server of openpi's websocket protocol, for one policy and a few clients. `tendon policy serve` is its command.

A thread a connection moves bytes; one more thread asks the policy, one request at a time, and always the same thread,
for engines keep state a thread. Nothing a client sends is parsed before its key is right.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import http
import ipaddress
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from websockets.http11 import Request, Response
from websockets.server import ServerProtocol

from tendon.core.errors import ConfigError, InvalidDataError, StoppedError, TendonError
from tendon.policies.remote.openpi.format import Packer, unpack
from tendon.policies.remote.transport import handshake
from tendon.policies.remote.transport.endpoint import Deadline
from tendon.policies.remote.transport.websocket import Message, WebSocket

HEALTH_PATH = "/healthz"
MAX_CONNECTIONS = 16
"""Clients with the right key."""
MAX_OPENING = 32
"""Connections that have not shown it yet: the oldest gives way to the next one."""
SHORTEST_KEY = 16
HANDSHAKE_S, MESSAGE_S, POLL_S, LINGER_S = 5.0, 10.0, 0.25, 1.0
KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""Seconds, seconds, times: a client whose machine has gone is noticed after a minute."""
GOING_AWAY, INTERNAL_ERROR, TRY_AGAIN_LATER = 1001, 1011, 1013

Answer = Callable[[Mapping[Any, Any]], dict[Any, Any]]

_log = logging.getLogger(__name__)


class PolicyServer:
    """Serves until it is closed.

    Args:
        metadata: what each client is told first.
        answer: makes the answer to a request; called from one thread. A `TendonError` of it is told to the client.
        largest: bytes of a request.
        host: address to listen on.
        port: 0 takes any that is free.
        key: what clients must show; `None` for none, which only a loopback address may have.
        tls: certificate and key of the server; `None` for none.

    Raises:
        ConfigError: the address is open to other machines without a key, or the key is too short.
    """

    def __init__(
        self,
        metadata: Mapping[str, Any],
        answer: Answer,
        *,
        largest: int,
        host: str = "127.0.0.1",
        port: int = 8000,
        key: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        if key is None and not _loopback(host):
            raise ConfigError(
                f"host {host} lets other machines in, so a key is needed: make one with "
                "`(umask 077; openssl rand -hex 32 > serve.key)` and give --api-key-file serve.key"
            )
        if key is not None and len(key) < SHORTEST_KEY:
            raise ConfigError(f"the key has {len(key)} characters, at least {SHORTEST_KEY} are needed")
        self._metadata = bytes(Packer().pack(metadata))
        self._answer, self._largest, self._tls = answer, largest, tls
        self._address = (host, port)
        self._expected = None if key is None else _digest(f"Api-Key {key}")
        self._closing = threading.Event()
        self._threads: set[threading.Thread] = set()
        self._opening: dict[threading.Thread, socket.socket] = {}
        self._clients = 0
        self._lock = threading.Lock()
        """Of the two before."""
        self._policy_thread = ThreadPoolExecutor(1, thread_name_prefix="policy")
        self._listener: socket.socket | None = None

    @property
    def port(self) -> int:
        """The port it listens on.

        Raises:
            StoppedError: it was not started.
        """
        if self._listener is None:
            raise StoppedError("the policy server was not started: call start()")
        return int(self._listener.getsockname()[1])

    def start(self) -> None:
        """Listens from here on, in threads of its own.

        Raises:
            ConfigError: the address is taken or is none of this machine.
        """
        host, port = self._address
        try:
            family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            self._listener = socket.create_server((host, port), family=family)
        except OSError as error:
            free = "; --port 0 takes a free one" if error.errno == errno.EADDRINUSE else ""
            raise ConfigError(f"cannot listen on {host}:{port}: {error}{free}") from error
        self._listener.settimeout(POLL_S)
        self._spawn(self._listen, self._listener)

    def in_policy_thread(self, work: Callable[[], object]) -> None:
        """Runs something, such as a warm-up, in the thread that asks the policy, and waits for it."""
        self._policy_thread.submit(work).result()

    def close(self) -> None:
        """Says goodbye to every client and ends; an answer being made is not sent any more."""
        self._closing.set()
        for thread in list(self._threads):
            thread.join(2.0)
        if self._listener is not None:
            self._listener.close()
        self._policy_thread.shutdown(wait=False, cancel_futures=True)

    def _spawn(self, work: Callable[[socket.socket], None], stream: socket.socket) -> None:
        def run() -> None:
            try:
                work(stream)
            finally:
                self._threads.discard(thread)

        thread = threading.Thread(target=run, name=work.__name__, daemon=True)
        self._threads.add(thread)
        thread.start()

    def _listen(self, listener: socket.socket) -> None:
        while not self._closing.is_set():
            try:
                stream, _ = listener.accept()
            except TimeoutError:
                continue
            except OSError as error:  # such as no file descriptors left: others are still served
                _log.error("cannot accept a connection: %s", error)
                self._closing.wait(POLL_S)
                continue
            self._make_room()
            self._spawn(self._serve, stream)

    def _make_room(self) -> None:
        """Ends the connection that has been opening for longest, where there are too many of them."""
        with self._lock:
            if len(self._opening) < MAX_OPENING:
                return
            thread, stream = next(iter(self._opening.items()))
            with suppress(OSError):  # it has ended already
                stream.shutdown(socket.SHUT_RDWR)
        thread.join(POLL_S)

    def _serve(self, stream: socket.socket) -> None:
        """Serves one client to its end."""
        try:
            peer = ":".join(map(str, stream.getpeername()[:2]))
            client = self._opened(stream)
        except OSError as error:
            stream.close()
            _log.info("a client did not get as far as asking: %s", error)
            return
        if client is None:
            return
        with self._lock:
            room = self._clients < MAX_CONNECTIONS
            self._clients += room
        if not room:
            _log.warning("client %s was turned away: %d are connected", peer, MAX_CONNECTIONS)
            client.close(TRY_AGAIN_LATER, f"{MAX_CONNECTIONS} clients are connected", LINGER_S)
            return
        _log.info("client %s connected", peer)
        try:
            self._converse(client)
            client.close(GOING_AWAY, "the server ends", LINGER_S)
        except (OSError, InvalidDataError) as error:
            _log.info("client %s has gone: %s", peer, error)
        finally:
            with self._lock:
                self._clients -= 1
            client.close(linger_s=LINGER_S)

    def _opened(self, stream: socket.socket) -> WebSocket | None:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in KEEPALIVE.items():
            stream.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        with stream.dup() as handle:  # TLS takes the stream itself away
            with self._lock:
                self._opening[threading.current_thread()] = handle
            try:
                return handshake.accept(
                    stream, check=self._check, largest=self._largest, deadline=Deadline(HANDSHAKE_S), tls=self._tls
                )
            finally:
                with self._lock:
                    del self._opening[threading.current_thread()]

    def _check(self, protocol: ServerProtocol, request: Request) -> Response | None:
        """Returns what to answer instead of opening a WebSocket."""
        if request.path == HEALTH_PATH:
            return protocol.reject(http.HTTPStatus.OK, "OK\n")
        if request.headers.get_all("Origin"):  # a web page, in the browser of somebody who may reach this port
            return protocol.reject(http.HTTPStatus.FORBIDDEN, "not for browsers\n")
        given = request.headers.get_all("Authorization")
        if self._expected is not None and not (
            len(given) == 1 and hmac.compare_digest(_digest(given[0]), self._expected)
        ):
            _log.warning("a client without the right key was turned away")
            return protocol.reject(http.HTTPStatus.UNAUTHORIZED, "wrong or missing key\n")
        return None

    def _converse(self, client: WebSocket) -> None:
        packer = Packer()
        client.send(self._metadata, Deadline(MESSAGE_S))
        previous_ms: float | None = None
        while not self._closing.is_set():
            message = client.poll(POLL_S, MESSAGE_S)
            if message is None:
                continue
            begin_ns = time.perf_counter_ns()
            try:
                reply = self._reply(message)
                if previous_ms is not None:
                    reply["server_timing"]["prev_total_ms"] = previous_ms
                data = packer.pack(reply)
            except Exception as error:  # the top of a connection: whatever it was, the client is told
                client.send(_told(error), Deadline(MESSAGE_S))
                client.close(INTERNAL_ERROR, "see the text before", LINGER_S)
                return
            client.send(data, Deadline(MESSAGE_S))
            previous_ms = (time.perf_counter_ns() - begin_ns) / 1e6

    def _reply(self, message: Message) -> dict[Any, Any]:
        if isinstance(message, str):
            raise InvalidDataError("a request must be a binary message, got text")
        return self._policy_thread.submit(self._infer, unpack(message)).result()

    def _infer(self, request: Mapping[Any, Any]) -> dict[Any, Any]:
        begin_ns = time.perf_counter_ns()
        reply = self._answer(request)
        return {**reply, "server_timing": {"infer_ms": (time.perf_counter_ns() - begin_ns) / 1e6}}


def _told(error: Exception) -> str:
    """Returns what a client may know: what it did wrong, nothing of the inside."""
    if isinstance(error, TendonError):
        _log.info("a request was refused: %s", error)
        return f"{type(error).__name__}: {error}"
    _log.error("a request failed", exc_info=error)
    return "the policy failed: the log of the server says why"


def _digest(text: str) -> bytes:
    """Returns a digest, so that comparing takes as long whatever the length of a key."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


def _loopback(host: str) -> bool:
    """Returns whether only this machine can reach an address."""
    with suppress(OSError, ValueError):
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        return all(ipaddress.ip_address(str(address[4][0])).is_loopback for address in found)
    return False

"""A WebSocket (RFC 6455) on a blocking socket in which every wait ends, for client and server.

The protocol is that of the `websockets` package without its input and output: no thread and no event loop stand between
the caller and the socket, so that a deadline covers a whole message, and an idle connection costs nothing. Pings are
answered whenever the connection is read.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable

from websockets.client import ClientProtocol
from websockets.exceptions import PayloadTooBig
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.server import ServerProtocol

from tendon.core.errors import InvalidDataError
from tendon.policies.remote.transport.endpoint import Deadline

Message = str | bytes | bytearray | memoryview

READ_BYTES = 1 << 18
FRAGMENT_BYTES = 1 << 18
"""A large message goes out in frames of this size: the other side takes one apart while the next one comes."""
GOODBYE_S = 0.1
_DATA = (Opcode.TEXT, Opcode.BINARY, Opcode.CONT)


class WebSocket:
    """An open connection. One thread at a time.

    Args:
        stream: connected, TLS done.
        protocol: its handshake done.
    """

    def __init__(self, stream: socket.socket, protocol: ClientProtocol | ServerProtocol) -> None:
        self._stream, self._protocol = stream, protocol
        self._buffer = memoryview(bytearray(READ_BYTES))
        self._parts: list[bytes | bytearray | memoryview] = []
        self._text = False
        self._messages: deque[Message] = deque()
        self._begun_s: float | None = None
        self._collect()

    @property
    def peer(self) -> str:
        """The address at the other end."""
        return ":".join(map(str, self._stream.getpeername()[:2]))

    def send(self, message: Message, deadline: Deadline) -> None:
        """Sends a message: text if it is `str`, else binary.

        Raises:
            ConnectionError: the connection is closed.
            TimeoutError: it was not sent in time; the connection is of no more use.
        """
        self._check_open()
        if isinstance(message, str):
            self._protocol.send_text(message.encode("utf-8"))
            self._flush(deadline)
            return
        left = memoryview(message)
        send: Callable[..., None] = self._protocol.send_binary
        while True:
            send(left[:FRAGMENT_BYTES], fin=len(left) <= FRAGMENT_BYTES)
            self._flush(deadline)
            left = left[FRAGMENT_BYTES:]
            if not left:
                return
            send = self._protocol.send_continuation

    def receive(self, deadline: Deadline) -> Message:
        """Returns the next message.

        Raises:
            ConnectionError: the connection is or was closed.
            InvalidDataError: the message is larger than allowed; the connection is closed.
            TimeoutError: it was not whole in time; the connection is of no more use.
        """
        while not self._messages:
            self._read(deadline.left_s())
        return self._messages.popleft()

    def poll(self, wait_s: float, most_s: float) -> Message | None:
        """Waits a while for the next message; `None` when it is not whole yet.

        Args:
            wait_s: how long to wait for anything to arrive; 0 takes what is there.
            most_s: how long a message may take from its first byte to its last.

        Raises:
            ConnectionError, InvalidDataError, TimeoutError: as `receive`.
        """
        if not self._messages:
            self._read(wait_s)
        if not self._messages and self._begun_s is not None and time.monotonic() - self._begun_s > most_s:
            raise TimeoutError(f"a message took longer than {most_s:g} s")
        return self._messages.popleft() if self._messages else None

    def close(self, code: int = 1000, reason: str = "", linger_s: float = 0.0) -> None:
        """Says goodbye as far as the other side listens, and closes the socket. It can be called twice.

        Args:
            code: of RFC 6455, section 7.4.1.
            reason: in words.
            linger_s: how long to wait for the other side to close too. Closing at once while it still sends resets
                the connection, and what was said last can get lost.
        """
        with contextlib.suppress(OSError), self._stream:
            if self._protocol.state is State.OPEN and self._protocol.parser_exc is None:
                self._protocol.send_close(code, reason)
            self._flush(Deadline(GOODBYE_S))
            if linger_s:
                deadline = Deadline(linger_s)
                self._stream.shutdown(socket.SHUT_WR)
                self._stream.settimeout(deadline.left_s())
                while self._stream.recv_into(self._buffer):
                    self._stream.settimeout(deadline.left_s())

    def _read(self, wait_s: float) -> None:
        """Waits for bytes and takes what there are."""
        self._check_open()
        self._stream.settimeout(wait_s)
        try:
            count = self._stream.recv_into(self._buffer)
        except (TimeoutError, BlockingIOError, ssl.SSLWantReadError):
            return
        if count:
            self._protocol.receive_data(self._buffer[:count])  # type: ignore[arg-type]
        else:
            self._protocol.receive_eof()
        frames = self._collect()
        if self._parts or not frames:
            self._begun_s = self._begun_s or time.monotonic()
        else:
            self._begun_s = None
        with contextlib.suppress(OSError):  # a pong that cannot be sent: the next read tells why
            self._flush(Deadline(1.0))
        if isinstance(self._protocol.parser_exc, PayloadTooBig):
            raise InvalidDataError(f"a message is too large: {self._protocol.parser_exc}")
        if not self._messages:
            self._check_open()

    def _collect(self) -> int:
        """Takes whole messages out of the frames that have arrived; returns how many frames there were."""
        frames = [event for event in self._protocol.events_received() if isinstance(event, Frame)]
        for frame in frames:
            if frame.opcode not in _DATA:
                continue
            if not self._parts:
                self._text = frame.opcode is Opcode.TEXT
            self._parts.append(frame.data)
            if frame.fin:
                data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
                self._messages.append(bytes(data).decode("utf-8", "replace") if self._text else data)
                self._parts = []
        return len(frames)

    def _check_open(self) -> None:
        problem = self._protocol.parser_exc
        if problem is not None and not isinstance(problem, EOFError):  # who has just gone broke nothing
            raise ConnectionAbortedError(f"the other side broke the protocol: {problem}")
        if problem is not None or self._protocol.state is not State.OPEN:
            received = self._protocol.close_rcvd
            said = f" with code {received.code} {received.reason}".rstrip() if received else " without a word"
            raise ConnectionResetError(f"the other side closed the connection{said}")

    def _flush(self, deadline: Deadline) -> None:
        flush(self._stream, self._protocol, deadline)


def flush(stream: socket.socket, protocol: ClientProtocol | ServerProtocol, deadline: Deadline) -> None:
    """Sends what the protocol has to send."""
    for data in protocol.data_to_send():
        left = memoryview(data)
        while left:
            stream.settimeout(deadline.left_s())
            left = left[stream.send(left) :]

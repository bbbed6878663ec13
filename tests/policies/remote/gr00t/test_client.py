"""Our client against ZeroMQ servers that speak GR00T's protocol well, badly, slowly or not at all."""

from __future__ import annotations

import io
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgpack
import numpy as np
import pytest
import zmq

from tendon.core.errors import InvalidDataError, RemoteError
from tendon.policies.remote.gr00t import format as gr00t_format
from tendon.policies.remote.gr00t.client import Gr00tClient
from tendon.policies.remote.transport.endpoint import Endpoint

Answer = Callable[[dict[str, Any]], bytes | None]
StartServer = Callable[..., str]
SOON_S, ASK_S = 0.3, 20.0


@pytest.fixture
def zmq_server() -> Iterator[StartServer]:
    """Starts REP servers that send the bytes a function answers; `None` ends it."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    ended = threading.Event()
    threads: list[threading.Thread] = []

    def start(answer: Answer, port: int = 0) -> str:
        replier = context.socket(zmq.REP)
        replier.setsockopt(zmq.LINGER, 0)
        replier.setsockopt(zmq.RCVTIMEO, 50)
        replier.bind(f"tcp://127.0.0.1:{port or '*'}")
        url = replier.getsockopt_string(zmq.LAST_ENDPOINT)

        def run() -> None:
            while not ended.is_set():
                try:
                    reply = answer(msgpack.unpackb(replier.recv()))
                except zmq.Again:
                    continue
                if reply is None:
                    break
                replier.send(reply)
            replier.close()

        threads.append(threading.Thread(target=run, daemon=True))
        threads[-1].start()
        return url

    yield start
    ended.set()
    for thread in threads:
        thread.join()
    context.term()


@pytest.fixture
def make_client() -> Iterator[Callable[..., Gr00tClient]]:
    clients: list[Gr00tClient] = []

    def make(url: str, **changes: Any) -> Gr00tClient:
        clients.append(Gr00tClient(Endpoint(**({"url": url, "connect_s": 2.0} | changes))))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


def actions(request: dict[str, Any]) -> bytes:
    """What GR00T's server answers to `get_action`."""
    return gr00t_format.pack([{"arm": np.full((1, 16, 7), 0.5, np.float32)}, {}])  # type: ignore[arg-type]


def ask_until_answered(client: Gr00tClient) -> Any:
    end_s = time.monotonic() + ASK_S
    while True:
        try:
            return client.ask("get_action", {}, 2.0)
        except RemoteError:
            assert time.monotonic() < end_s
            time.sleep(0.02)


def test_a_request_is_as_the_server_reads_it(zmq_server: StartServer, make_client: Callable[..., Gr00tClient]) -> None:
    """Endpoint, data with arrays as .npy, the token only when there is one."""
    seen: list[dict[str, Any]] = []

    def answer(request: dict[str, Any]) -> bytes:
        seen.append(request)
        return actions(request)

    url = zmq_server(answer)
    state = np.arange(7, dtype=np.float32).reshape(1, 1, 7)
    with_token, without = make_client(url, key="secret"), make_client(url)
    chunk, info = with_token.ask("get_action", {"observation": {"state": {"arm": state}}}, ASK_S)
    without.ask("ping", None, ASK_S)
    assert (chunk["arm"].shape, info) == ((1, 16, 7), {})
    np.testing.assert_array_equal(np.load(io.BytesIO(seen[0]["data"]["observation"]["state"]["arm"]["as_npy"])), state)
    assert (seen[0]["endpoint"], seen[0]["api_token"]) == ("get_action", "secret")
    assert seen[1] == {"endpoint": "ping"}


def test_a_server_that_dies_is_an_error_at_once_and_the_next_one_is_found(
    zmq_server: StartServer, make_client: Callable[..., Gr00tClient]
) -> None:
    """The reference client would wait for ever. Its REQ socket could not be used again either."""
    url = zmq_server(lambda request: None)
    client = make_client(url)
    with pytest.raises(RemoteError, match="ended the connection in place of an answer to get_action: it died"):
        client.ask("get_action", {}, ASK_S)
    with pytest.raises(RemoteError, match="the next attempt is in"):
        client.ask("get_action", {}, SOON_S)
    time.sleep(0.3)
    zmq_server(actions, port=int(url.rpartition(":")[2]))
    assert ask_until_answered(client)[0]["arm"].shape == (1, 16, 7)


def test_no_server_is_an_error_in_time(make_client: Callable[..., Gr00tClient]) -> None:
    """And nothing is kept to be sent later, when it would be stale."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
    with pytest.raises(RemoteError, match=r"is out of reach: no ZeroMQ server took get_action in 0\.3 s"):
        make_client(url).ask("get_action", {}, SOON_S)


def test_something_that_is_no_zeromq_server_is_an_error_in_time(make_client: Callable[..., Gr00tClient]) -> None:
    """Such as openpi's port, or a web page."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        threading.Thread(
            target=lambda: listener.accept()[0].sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"), daemon=True
        ).start()
        with pytest.raises(RemoteError, match=r"no ZeroMQ server took get_action|is no GR00T server"):
            make_client(url).ask("get_action", {}, SOON_S)


def test_a_late_answer_is_not_taken_for_the_next_one(
    zmq_server: StartServer, make_client: Callable[..., Gr00tClient]
) -> None:
    """Each request was sent once, and each answer belongs to its request; one that hangs is not waited for."""
    seen: list[int] = []

    def answer(request: dict[str, Any]) -> bytes:
        seen.append(request["data"]["number"])
        if len(seen) == 1:
            time.sleep(0.8)
        return gr00t_format.pack({"number": request["data"]["number"]})

    client = make_client(zmq_server(answer))
    with pytest.raises(RemoteError, match=r"did not answer get_action in 0\.3 s"):
        client.ask("get_action", {"number": 1}, SOON_S)
    time.sleep(1.0)
    assert client.ask("get_action", {"number": 2}, ASK_S) == {"number": 2}
    assert seen == [1, 2]


def npy_of_objects() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array([print], dtype=object), allow_pickle=True)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("reply", "error", "words"),
    [
        (b"\xc1 garbage", InvalidDataError, "is not msgpack"),
        (b"ERROR", InvalidDataError, "is not msgpack"),
        (b"", InvalidDataError, "is not msgpack"),
        (b"PK\x03\x04\x00\x00\x08\x08", InvalidDataError, "pickles .* GR00T N1, or N1.5 before September 2025"),
        (b"\x91" * 5000, InvalidDataError, "is not msgpack"),
        (b"\xdd\xff\xff\xff\xff", InvalidDataError, "is not msgpack"),
        (
            msgpack.packb([{b"nd": True, b"type": "|O", b"kind": b"O", b"shape": [1], b"data": b"pickled"}, {}]),
            InvalidDataError,
            "of kind b'O'",
        ),
        (
            msgpack.packb([{b"nd": True, b"type": "<f4", b"kind": b"", b"shape": [1 << 40], b"data": b"1234"}, {}]),
            InvalidDataError,
            "needs 4398046511104 bytes, got 4",
        ),
        (msgpack.packb({b"nd": True}), InvalidDataError, "dtype None"),
        (msgpack.packb({"__ModalityConfig__": True}), InvalidDataError, "modality_keys of a modality is None"),
        (
            msgpack.packb({"__ModalityConfig_class__": True, "as_json": "{"}),
            InvalidDataError,
            "as_json of a modality is no JSON",
        ),
        (
            msgpack.packb({"__ModalityConfig__": True, "as_json": {"modality_keys": ["a"], "delta_indices": [0.5]}}),
            InvalidDataError,
            "delta_indices of a modality is",
        ),
        (
            msgpack.packb([{"arm": {"__ndarray_class__": True, "as_npy": npy_of_objects()}}, {}]),
            InvalidDataError,
            "only booleans, integers and floats",
        ),
        (
            msgpack.packb({"error": "Unauthorized: Invalid API token"}),
            RemoteError,
            "answered get_action with an error: Unauthorized: Invalid API token",
        ),
    ],
)
def test_a_bad_answer_is_a_clear_error(
    zmq_server: StartServer,
    make_client: Callable[..., Gr00tClient],
    reply: bytes,
    error: type[Exception],
    words: str,
) -> None:
    """Garbage, Python objects, the server's own errors."""
    with pytest.raises(error, match=words):
        make_client(zmq_server(lambda request: reply)).ask("get_action", {}, ASK_S)


def test_a_huge_answer_is_not_taken(zmq_server: StartServer, make_client: Callable[..., Gr00tClient]) -> None:
    """ZeroMQ drops the connection at its size, and that is said at once, not after the time for an answer."""
    client = make_client(zmq_server(lambda request: bytes(1 << 20)), largest=1 << 16)
    with pytest.raises(RemoteError, match=r"ended the connection .* larger than largest_reply \(65536 bytes\)"):
        client.ask("get_action", {}, ASK_S)

"""Our client against servers that speak openpi's protocol well, badly, slowly or not at all."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from websockets.sync.server import ServerConnection

from tendon.core.errors import InvalidDataError, MismatchError, RemoteError
from tendon.policies.inference.outage import Outage
from tendon.policies.remote.openpi.client import OpenpiClient
from tendon.policies.remote.openpi.format import unpack
from tendon.policies.remote.transport.backoff import MAX_S, Backoff
from tendon.policies.remote.transport.endpoint import Endpoint
from tests.policies.remote.fake_servers import METADATA, StartServer, packed

REQUEST = {"observation/state": np.arange(3.0), "prompt": "go"}
SOON_S, LATE_S = 0.3, 20.0


def quick(url: str, **changes: Any) -> Endpoint:
    return Endpoint(**({"url": url, "connect_s": 2.0} | changes))


def ask_until_answered(client: OpenpiClient, request: dict[str, Any] = REQUEST) -> dict[Any, Any]:
    """As a node does: each failure is of one observation, and the next one is sent."""
    end_s = time.monotonic() + LATE_S
    while True:
        try:
            return client.ask(request, 2.0)
        except RemoteError:
            assert time.monotonic() < end_s
            time.sleep(0.02)


def test_a_request_is_answered_and_the_metadata_is_checked(openpi_server: StartServer) -> None:
    """Metadata first, then answers, on one connection."""
    seen: list[Any] = []
    client = OpenpiClient(quick(openpi_server()), seen.append)
    for k in range(3):
        answer = client.ask({"observation/state": np.arange(3.0) + k, "prompt": "go"}, 2.0)
        np.testing.assert_array_equal(answer["actions"], np.tile(np.arange(3.0) + k, (10, 1)))
        assert answer["server_timing"]["infer_ms"] == 1.5
    client.close()
    assert seen == [METADATA]


def test_a_large_image_arrives_whole(openpi_server: StartServer) -> None:
    """Several megabytes, as two cameras at 640x480 make."""

    def mean(connection: ServerConnection) -> None:
        connection.send(packed({}))
        for message in connection:
            image = unpack(message)["image"]
            connection.send(packed({"sum": int(image.sum(dtype=np.int64))}))

    image = np.random.default_rng(0).integers(0, 256, (2, 960, 1280, 3), np.uint8)
    client = OpenpiClient(quick(openpi_server(mean)))
    assert client.ask({"image": image}, LATE_S)["sum"] == int(image.sum(dtype=np.int64))


def test_the_key_is_sent_and_a_wrong_one_is_a_clear_error(openpi_server: StartServer) -> None:
    """As `Authorization: Api-Key`, before anything else."""
    url = openpi_server(key="open sesame")
    OpenpiClient(quick(url, key="open sesame")).connect()
    for wrong in ("", "sesame"):
        with pytest.raises(RemoteError, match=r"refused the key \(HTTP 401\): set key_file"):
            OpenpiClient(quick(url, key=wrong)).connect()


def test_no_server_is_a_clear_error_and_not_asked_for_again_at_once() -> None:
    """The second try is not made: it says when the next one is."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"ws://127.0.0.1:{listener.getsockname()[1]}"
    client = OpenpiClient(quick(url))
    with pytest.raises(RemoteError, match="is out of reach"):
        client.ask(REQUEST, 1.0)
    with pytest.raises(RemoteError, match=r"refused.*; the next attempt is in 0\.\d s"):
        client.ask(REQUEST, 1.0)


def never(stream: socket.socket) -> None:
    """Takes a connection and says nothing."""
    time.sleep(1.0)


def garbage(stream: socket.socket) -> None:
    """Is no HTTP server."""
    stream.sendall(b"SSH-2.0-OpenSSH_9.9\r\n")
    time.sleep(0.2)
    stream.close()


def web_page(stream: socket.socket) -> None:
    """Is a web server."""
    stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
    stream.close()


@pytest.mark.parametrize(
    ("handler", "words"),
    [(never, "out of reach: timed out"), (garbage, "is no policy server"), (web_page, "answered HTTP 200")],
)
def test_what_is_no_policy_server_is_a_clear_error(
    raw_server: StartServer, handler: Callable[[socket.socket], None], words: str
) -> None:
    """Within the time allowed for connecting."""
    with pytest.raises(RemoteError, match=words):
        OpenpiClient(quick(raw_server(handler), connect_s=SOON_S if handler is never else LATE_S)).connect()


def silent(connection: ServerConnection) -> None:
    """Answers nothing, not even metadata."""
    time.sleep(1.0)


def text_first(connection: ServerConnection) -> None:
    """Cannot load its policy."""
    connection.send("Traceback:\n  file 'a.py'\nOutOfMemory: no room for the model\n\n")


def number_first(connection: ServerConnection) -> None:
    """Sends something else than metadata."""
    connection.send(b"\x07")


@pytest.mark.parametrize(
    ("handler", "error", "words"),
    [
        (silent, RemoteError, r"took the connection, but said nothing of its policy in 0\.3 s \(connect_s\)"),
        (text_first, RemoteError, "answered with an error: OutOfMemory: no room for the model$"),
        (number_first, InvalidDataError, "a message is int, must be a map"),
    ],
)
def test_a_server_without_metadata_is_an_error_at_start(
    openpi_server: StartServer, handler: Callable[[ServerConnection], None], error: type[Exception], words: str
) -> None:
    """Silence, a traceback, or not a map."""
    with pytest.raises(error, match=words):
        OpenpiClient(quick(openpi_server(handler), connect_s=SOON_S if handler is silent else LATE_S)).connect()


def test_metadata_that_does_not_fit_is_an_error_at_start(openpi_server: StartServer) -> None:
    """What `check` raises comes through, and the connection is not kept."""

    def check(metadata: Any) -> None:
        raise MismatchError("another robot")

    client = OpenpiClient(quick(openpi_server()), check)
    with pytest.raises(MismatchError, match="another robot"):
        client.connect()


class Counting:
    """A server that misbehaves on the first request of its first connection, and counts what it is sent."""

    def __init__(self, misbehave: Callable[[ServerConnection], None]) -> None:
        self.misbehave = misbehave
        self.seen: list[float] = []
        self.connections = 0

    def __call__(self, connection: ServerConnection) -> None:
        self.connections += 1
        first = self.connections == 1
        connection.send(packed(METADATA))
        for message in connection:
            state = unpack(message)["observation/state"]
            self.seen.append(float(state[0]))
            if first:
                self.misbehave(connection)
                return
            connection.send(packed({"actions": state[None]}))


def drop(connection: ServerConnection) -> None:
    """Dies without a word."""
    connection.socket.shutdown(socket.SHUT_RDWR)


def half_a_reply(connection: ServerConnection) -> None:
    """Dies in the middle of its answer."""
    connection.socket.sendall(b"\x82\x7e\x10\x00" + b"half")
    connection.socket.shutdown(socket.SHUT_RDWR)


def half_and_hang(connection: ServerConnection) -> None:
    """Stops in the middle of its answer."""
    connection.socket.sendall(b"\x82\x7e\x10\x00" + b"half")
    time.sleep(0.8)


def too_slow(connection: ServerConnection) -> None:
    """Answers long after anybody waits."""
    time.sleep(0.8)
    connection.send(packed({"actions": np.full((1, 3), -1.0)}))


def drip(connection: ServerConnection) -> None:
    """Sends a byte at a time: each read succeeds, the whole does not."""
    connection.socket.sendall(b"\x82\x7e\x10\x00")
    for _ in range(80):
        connection.socket.sendall(b"a")
        time.sleep(0.01)


def traceback(connection: ServerConnection) -> None:
    """What openpi's server does with an exception."""
    connection.send("Traceback (most recent call last):\n  ...\nKeyError: 'observation/image'\n")
    connection.close(1011, "Internal server error.")


def huge(connection: ServerConnection) -> None:
    """Answers more than anybody could use."""
    connection.send(bytes(1 << 20))


def not_msgpack(connection: ServerConnection) -> None:
    """Answers noise."""
    connection.send(b"\xc1" * 100)


def objects(connection: ServerConnection) -> None:
    """Answers an array of Python objects."""
    connection.send(packed({"actions": {b"__ndarray__": True, b"data": b"x" * 8, b"dtype": "|O", b"shape": [1]}}))


def polite(connection: ServerConnection) -> None:
    """Is shut down."""
    connection.close(1001, "going away")


@pytest.mark.parametrize(
    ("misbehave", "error", "words"),
    [
        (drop, RemoteError, "went away"),
        (half_a_reply, RemoteError, "went away"),
        (half_and_hang, RemoteError, "did not answer in 0.3 s"),
        (too_slow, RemoteError, "did not answer in 0.3 s"),
        (drip, RemoteError, "did not answer in 0.3 s"),
        (traceback, RemoteError, "answered with an error: KeyError: 'observation/image'$"),
        (huge, InvalidDataError, "too large"),
        (not_msgpack, InvalidDataError, "not msgpack"),
        (objects, InvalidDataError, "only booleans, integers and floats"),
        (polite, RemoteError, "closed the connection with code 1001 going away"),
    ],
)
def test_a_failed_request_is_one_error_and_is_never_sent_again(
    openpi_server: StartServer, misbehave: Callable[[ServerConnection], None], error: type[Exception], words: str
) -> None:
    """The next observation goes over a new connection and gets its own answer, not a late one of the last."""
    server = Counting(misbehave)
    client = OpenpiClient(quick(openpi_server(server), largest=1 << 18))
    client.connect()
    with pytest.raises(error, match=words):
        client.ask({"observation/state": np.array([1.0, 0, 0])}, SOON_S if "0.3 s" in words else LATE_S)
    answer = ask_until_answered(client, {"observation/state": np.array([2.0, 0, 0])})
    np.testing.assert_array_equal(answer["actions"], [[2.0, 0, 0]])
    assert server.seen == [1.0, 2.0]
    assert server.connections == 2


def test_a_server_started_anew_is_found_and_checked_again(openpi_server: StartServer) -> None:
    """It may serve another policy now."""
    policies = iter(["one", "two"])

    def serve(connection: ServerConnection) -> None:
        connection.send(packed({"policy": next(policies)}))
        connection.recv()

    def check(metadata: Any) -> None:
        if metadata["policy"] != "one":
            raise MismatchError("it serves another policy now")

    client = OpenpiClient(quick(openpi_server(serve)), check)
    with pytest.raises(RemoteError, match="went away"):
        client.ask(REQUEST, 2.0)
    time.sleep(0.2)
    with pytest.raises(MismatchError, match="another policy"):
        client.ask(REQUEST, 2.0)


def test_a_connection_that_broke_while_idle_costs_no_observation(openpi_server: StartServer) -> None:
    """The break is seen before the request is sent, which then goes over a new connection."""

    def serve(connection: ServerConnection) -> None:
        connection.send(packed(METADATA))
        state = unpack(connection.recv())["observation/state"]
        connection.send(packed({"actions": state[None]}))

    client = OpenpiClient(quick(openpi_server(serve)))
    for k in range(3):
        answer = client.ask({"observation/state": np.array([float(k)])}, 5.0)
        assert answer["actions"] == k
        time.sleep(0.2)  # the handler returns, which closes the connection


def test_an_observation_that_waited_for_a_connection_is_not_sent(openpi_server: StartServer) -> None:
    """A server that takes long to welcome: the observation is too old by then, the next one is answered."""
    seen: list[Any] = []

    def serve(connection: ServerConnection) -> None:
        time.sleep(0.5)
        connection.send(packed(METADATA))
        for message in connection:
            seen.append(unpack(message)["observation/state"][0])
            connection.send(packed({"actions": np.zeros((1, 1))}))

    client = OpenpiClient(quick(openpi_server(serve), connect_s=5.0))
    with pytest.raises(RemoteError, match="this observation is too old, the next one is sent"):
        client.ask({"observation/state": np.array([1.0])}, 0.2)
    client.ask({"observation/state": np.array([2.0])}, 2.0)
    assert seen == [2.0]


def test_pings_are_answered_between_requests(openpi_server: StartServer) -> None:
    """A server that looks after its connections finds ours alive when it is used."""
    alive: list[bool] = []

    def serve(connection: ServerConnection) -> None:
        connection.send(packed(METADATA))
        pong = connection.ping()
        connection.recv()
        alive.append(pong.wait(5.0))
        connection.send(packed({"actions": np.zeros((1, 1))}))

    client = OpenpiClient(quick(openpi_server(serve)))
    client.connect()
    time.sleep(0.1)
    client.ask(REQUEST, LATE_S)
    assert alive == [True]


def test_an_answer_in_fragments_is_put_together(openpi_server: StartServer) -> None:
    """The protocol allows it."""

    def serve(connection: ServerConnection) -> None:
        connection.send(packed(METADATA))
        connection.recv()
        data = packed({"actions": np.arange(300.0).reshape(100, 3)})
        connection.send([data[k : k + 7] for k in range(0, len(data), 7)])

    answer = OpenpiClient(quick(openpi_server(serve))).ask(REQUEST, 5.0)
    np.testing.assert_array_equal(answer["actions"], np.arange(300.0).reshape(100, 3))


def test_the_server_may_come_back_on_its_port(openpi_server: StartServer) -> None:
    """Killed and started again while the robot waits."""
    url = openpi_server(Counting(drop))
    client = OpenpiClient(quick(url))
    with pytest.raises(RemoteError):
        client.ask(REQUEST, 1.0)
    assert ask_until_answered(client)["actions"].shape == (1, 3)


def test_waits_grow_with_each_failure_to_a_bound_and_end_with_a_success(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exponential, never above the bound, never the same for two robots."""
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    backoff = Backoff()
    assert backoff.left_s() == 0.0
    waits = []
    for _ in range(40):
        backoff.failed(RemoteError("gone"))
        waits.append(backoff.left_s())
    for k, wait_s in enumerate(waits):
        most_s = min(0.1 * 2.0**k, MAX_S)
        assert most_s / 2 <= wait_s <= most_s
    assert len(set(waits[10:])) > 20
    with pytest.raises(RemoteError, match=r"gone; the next attempt is in \d\.\d s"):
        backoff.check()
    backoff.succeeded()
    backoff.check()
    assert backoff.left_s() == 0.0


def test_a_dead_server_that_comes_back_is_told_of_in_a_few_lines(openpi_server: StartServer) -> None:
    """What a node logs of it, asking 50 times a second: not a line for each attempt, and one when it is back."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    client, outage, texts = OpenpiClient(quick(f"ws://127.0.0.1:{port}")), Outage(), []
    begin_s = time.monotonic()
    while len(texts) < 60:
        with pytest.raises(RemoteError) as failure:
            client.ask(REQUEST, 2.0)
        texts.append(outage.failed(failure.value, time.monotonic()))
        time.sleep(0.02)
    assert len(set(texts)) == 1
    assert texts[0].endswith(
        f"refused; the robot stops at the end of its plan; the server is asked again within {MAX_S:g} s"
    )
    openpi_server(port=port)
    back = ""
    while not back:
        ask_until_answered(client)
        back = outage.succeeded(time.monotonic())
        assert time.monotonic() < begin_s + 60.0
    assert back.startswith("inference is back after ")
    assert float(back.split()[4]) >= 1.2
    assert outage.text == ""

"""Our server: openpi's own client and ours are served, everything else is turned away and harms nobody."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tendon.core.errors import ConfigError, InvalidDataError, RemoteError, StoppedError
from tendon.policies.remote.openpi.client import OpenpiClient
from tendon.policies.remote.openpi.format import Packer, unpack
from tendon.policies.remote.served.server import MAX_CONNECTIONS, MAX_OPENING, PolicyServer
from tendon.policies.remote.transport.endpoint import Endpoint

KEY = "0123456789abcdef"
LARGEST = 1 << 20
MakeServer = Callable[..., PolicyServer]
ASK_S = 20.0


def double(request: Mapping[Any, Any]) -> dict[Any, Any]:
    """A policy: twice the state."""
    if "state" not in request:
        raise InvalidDataError("the request lacks state")
    if request["state"][0] < 0:
        raise KeyError("/secret/path of the server")
    return {"actions": 2.0 * request["state"][None]}


@pytest.fixture
def make_server() -> Iterator[MakeServer]:
    servers: list[PolicyServer] = []

    def make(answer: Callable[[Mapping[Any, Any]], dict[Any, Any]] = double, **options: Any) -> PolicyServer:
        server = PolicyServer({"name": "double"}, answer, **({"largest": LARGEST, "port": 0} | options))
        servers.append(server)
        server.start()
        return server

    yield make
    for server in servers:
        server.close()


def client_of(server: PolicyServer, key: str = "") -> OpenpiClient:
    return OpenpiClient(Endpoint(url=f"ws://127.0.0.1:{server.port}", key=key))


def states(*numbers: float) -> dict[str, Any]:
    return {"state": np.array(numbers)}


def test_the_real_openpi_client_is_served(openpi: ModuleType, make_server: MakeServer) -> None:
    """Metadata, a key, images, a chunk, timing: as from openpi's own server."""
    server = make_server(key=KEY)
    client = openpi.websocket_client_policy.WebsocketClientPolicy("127.0.0.1", server.port, api_key=KEY)
    assert client.get_server_metadata() == {"name": "double"}
    for k in range(3):
        answer = client.infer({**states(1.0, k), "image": np.zeros((224, 224, 3), np.uint8), "prompt": "go"})
        np.testing.assert_array_equal(answer["actions"], [[2.0, 2.0 * k]])
        assert answer["server_timing"]["infer_ms"] >= 0.0
        assert ("prev_total_ms" in answer["server_timing"]) == (k > 0)
    with pytest.raises(RuntimeError, match="Error in inference server:\nInvalidDataError: the request lacks state"):
        client.infer({"other": 1})


def test_a_refused_request_says_why_and_a_crash_says_nothing_of_the_inside(make_server: MakeServer) -> None:
    """The server goes on in both cases."""
    server = make_server()
    client = client_of(server)
    with pytest.raises(RemoteError, match="with an error: InvalidDataError: the request lacks state"):
        client.ask({"wrong": 1}, ASK_S)
    time.sleep(0.2)
    with pytest.raises(RemoteError) as failure:
        client.ask(states(-1.0), ASK_S)
    assert "the policy failed" in str(failure.value)
    assert "secret" not in str(failure.value)
    assert client_of(server).ask(states(3.0), ASK_S)["actions"] == 6.0


@pytest.mark.parametrize("key", ["", "wrong", KEY[:-1], KEY + "0", KEY.upper()])
def test_a_wrong_key_is_turned_away_before_anything_is_read(make_server: MakeServer, key: str) -> None:
    """Also a part of the right one."""
    asked: list[Any] = []
    server = make_server(lambda request: asked.append(request) or {}, key=KEY)
    with pytest.raises(RemoteError, match="refused the key"):
        client_of(server, key).ask(states(1.0), ASK_S)
    assert not asked


def get(server: PolicyServer, path: str, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=ASK_S)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_health_is_told_without_a_key_also_while_the_policy_thinks(make_server: MakeServer) -> None:
    """A probe asks whether the server is there, not whether it is free."""
    release = threading.Event()

    def think(request: Mapping[Any, Any]) -> dict[Any, Any]:
        release.wait(ASK_S)
        return {}

    server = make_server(think, key=KEY)
    thread = threading.Thread(target=client_of(server, KEY).ask, args=(states(1.0), ASK_S))
    thread.start()
    try:
        assert get(server, "/healthz") == (200, b"OK\n")
    finally:
        release.set()
        thread.join()


def test_browsers_and_plain_http_are_turned_away(make_server: MakeServer) -> None:
    """A web page cannot use the policy of somebody who looks at it."""
    server = make_server()
    assert get(server, "/")[0] == 426
    assert get(server, "/", Origin="http://a.page", Connection="Upgrade", Upgrade="websocket")[0] == 403


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.1", "no-such-host.invalid"])
def test_an_address_that_others_reach_needs_a_key(host: str) -> None:
    """Before it listens."""
    with pytest.raises(ConfigError, match="so a key is needed"):
        PolicyServer({}, double, largest=1, host=host, port=0)


def test_a_short_key_and_a_taken_port_are_refused(make_server: MakeServer) -> None:
    """With what to do."""
    with pytest.raises(ConfigError, match="at least 16"):
        PolicyServer({}, double, largest=1, key="secret")
    server = make_server()
    with pytest.raises(ConfigError, match="cannot listen"):
        make_server(port=server.port)
    with pytest.raises(StoppedError, match="not started"):
        assert PolicyServer({}, double, largest=1).port


def test_a_request_larger_than_it_can_be_is_cut_off(make_server: MakeServer) -> None:
    """The others do not notice."""
    server = make_server()
    other = client_of(server)
    other.connect()
    with pytest.raises(RemoteError, match=r"went away.*(1009|reset|pipe)"):
        client_of(server).ask({"state": np.zeros(1), "blob": bytes(2 * LARGEST)}, ASK_S)
    assert other.ask(states(1.0), ASK_S)["actions"] == 2.0


def upgrade(server: PolicyServer) -> socket.socket:
    """A client that speaks by hand from here on."""
    stream = socket.create_connection(("127.0.0.1", server.port), ASK_S)
    stream.sendall(
        b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n"
    )
    return stream


def opened(server: PolicyServer) -> socket.socket:
    """A client that has waited for the handshake."""
    stream = upgrade(server)
    assert b"101 Switching" in stream.recv(1 << 16)
    return stream


def drain(stream: socket.socket) -> bytes:
    """All that comes until the server closes; it may reset who still talks."""
    data = b""
    with contextlib.suppress(ConnectionError):
        while more := stream.recv(1 << 16):
            data += more
    return data


@pytest.mark.parametrize(
    "sent",
    [
        b"\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0",  # 2^63 bytes
        b"\x82\x01a",  # not masked
        b"\xff\xff\xff\xff\xff",
        b"\x80\x80\0\0\0\0",  # a continuation of nothing
        b"\x82\x81\0\0\0\0\xc1",  # no msgpack
        b"\x81\x82\0\0\0\0hi",  # text
    ],
)
def test_bytes_against_the_protocol_end_one_connection_only(make_server: MakeServer, sent: bytes) -> None:
    """Whatever they are, the server closes it and serves on."""
    server = make_server()
    for stream in (opened(server), upgrade(server)):  # the second talks before it is welcome
        stream.sendall(sent)
        drain(stream)
    assert client_of(server).ask(states(1.0), ASK_S)["actions"] == 2.0


def test_a_client_that_stops_in_mid_message_is_dropped(
    make_server: MakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Silent, or a byte at a time; one that is merely idle stays."""
    monkeypatch.setattr("tendon.policies.remote.served.server.MESSAGE_S", 0.5)
    server = make_server()
    idle = client_of(server)
    idle.connect()
    silent, dripping = opened(server), opened(server)
    for stream in (silent, dripping):
        stream.sendall(b"\x82\xfe\x10\x00\0\0\0\0" + b"half")
    end_s = time.monotonic() + ASK_S
    with pytest.raises(ConnectionError):
        while time.monotonic() < end_s:
            dripping.sendall(b"a")
            time.sleep(0.05)
    drain(silent)
    assert idle.ask(states(1.0), ASK_S)["actions"] == 2.0


def test_more_connections_than_allowed_are_turned_away_and_room_is_made_again(make_server: MakeServer) -> None:
    """Idle ones count too; one that ends makes room."""
    server = make_server()
    clients = [client_of(server) for _ in range(MAX_CONNECTIONS)]
    for client in clients:
        client.connect()
    with pytest.raises(RemoteError, match="16 clients are connected"):
        client_of(server).connect()
    clients[0].close()
    end_s = time.monotonic() + ASK_S
    while True:
        try:
            client_of(server).connect()
            break
        except RemoteError:
            assert time.monotonic() < end_s
            time.sleep(0.05)


def test_who_shows_no_key_keeps_nobody_out(make_server: MakeServer) -> None:
    """16 connections that said nothing turned everybody away, before anybody's key was looked at."""
    server = make_server(key=KEY)
    held = [socket.create_connection(("127.0.0.1", server.port), ASK_S) for _ in range(2 * MAX_OPENING)]
    assert client_of(server, KEY).ask(states(1.0), ASK_S)["actions"] == 2.0
    for stream in held:
        stream.close()


def test_a_client_that_has_just_gone_broke_nothing(make_server: MakeServer, caplog: pytest.LogCaptureFixture) -> None:
    server = make_server()
    with caplog.at_level("INFO"):
        opened(server).close()
        end_s = time.monotonic() + ASK_S
        while "has gone" not in caplog.text and time.monotonic() < end_s:
            time.sleep(0.01)
    assert "has gone: the other side closed the connection without a word" in caplog.text


def test_the_policy_is_asked_by_one_thread_one_request_at_a_time(make_server: MakeServer) -> None:
    """However many clients ask at once; each gets the answer to its own request."""
    threads: set[int] = set()
    running = threading.Semaphore(1)

    def answer(request: Mapping[Any, Any]) -> dict[Any, Any]:
        assert running.acquire(blocking=False)
        threads.add(threading.get_ident())
        time.sleep(0.002)
        running.release()
        return double(request)

    server = make_server(answer)
    wrong: list[float] = []

    def ask(number: int) -> None:
        client = client_of(server)
        for k in range(10):
            wanted = float(100 * number + k)
            if client.ask(states(wanted), ASK_S)["actions"] != 2.0 * wanted:
                wrong.append(wanted)
        client.close()

    asking = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert not wrong
    assert len(threads) == 1


def test_a_server_that_ends_says_goodbye(make_server: MakeServer) -> None:
    """Clients see why, and the port is free again at once."""
    server = make_server()
    client, port = client_of(server), server.port
    client.ask(states(1.0), ASK_S)
    server.close()
    with pytest.raises(RemoteError):
        client.ask(states(1.0), ASK_S)
    again = make_server(port=port)
    assert client_of(again).ask(states(1.0), ASK_S)["actions"] == 2.0


def test_a_reply_that_cannot_be_written_is_an_error_of_the_server(make_server: MakeServer) -> None:
    """The client gets text, not half a message."""
    server = make_server(lambda request: {"actions": object()})
    with pytest.raises(RemoteError, match="cannot be sent"):
        client_of(server).ask(states(1.0), ASK_S)


def test_what_is_packed_is_read_by_the_client_of_openpi(openpi: ModuleType) -> None:
    """The metadata of a server holds nothing that its unpacker does not know."""
    metadata = {"tendon/policy": {"cameras": [{"name": "scene", "width": 3}], "joints": ["a"], "x": None}}
    assert openpi.msgpack_numpy.unpackb(bytes(Packer().pack(metadata))) == metadata == unpack(Packer().pack(metadata))

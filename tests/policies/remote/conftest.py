"""Servers to break: openpi's protocol as its description says, made with the `websockets` package."""

from __future__ import annotations

import importlib
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from tests.policies.remote.fake_servers import Handler, StartServer, echo_actions


@pytest.fixture
def openpi_server() -> Iterator[StartServer]:
    """Starts servers with a handler, optionally with a key or on a given port; returns the URL."""
    servers: list[Server] = []

    def start(handler: Handler = echo_actions, key: str | None = None, port: int = 0) -> str:
        def check(connection: ServerConnection, request: Request) -> Response | None:
            if key is not None and request.headers.get("Authorization") != f"Api-Key {key}":
                return connection.respond(401, "no\n")
            return None

        server = serve(handler, "127.0.0.1", port, compression=None, max_size=None, process_request=check)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"ws://127.0.0.1:{server.socket.getsockname()[1]}"

    yield start
    for server in servers:
        server.shutdown()


@pytest.fixture
def raw_server() -> Iterator[StartServer]:
    """Starts a TCP server that does anything at all with each connection; returns the URL."""
    listeners: list[socket.socket] = []

    def start(handler: Callable[[socket.socket], None]) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def run() -> None:
            while True:
                try:
                    stream, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=handler, args=(stream,), daemon=True).start()

        threading.Thread(target=run, daemon=True).start()
        return f"ws://127.0.0.1:{listener.getsockname()[1]}"

    yield start
    for listener in listeners:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


@pytest.fixture(scope="session")
def openpi() -> ModuleType:
    """Openpi's own client package; `make setup-dev` puts it beside the environment, for it asks for an older numpy."""
    folder = str(Path(sys.prefix) / "openpi")
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        importlib.import_module("openpi_client.msgpack_numpy")
        importlib.import_module("openpi_client.websocket_client_policy")
        return importlib.import_module("openpi_client")
    except ImportError:
        pytest.skip("openpi-client is not installed: make setup-dev")

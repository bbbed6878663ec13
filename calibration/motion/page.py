"""A page of this machine that shows, while views are taken, what each camera has seen and what is wanted next."""

from __future__ import annotations

import contextlib
import html
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tendon.calibration.motion.coverage import lacking
from tendon.calibration.results.drawing import coverage
from tendon.calibration.rig.chain import Chain
from tendon.calibration.rig.parts import Rig, View
from tendon.calibration.session import Session
from tendon.core.errors import ConfigError

STYLE = "body{font:16px/1.5 system-ui,sans-serif;margin:2rem;color:#22313f}b{color:#0f766e}figure{margin:.5rem 0}"


class CoveragePage:
    """Serves the page to this machine alone, until `close`.

    Args:
        rig: whose cameras are shown.
        port: 0 takes a free one.

    Raises:
        ConfigError: the port is taken.
    """

    def __init__(self, rig: Rig, port: int = 0) -> None:
        self._rig, self._chain, self._said = rig, Chain(rig.profile), ""
        self._body = self._draw([]).encode()
        page = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(page._body)))
                self.end_headers()
                self.wfile.write(page._body)

            def log_message(self, *_: object) -> None:
                """Says nothing: the terminal is for views."""

        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        except OSError as error:
            raise ConfigError(f"--page is {port}, which cannot be served: {error.strerror}; take another") from error
        self._thread = threading.Thread(target=self._server.serve_forever, name="page", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """Where a browser finds it."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def show(self, views: list[View], said: str = "") -> None:
        """Shows what there is now.

        Args:
            views: so far.
            said: the last line.
        """
        self._said = said
        self._body = self._draw(views).encode()

    def close(self) -> None:
        """Ends."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _draw(self, views: list[View]) -> str:
        parts = []
        for camera, lacks in lacking(self._rig, views, self._chain).items():
            mine = [view.found for view in views if view.camera == camera]
            parts.append(f"<h2>camera {html.escape(camera)}: {len(mine)} views</h2>")
            parts.append(f"<p>next: <b>{html.escape(lacks or 'enough: solve')}</b></p>{coverage(mine)}")
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="1">'
            f"<title>Views</title><style>{STYLE}</style></head><body><h1>Views of {html.escape(self._rig.profile.name)}"
            f"</h1><p>{html.escape(self._said)}</p>{''.join(parts)}</body></html>"
        )


@contextlib.contextmanager
def shown(session: Session, rig: Rig, port: int) -> Iterator[Callable[[str], None]]:
    """Yields what takes lines about views: it prints them, and shows a session on a page of this machine besides.

    Args:
        session: that grows.
        rig: of it.
        port: of the page; 0 has none.

    Raises:
        ConfigError: the port is taken.
    """
    if not port:
        yield lambda line: print(line, flush=True)
        return
    page, views, known = CoveragePage(rig, port), list[View](), 0
    print(f"coverage: {page.address}", flush=True)

    def tell(line: str) -> None:
        nonlocal known
        print(line, flush=True)
        shots = list(session.shots())
        views.extend(session.views(rig, lambda *_: None, shots=shots[known:]))
        known = len(shots)
        page.show(views, line)

    try:
        tell("waits for views")
        yield tell
    finally:
        page.close()

"""`tendon view live` says in one line what is wrong, before it looks for a graph."""

from __future__ import annotations

import socket

import pytest

from tendon.cli import main
from tendon.commands.view.live import WEB_PORT, _require_free
from tendon.core.errors import ConfigError


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--save", "run.txt"], "with the suffix .rrd"),
        (["--save", "/nowhere/run.rrd"], "in a folder that exists"),
        (["--save", "run.rrd", "--web"], "exclude one another"),
        ([], "DISPLAY is not set: take --web or --save"),
    ],
)
def test_a_wrong_option_is_one_line(
    options: list[str], says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert main(["view", "live", *options]) == 2
    out, err = capsys.readouterr()
    assert not out and says in err and len(err.strip().splitlines()) == 1


def test_a_port_in_use_is_an_error_that_names_it() -> None:
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"--web needs port {port}, which is in use"):
            _require_free(port)
    assert WEB_PORT == 9090

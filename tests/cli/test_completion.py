"""The Tab key in real shells: bash, zsh and fish, each with the script that `--install-completion` puts there."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tendon.cli import main

PATIENCE_S = 120.0
"""Long, since a shell asks `tendon` with each Tab, and tests run on busy machines."""

STARTS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "--no-rcs", "-i"],
}
SETUPS = {
    "bash": 'eval "$(_TENDON_COMPLETE=source_bash tendon)"; bind "set enable-bracketed-paste off"',
    "zsh": 'autoload -U compinit; compinit -u -D; eval "$(_TENDON_COMPLETE=source_zsh tendon)"',
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PATH on which `tendon` is this checkout's."""
    folder = tmp_path_factory.mktemp("bin")
    tendon = folder / "tendon"
    tendon.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tendon.cli "$@"\n')
    tendon.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


class Terminal:
    """A shell at a terminal of its own."""

    def __init__(self, shell: str, path: str, folder: Path) -> None:
        """Starts it and sets completion up."""
        environment = {**os.environ, "PATH": path, "HOME": str(folder), "TERM": "dumb", "PS1": "> ", "COLUMNS": "200"}
        self.ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            STARTS[shell], stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
        )
        os.close(theirs)
        self.shown = ""
        self.type(f"{SETUPS[shell]}; echo rea''dy\n")
        self.wait_for("ready")

    def type(self, text: str) -> None:
        """Types, forgetting what was shown before."""
        self.shown = ""
        os.write(self.ours, text.encode())

    def wait_for(self, pattern: str) -> None:
        """Reads until a pattern is shown."""
        end = time.monotonic() + PATIENCE_S
        while not re.search(pattern, self.shown):
            assert time.monotonic() < end, f"no {pattern!r} in {self.shown!r}"
            if select.select([self.ours], [], [], 0.2)[0]:
                self.shown += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x07", "", os.read(self.ours, 4096).decode())

    def close(self) -> None:
        """Ends it."""
        self.process.kill()
        self.process.wait()
        os.close(self.ours)


@pytest.fixture(scope="module", params=STARTS)
def terminal(request: pytest.FixtureRequest, path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed here")
    terminal = Terminal(request.param, path, tmp_path_factory.mktemp("home"))
    yield terminal
    terminal.close()


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("tendon pol", "tendon policy "),
        ("tendon policy calib", "tendon policy calibrate-detector "),
        ("tendon policy bench x --sec", "tendon policy bench x --seconds "),
        ("tendon robot show tal", "tendon robot show talos_upper "),
        ("tendon policy bench x --engine openv", "tendon policy bench x --engine openvino"),
        ("tendon run robot:=pan", "tendon run robot:=panda"),
        ("tendon run back", "tendon run backend:="),
        ("tendon run backend:=hard", "tendon run backend:=hardware"),
    ],
)
def test_the_tab_key_completes(terminal: Terminal, typed: str, shown: str) -> None:
    terminal.type(f"{typed}\t")
    try:
        terminal.wait_for(re.escape(shown))
    finally:
        terminal.type("\x15")  # the line is taken back


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed here")
@pytest.mark.parametrize(
    ("typed", "candidate"),
    [("tendon pol", "policy"), ("tendon policy b", "bench"), ("tendon run robot:=p", "robot:=panda")],
)
def test_fish_completes(typed: str, candidate: str, path: str, tmp_path: Path) -> None:
    script = f"_TENDON_COMPLETE=source_fish tendon | source; complete -C '{typed}'"
    environment = {**os.environ, "PATH": path, "HOME": str(tmp_path)}
    told = subprocess.run(["fish", "-N", "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert candidate in [line.split("\t")[0] for line in told.stdout.splitlines()], told


def test_a_wrong_word_before_the_cursor_is_not_commented(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error in the middle of what is typed would spoil the line."""
    monkeypatch.setenv("_TENDON_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "tendon\nbogus\nx")
    monkeypatch.setenv("COMP_CWORD", "2")
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    said = capsys.readouterr()
    assert not said.err and not said.out.strip()


def test_the_tab_key_imports_nothing_heavy() -> None:
    """A command's module is imported for its options: that must not take what its work takes."""
    heavy = "('pinocchio', 'onnxruntime', 'torch', 'rclpy', 'pybullet', 'matplotlib', 'cv2')"
    code = f"""
import sys
from tendon.cli.tree import Group, load_command, walk
for way in walk(Group()):
    load_command(way)
    if found := [name for name in {heavy} if name in sys.modules]:
        sys.exit(f"{{' '.join(way)}} imports {{found}}")
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert told.returncode == 0, told.stderr

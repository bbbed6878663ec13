"""What a number was measured on, and which code measured it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tendon.core import machine


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed here")
def test_code_in_a_checkout_says_its_commit_and_whether_it_was_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installed package inside of somebody else's checkout is none of that."""
    file = tmp_path / "tendon" / "core" / "machine.py"
    file.parent.mkdir(parents=True)
    file.write_text("")

    def git(*words: str) -> str:
        settings = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        return subprocess.run(
            ["git", "-C", str(tmp_path), *settings, *words], check=True, capture_output=True, text=True
        ).stdout.strip()

    monkeypatch.setattr(machine, "__file__", str(file))
    assert machine.commit() == ""
    git("init")
    git("commit", "--allow-empty", "--message", "theirs")
    assert machine.commit() == "", "it is not in their repository"
    git("add", ".")
    git("commit", "--message", "ours")
    assert machine.commit() == git("rev-parse", "--short", "HEAD")
    assert machine.versions()["commit"] == machine.commit()
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page").write_text("")
    assert machine.commit().endswith(" + changes")
    assert machine.commit(":!docs") == git("rev-parse", "--short", "HEAD")

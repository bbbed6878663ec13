"""Episodes that a benchmark goes on from are of the same policy, setting and code."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import kept
from harness.kept import kept_rows


def test_rows_go_on_where_they_were_cut_and_only_as_what_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A residual that was trained again, in the folder of the one before, had that one's outcomes."""
    monkeypatch.setattr(kept, "commit", lambda: "abc")
    file = tmp_path / "deep" / "episodes.jsonl"
    assert kept_rows(file, residual="one") == []
    assert kept_rows(file, residual="other") == [], "nothing was kept yet"
    file.write_text('{"seed": 1}\n')
    assert kept_rows(file, residual="other") == [{"seed": 1}]
    with pytest.raises(SystemExit, match=r"residual other, now one.*move it away"):
        kept_rows(file, residual="one")
    monkeypatch.setattr(kept, "commit", lambda: "def")
    with pytest.raises(SystemExit, match="commit abc, now def"):
        kept_rows(file, residual="other")
    assert file.read_text() == '{"seed": 1}\n'


def test_rows_of_which_nothing_is_known_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "episodes.jsonl"
    file.write_text('{"seed": 1}\n')
    with pytest.raises(SystemExit, match="residual unknown, now one"):
        kept_rows(file, residual="one")

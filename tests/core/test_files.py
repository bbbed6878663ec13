"""A file is the old or the new one at every moment, and one that is set aside is never lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tendon.core import files
from tendon.core.files import rename_durably, replace_file, set_aside


def test_a_file_is_replaced_and_its_folder_is_made(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.json"
    for content in (b"old", b"new"):
        replace_file(path, content)
        assert path.read_bytes() == content
    assert [each.name for each in path.parent.iterdir()] == ["file.json"]


@pytest.mark.parametrize("fails", ["fsync", "replace"])
def test_what_is_cut_short_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str) -> None:
    path = tmp_path / "file"
    replace_file(path, b"old")

    def full(*_: object) -> None:
        raise OSError(28, "no space left")

    monkeypatch.setattr(*((files.os, "fsync") if fails == "fsync" else (Path, "replace")), full)
    with pytest.raises(OSError, match="no space"):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_link_stays_one_and_permissions_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "file", tmp_path / "link"
    replace_file(path, b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    replace_file(link, b"new")
    assert link.is_symlink() and path.read_bytes() == b"new" and path.stat().st_mode & 0o777 == 0o640


def test_a_rename_takes_nobodys_place(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("1")
    other.write_text("2")
    with pytest.raises(FileExistsError, match="exists already"):
        rename_durably(one, other)
    assert (one.read_text(), other.read_text()) == ("1", "2")
    other.unlink()
    rename_durably(one, other)
    assert other.read_text() == "1" and not one.exists()


def test_a_full_disk_leaves_no_torn_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "calibration.yaml"
    path.write_text("mine")

    def full(_: Path, target: Path) -> None:
        target.write_text("")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tendon.core.files.shutil.copy2", full)
    with pytest.raises(OSError, match="No space left"):
        set_aside(path)
    assert [file.name for file in tmp_path.iterdir()] == ["calibration.yaml"] and path.read_text() == "mine"


def test_what_is_set_aside_gets_a_name_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "wrist.yaml"
    assert set_aside(path) is None
    kept = []
    for content in ("a", "b", "c"):
        path.write_text(content)
        kept.append(set_aside(path))
    assert path.read_text() == "c"  # until it is replaced
    assert [each.name for each in kept if each] == ["wrist.before.yaml", "wrist.before2.yaml", "wrist.before3.yaml"]
    assert [each.read_text() for each in kept if each] == ["a", "b", "c"]
